"""What happened on the way to an answer: events, one JSON object a line, kept as they come."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from uuid import uuid4

from groundwire.errors import InputError, StoreError

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


class Kind(StrEnum):
    """`TOKEN` is only for who watches; it is not kept."""

    QUERY = "query"
    TOKEN = "token"
    MODEL = "model"
    CODE = "code"
    OUTPUT = "output"
    ANSWER = "answer"
    SKIPPED = "skipped"
    VERIFICATION = "verification"
    AUDIT = "audit"
    OUTPUT_CHECK = "output_check"
    RETRY = "retry"
    ASK = "ask"
    STOPPED = "stopped"
    COST = "cost"
    END = "end"


@dataclass(frozen=True, slots=True)
class Event:
    """`run` tells runs of one file apart, `depth` how many calls of a model to itself stand above it."""

    kind: Kind
    run: str = ""
    depth: int = 0
    at: float = 0.0
    data: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> str:
        head = {"event": self.kind.value, "run": self.run, "depth": self.depth, "at": round(self.at, 3)}
        return json.dumps({**head, **self.data}, ensure_ascii=False)


Watch = Callable[[Event], None]


@dataclass(slots=True)
class Log:
    """The events of a run so far; each is shown to whoever watches as it happens."""

    watch: Watch | None = None
    run: str = field(default_factory=lambda: uuid4().hex[:12])
    depth: int = 0
    events: list[Event] = field(default_factory=list)

    def __call__(self, kind: Kind, **data: Json) -> None:
        event = Event(kind, self.run, self.depth, time.time(), data)
        if kind is not Kind.TOKEN:
            self.events.append(event)
        if self.watch is not None:
            self.watch(event)

    @property
    def calls(self) -> int:
        """How often a model wrote something in this run, on every depth."""
        return sum(event.kind is Kind.MODEL for event in self.events)

    def deeper(self) -> Log:
        """The same run, one call further down: its events are in ours, too."""
        return Log(self.watch, self.run, self.depth + 1, self.events)


class Recorder:
    """Appends each event to a file in one write, so that a run that is killed loses at most its last line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            self._begin_on_a_line()
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from None

    def _begin_on_a_line(self) -> None:
        """What an earlier run left half-written must not swallow our first event."""
        with self.path.open("rb") as written:
            if (
                written.seek(0, os.SEEK_END)
                and written.seek(-1, os.SEEK_END) >= 0
                and written.read(1) != b"\n"
            ):
                os.write(self._file, b"\n")

    def __call__(self, event: Event) -> None:
        if event.kind is Kind.TOKEN:
            return
        line = event.to_json().encode("utf-8", "replace") + b"\n"
        try:
            written = os.write(self._file, line)
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror}") from None
        if written < len(line):
            raise StoreError(f"cannot write {self.path}: the disk is full")

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The events of a file, in order, and how many of its lines could not be read."""

    events: tuple[Event, ...]
    damaged: int = 0

    def runs(self) -> dict[str, list[Event]]:
        found: dict[str, list[Event]] = {}
        for event in self.events:
            found.setdefault(event.run, []).append(event)
        return found


def read_trajectory(path: Path) -> Trajectory:
    """All that can be read; a line cut off by a crash is counted, not raised."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            events = list(_events(lines))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    good = tuple(event for event in events if event is not None)
    if events and not good:
        raise InputError(f"{path} holds no trajectory", hint="it has a JSON object a line, with an 'event'")
    return Trajectory(good, len(events) - len(good))


def _events(lines: Iterable[str]) -> Iterator[Event | None]:
    for line in lines:
        if line.strip():
            yield _event(line)


def _event(line: str) -> Event | None:
    try:
        held = json.loads(line)
        kind, run = Kind(held.pop("event")), str(held.pop("run", ""))
        depth, at = int(held.pop("depth", 0)), float(held.pop("at", 0.0))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return Event(kind, run, depth, at, held)
