"""The events of a run: recorded as one JSON object per line, read back, and summarised."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from pathlib import Path
from uuid import uuid4

from groundwire.errors import InputError, StoreError

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


class EventKind(StrEnum):
    """`TOKEN` is only passed to event handlers; it is not recorded."""

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
    """`run` identifies the run within a file; `depth` is the number of nested model calls above it."""

    kind: EventKind
    run: str = ""
    depth: int = 0
    at: float = 0.0
    data: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> str:
        head = {"event": self.kind.value, "run": self.run, "depth": self.depth, "at": round(self.at, 3)}
        return json.dumps({**head, **self.data}, ensure_ascii=False)


EventHandler = Callable[[Event], None]


@dataclass(slots=True)
class EventLog:
    """The events of a run so far; each is passed to the handler as it happens."""

    handler: EventHandler | None = None
    run: str = field(default_factory=lambda: uuid4().hex[:12])
    depth: int = 0
    events: list[Event] = field(default_factory=list)

    def __call__(self, kind: EventKind, **data: Json) -> None:
        event = Event(kind, self.run, self.depth, time.time(), data)
        if kind is not EventKind.TOKEN:
            self.events.append(event)
        if self.handler is not None:
            self.handler(event)

    @property
    def calls(self) -> int:
        """The number of model calls in this run, at every depth."""
        return sum(event.kind is EventKind.MODEL for event in self.events)

    def nested(self) -> EventLog:
        """Return a log for a nested call; its events are part of this run."""
        return EventLog(self.handler, self.run, self.depth + 1, self.events)


class Recorder:
    """Appends each event to a file in one write, so that a killed run loses at most its last line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            self._start_new_line()
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from None

    def _start_new_line(self) -> None:
        """End a partial line of an earlier run, which would otherwise swallow the first event."""
        with self.path.open("rb") as written:
            if size := written.seek(0, os.SEEK_END):
                written.seek(size - 1)
                if written.read(1) != b"\n":
                    os.write(self._file, b"\n")

    def __call__(self, event: Event) -> None:
        if event.kind is EventKind.TOKEN:
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

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The events of a file, in order, and the number of unreadable lines."""

    events: tuple[Event, ...]
    damaged: int = 0

    def runs(self) -> dict[str, list[Event]]:
        found: dict[str, list[Event]] = {}
        for event in self.events:
            found.setdefault(event.run, []).append(event)
        return found


def read_trajectory(path: Path) -> Trajectory:
    """Read a trajectory file; unreadable lines (from a crash) are counted, not raised."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            events = [_event(line) for line in lines if line.strip()]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    good = tuple(event for event in events if event is not None)
    if events and not good:
        raise InputError(
            f"{path} is not a trajectory", hint="it must have one JSON object per line, with an 'event'"
        )
    return Trajectory(good, len(events) - len(good))


def _event(line: str) -> Event | None:
    try:
        data = json.loads(line)
        kind, run = EventKind(data.pop("event")), str(data.pop("run", ""))
        depth, at = int(data.pop("depth", 0)), float(data.pop("at", 0.0))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return Event(kind, run, depth, at, data)


@dataclass(frozen=True, slots=True)
class TrajectoryStats:
    """Totals over runs; nested model calls belong to their run. Shares of an empty total are None."""

    runs: int = 0
    finished: int = 0
    failed: int = 0
    verifications: int = 0
    skipped: int = 0
    unchecked: int = 0
    retries: int = 0
    stopped: int = 0
    claims: int = 0
    flagged: int = 0
    base_seconds: float = 0.0
    verification_seconds: float = 0.0
    base_tokens: int = 0
    verification_tokens: int = 0

    @property
    def flagged_share(self) -> float | None:
        return self.flagged / self.claims if self.claims else None

    @property
    def retried_share(self) -> float | None:
        return self.retries / self.verifications if self.verifications else None

    @property
    def seconds_share(self) -> float | None:
        return self.verification_seconds / self.base_seconds if self.base_seconds else None

    @property
    def tokens_share(self) -> float | None:
        return self.verification_tokens / self.base_tokens if self.base_tokens else None


def analyse(trajectory: Trajectory) -> TrajectoryStats:
    events = trajectory.events
    ends = [event for event in events if event.kind is EventKind.END and event.depth == 0]
    checks = [event for event in events if event.kind is EventKind.VERIFICATION]
    claims = [claim for check in checks for claim in claims_of(check)]
    costs = [event for event in events if event.kind is EventKind.COST and event.depth == 0]
    return TrajectoryStats(
        runs=len(trajectory.runs()),
        finished=len(ends),
        failed=sum("retries" not in event.data for event in ends),
        verifications=len(checks),
        skipped=_count(events, EventKind.SKIPPED),
        unchecked=sum(bool(check.data.get("error")) for check in checks),
        retries=_count(events, EventKind.RETRY),
        stopped=_count(events, EventKind.STOPPED),
        claims=len(claims),
        flagged=sum(claim.get("flagged") is True for claim in claims),
        base_seconds=_sum(costs, "base", ("seconds",)),
        verification_seconds=_sum(costs, "verification", ("seconds",)),
        base_tokens=int(_sum(costs, "base", ("prompt_tokens", "completion_tokens"))),
        verification_tokens=int(_sum(costs, "verification", ("prompt_tokens", "completion_tokens"))),
    )


def claims_of(check: Event) -> list[dict[str, Json]]:
    """Return the claims of a verification event's report; the file may contain anything."""
    report = check.data.get("report")
    claims = report.get("claims") if isinstance(report, dict) else None
    return [claim for claim in claims if isinstance(claim, dict)] if isinstance(claims, list) else []


def last_verdict(events: Sequence[Event]) -> bool | None:
    """True if the last answer of a run failed verification; None if it could not be checked."""
    checks = [event for event in events if event.kind is EventKind.VERIFICATION and event.depth == 0]
    if not checks:
        return False
    last = checks[-1].data
    if last.get("error") and not last.get("failed"):
        # An unchecked attempt does not replace one that is known to fail.
        return True if any(check.data.get("failed") is True for check in checks) else None
    return last.get("failed") is True


def _count(events: Iterable[Event], kind: EventKind) -> int:
    return sum(event.kind is kind for event in events)


def _sum(costs: Iterable[Event], part: str, keys: Sequence[str]) -> float:
    return sum(_number(cost.data.get(part), key) for cost in costs for key in keys)


def _number(usage: Json, key: str) -> float:
    value = usage.get(key) if isinstance(usage, dict) else None
    usable = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return float(value) if usable and isinstance(value, int | float) else 0.0
