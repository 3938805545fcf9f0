"""The events of a run, recorded as one JSON object per line, read back and summarised; and what it cost."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import Literal
from uuid import uuid4

from groundwire.config import Price
from groundwire.errors import InputError, StoreError
from groundwire.llm import LOCAL
from groundwire.llm.base import Completion, track_usage

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
            with path.open("rb") as written:
                if size := written.seek(0, os.SEEK_END):
                    written.seek(size - 1)
                    if written.read(1) != b"\n":  # a partial line of an earlier run would swallow the first event
                        os.write(self._file, b"\n")
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from None

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
        raise InputError(f"{path} is not a trajectory", hint="it must have one JSON object per line, with an 'event'")
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
    def of(kind: EventKind) -> list[Event]:
        return [event for event in trajectory.events if event.kind is kind]

    def total(part: str, *keys: str) -> float:
        usages = (cost.data.get(part) for cost in of(EventKind.COST) if cost.depth == 0)
        values = [usage.get(key) for usage in usages if isinstance(usage, dict) for key in keys]
        usable = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool) and isfinite(v)]
        return float(sum(usable))

    ends = [event for event in of(EventKind.END) if event.depth == 0]
    checks = of(EventKind.VERIFICATION)
    claims = [claim for check in checks for claim in claims_of(check)]
    return TrajectoryStats(
        runs=len(trajectory.runs()),
        finished=len(ends),
        failed=sum("retries" not in event.data for event in ends),
        verifications=len(checks),
        skipped=len(of(EventKind.SKIPPED)),
        unchecked=sum(bool(check.data.get("error")) for check in checks),
        retries=len(of(EventKind.RETRY)),
        stopped=len(of(EventKind.STOPPED)),
        claims=len(claims),
        flagged=sum(claim.get("flagged") is True for claim in claims),
        base_seconds=total("base", "seconds"),
        verification_seconds=total("verification", "seconds"),
        base_tokens=int(total("base", "prompt_tokens", "completion_tokens")),
        verification_tokens=int(total("verification", "prompt_tokens", "completion_tokens")),
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


# The cost of an answer and of its verification: calls, tokens, seconds, and dollars by a price table.

Part = Literal["base", "verification"]
Share = Literal["seconds", "tokens", "dollars"]
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """`dollars` is None if any call went to a model without a price."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    dollars: float | None = 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        priced = self.dollars is not None and other.dollars is not None
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
            (self.dollars or 0.0) + (other.dollars or 0.0) if priced else None,
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of answering (`base`) and of verification; `unpriced` lists models without a price."""

    base: Usage = Usage()
    verification: Usage = Usage()
    unpriced: tuple[str, ...] = ()

    def share(self, of: Share) -> float | None:
        """Return verification as a share of the base; None without a base or a price."""
        base, checked = getattr(self.base, of), getattr(self.verification, of)
        return checked / base if base and checked is not None else None

    def __add__(self, other: Cost) -> Cost:
        unpriced = tuple(dict.fromkeys((*self.unpriced, *other.unpriced)))
        return Cost(self.base + other.base, self.verification + other.verification, unpriced)

    def __str__(self) -> str:
        """Format as one line.

        >>> print(Cost(Usage(2, 900, 100, 4.0, 0.002), Usage(seconds=0.2)))
        answer 2 calls, 1,000 tokens, 4.0 s, $0.0020 · verification 0 calls, 0.2 s (5.0 % of the time)
        """
        named: dict[Share, str] = {"tokens": "tokens", "dollars": "money"}
        if not self.verification.tokens:
            named = {"seconds": "time"}
        shares = {word: self.share(of) for of, word in named.items()}
        shown = ", ".join(f"{100 * share:.1f} % of the {word}" for word, share in shares.items() if share is not None)
        line = f"answer {_words(self.base)} · verification {_words(self.verification)}{f' ({shown})' if shown else ''}"
        return line + (f" · no price known for {', '.join(self.unpriced)}" if self.unpriced else "")


def _words(usage: Usage) -> str:
    calls = f"{usage.calls} call" + ("" if usage.calls == 1 else "s")
    if not usage.tokens:
        return f"{calls}, {usage.seconds:.1f} s"
    money = "" if usage.dollars is None else f", ${usage.dollars:.4f}"
    return f"{calls}, {usage.tokens:,} tokens, {usage.seconds:.1f} s{money}"


def cost_object(cost: Cost) -> dict[str, Json]:
    """Return the JSON object for the trajectory."""
    shares: tuple[Share, ...] = ("seconds", "tokens", "dollars")
    return {
        "base": _object(cost.base),
        "verification": _object(cost.verification),
        "share": {of: _rounded(cost.share(of)) for of in shares},
        "unpriced": list(cost.unpriced),
    }


def _object(usage: Usage) -> dict[str, Json]:
    return {**asdict(usage), "seconds": round(usage.seconds, 4), "dollars": _rounded(usage.dollars)}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


class Meter:
    """Measures the time and all completions inside `with meter.on("base")`."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = prices
        self.cost = Cost()

    @contextmanager
    def on(self, part: Part) -> Iterator[None]:
        began, inside = time.perf_counter(), self.cost
        try:
            with track_usage(lambda name, done: self._count(part, name, done)):
                yield
        finally:
            nested = self._seconds(self.cost) - self._seconds(inside)
            self._add(part, Usage(seconds=max(0.0, time.perf_counter() - began - nested)))

    def add(self, cost: Cost) -> None:
        """Add the cost of a nested orchestrator call."""
        self.cost += cost

    @staticmethod
    def _seconds(cost: Cost) -> float:
        return cost.base.seconds + cost.verification.seconds

    def _count(self, part: Part, name: str, done: Completion) -> None:
        price, dollars = self._price(name, done.model), None
        if price is None:
            self.cost += Cost(unpriced=(done.model or name,))
        else:
            dollars = (done.prompt_tokens * price.input + done.completion_tokens * price.output) / _MILLION
        self._add(part, Usage(1, done.prompt_tokens, done.completion_tokens, dollars=dollars))

    def _price(self, name: str, model: str) -> Price | None:
        """Look up the price by the server's model name, then by ours: `gpt-4o-mini`, `openai/gpt-4o-mini`."""
        if name.startswith(f"{LOCAL}/"):  # it runs on this machine
            return Price()
        plain = name.partition("@")[0]
        named = (model, name, plain, plain.rpartition("/")[2])
        return next((self._prices[key] for key in named if key in self._prices), None)

    def _add(self, part: Part, usage: Usage) -> None:
        self.cost += Cost(base=usage) if part == "base" else Cost(verification=usage)
