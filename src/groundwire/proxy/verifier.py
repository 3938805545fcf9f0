"""Verification beside a stream: it hears what passes, works ahead, and is never waited for too long."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from groundwire.config.service import CLEAR
from groundwire.errors import GroundwireError
from groundwire.proxy.documents import Document
from groundwire.proxy.evidence import Evidence
from groundwire.proxy.headers import Mode
from groundwire.proxy.protocol import Json, Key, Spoken
from groundwire.proxy.sse import Frame, Parser, TooLarge
from groundwire.reports.json import report_object
from groundwire.streaming.incremental import Incremental, Work
from groundwire.streaming.protocol import GRAVE, assess
from groundwire.types import HallucinationReport, Risk, Status

if TYPE_CHECKING:
    from groundwire.server.service import Service

# Many streams share one engine: a few of their jobs run, some wait, the rest hear that it is too much.

T = TypeVar("T")
_NEWEST = 0.2  # the weight of the newest job in the estimate of the pace
_FIRST = 0.1  # seconds a job is taken to last before any has


class Turns:
    """At most `at_once` jobs run, and as many streams work ahead. Belongs to one event loop, the streams'."""

    def __init__(self, work: Work, at_once: int, patience: float) -> None:
        self._work = work
        self._gate = asyncio.Semaphore(at_once)
        self._at_once = at_once
        self._patience = patience
        self._pace = _FIRST
        self._inside = 0
        self._ahead = 0
        self._promised = 0

    @property
    def is_full(self) -> bool:
        """Whether a new job would wait longer than anybody waits for it."""
        return max(self._inside, self._promised) * self._pace / self._at_once > self._patience

    @property
    def may_go_ahead(self) -> bool:
        """Whether there is room for work that can as well be done later."""
        return self._ahead < self._at_once and self._inside < self._at_once

    def go_ahead(self, doing: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Counted from this moment: many streams may ask before any of them runs."""
        self._ahead += 1
        task = asyncio.create_task(doing)
        task.add_done_callback(self._came_back)
        return task

    @contextmanager
    def promised(self) -> Iterator[None]:
        """Somebody waits in here for jobs that are still to come: those count already."""
        self._promised += 1
        try:
            yield
        finally:
            self._promised -= 1

    def _came_back(self, task: asyncio.Task[None]) -> None:  # noqa: ARG002 (whatever became of it)
        self._ahead -= 1

    async def __call__(self, job: Callable[[], Coroutine[Any, Any, T]]) -> T:
        self._inside += 1
        try:
            async with self._gate:
                began = asyncio.get_running_loop().time()
                try:
                    return await self._work(job)
                finally:
                    self._learn(asyncio.get_running_loop().time() - began)
        finally:
            self._inside -= 1

    def _learn(self, seconds: float) -> None:
        """A job that was given up counts too: it would have taken at least as long."""
        self._pace += _NEWEST * (seconds - self._pace)


# What was found out about an answer, as headers and as the object that a stream ends with.


class State(StrEnum):
    """UNCHECKED: it should have been and could not, or not in time. NOTHING: there is nothing to go by."""

    CHECKED = "CHECKED"
    UNCHECKED = "UNCHECKED"
    NOTHING = "NOTHING_TO_CHECK"
    SKIPPED = "SKIPPED"
    PENDING = "PENDING"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One answer's reports, by text; `id` is where the first of them is kept. `sure` is how sure a
    contradiction must be to count as a clear one.
    """

    mode: Mode
    state: State
    reason: str = ""
    reports: Mapping[Key, HallucinationReport] = field(default_factory=dict)
    id: str = ""
    sure: float = CLEAR
    blocked: str = ""

    @property
    def told(self) -> Json:
        """The report event's object."""
        return {
            "id": self.id or None,
            "mode": self.mode,
            "status": self.state.value,
            "reason": self.reason or None,
            "blocked": self.blocked or None,
            "flagged": self._flagged,
            "claims": sum(r.total_claims for r in self._all),
            "flagged_claims": self._marked,
            "max_severity": self.severity.value if self.severity else None,
            "risk": self._risk,
            "reports": [report_object(r) for r in self._all],
        }

    @property
    def figures(self) -> dict[str, object]:
        """The headers' values, by what stands behind `x-groundwire-`."""
        found: dict[str, object] = {"mode": self.mode, "status": self.state.value}
        if self.reason:
            found["reason"] = self.reason
        if self.id:
            found["report-id"] = self.id
        if self._all:
            found |= {
                "claims": sum(r.total_claims for r in self._all),
                "flagged": self._marked,
                "max-severity": self.severity.value if self.severity else "none",
            }
        if self._risk is not None:
            found["risk"] = self._risk
        return found

    @property
    def severity(self) -> Risk | None:
        """The gravest of all, None where nothing is flagged."""
        found = [s for r in self._all if (s := severity(r, self.sure))]
        return max(found, key=_GRAVITY.index, default=None)

    @property
    def _all(self) -> Sequence[HallucinationReport]:
        return tuple(self.reports.values())

    @property
    def _marked(self) -> int:
        return sum(r.flagged_claims + len(r.flags) for r in self._all)

    @property
    def _flagged(self) -> bool | None:
        said = [r.flagged for r in self._all]
        return True if True in said else None if None in said or not said else False

    @property
    def _risk(self) -> float | None:
        risks = [r.risk for r in self._all if r.risk is not None]
        return round(max(risks), 4) if risks else None


_GRAVITY = tuple(Risk)
"""The severity from which what a detector found is of high risk."""


def severity(report: HallucinationReport, sure: float) -> Risk | None:
    """As the response protocol weighs it; None where there is nothing to react to."""
    claims = [claim for claim in report.claims if claim.is_flagged]
    found = [assess(report.claims, threshold=sure).risk] if claims else []
    found += [Risk.HIGH if flag.severity >= GRAVE else Risk.MEDIUM for flag in report.flags]
    return max(found, key=_GRAVITY.index, default=None)


def settled(mode: Mode, reports: Mapping[Key, HallucinationReport], sure: float) -> Outcome:
    """Checked where every claim is; unchecked, and why, where one is not."""
    found = Outcome(mode, State.CHECKED, reports=reports, sure=sure)
    errors = [r.error for r in reports.values() if r.error]
    late = [c.reason for r in reports.values() for c in r.claims if c.status is Status.UNCHECKED]
    if errors or late:
        return replace(found, state=State.UNCHECKED, reason=(*errors, *late)[0])
    return found


OFTEN = 0.1
"""Seconds: so often what passed is read. Reading it at once would cost the stream more and win nothing."""
_LATE = "timeout: verification took longer than proxy.report_timeout"
_EMPTY = "the request holds nothing to hold the answer against"
_SILENT = "the answer holds no text"
_BUSY = "there is too much else to do"

Keep = Callable[[HallucinationReport, Evidence], str]


@dataclass(frozen=True, slots=True)
class Asked:
    """The request: its body, in which protocol, with the sources that were given apart."""

    spoken: Spoken
    body: bytes
    given: Sequence[Document] = ()

    def evidence(self) -> Evidence:
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return Evidence()
        return self.spoken.evidence(found, self.given) if isinstance(found, dict) else Evidence()


class Watch:
    """One answer being verified. Belongs to the loop that its stream runs on."""

    def __init__(self, held: Service, turns: Turns, asked: Asked, mode: Mode, keep: Keep) -> None:
        self._held = held
        self._turns = turns
        self._asked = asked
        self._mode = mode
        self._keep = keep
        self._chunks: list[bytes] = []
        self._parser = Parser()
        self._deaf = ""
        self._timer: asyncio.TimerHandle | None = None
        self._said: dict[Key, list[str]] = {}
        self._checks: dict[Key, Incremental] = {}
        self._evidence = Evidence()
        self._reading: asyncio.Task[None] | None = None
        self._ahead: asyncio.Task[None] | None = None
        self.last: Json = {}
        self.found: Outcome | None = None
        self.patience = held.config.proxy.report_timeout
        self.sure = held.config.realtime.interrupt_threshold
        self._skipped = held.admission.is_busy

    @property
    def checks(self) -> dict[Key, Incremental]:
        return self._checks

    @property
    def choices(self) -> int:
        """How many answers were asked for, once the request is read."""
        return self._evidence.choices

    def listen(self, chunk: bytes) -> None:
        """A piece of the stream as it passes. Costs next to nothing; it is read a little later."""
        self._chunks.append(chunk)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(OFTEN, self._digest)

    def push(self, key: Key, text: str) -> None:
        """Text of an answer that somebody else reads."""
        self._begin()
        self._said.setdefault(key, []).append(text)
        self._offer()

    async def ready(self) -> bool:
        """Wait until it is known what there is to go by; False where there is nothing."""
        self._begin()
        if self._reading is not None:
            await asyncio.wait({self._reading}, timeout=self.patience)
            return self._reading.done() and bool(self._evidence) and not self._skipped
        return False

    async def outcome(self) -> Outcome:
        """What is known within `proxy.report_timeout`. Nothing that goes wrong is raised."""
        self.found = await self._outcome()
        return self.found

    async def _outcome(self) -> Outcome:
        until = asyncio.get_running_loop().time() + self.patience
        self._digest()
        self._take(self._parser.finish())
        if self._reading is not None and self._reading.done() and not self._evidence:
            return self._nothing()
        if not self._said and not self._checks:
            state = State.UNCHECKED if self._deaf else State.NOTHING
            return Outcome(self._mode, state, self._deaf or _SILENT)
        if self._skipped or self._turns.is_full:
            return Outcome(self._mode, State.SKIPPED, _BUSY)
        if self._reading is not None and not (await asyncio.wait({self._reading}, timeout=self.patience))[0]:
            return Outcome(self._mode, State.UNCHECKED, _LATE)
        if not self._evidence:
            return self._nothing()
        with self._turns.promised():
            return self._kept(await self._finished(until))

    def _nothing(self) -> Outcome:
        """The request gives nothing to go by; or it could not be read, which is another matter."""
        error = self._reading.exception() if self._reading is not None else None
        if error is None:
            return Outcome(self._mode, State.NOTHING, _EMPTY)
        why = str(error) if isinstance(error, GroundwireError) else type(error).__name__
        return Outcome(self._mode, State.UNCHECKED, f"error: {why}")

    async def fixed(self, report: HallucinationReport) -> HallucinationReport:
        """The report with its answer repaired, by the same evidence."""
        found, engine = self._evidence, self._held.engine
        return await self._turns(lambda: engine.fix(report, found.sources, history=found.history))

    def cancel(self) -> None:
        """Nobody waits for it any more."""
        if self._timer is not None:
            self._timer.cancel()
        for task in (self._reading, self._ahead):
            if task is not None:
                task.cancel()
        for check in self._checks.values():
            check.cancel()

    def _begin(self) -> None:
        if self._reading is None and not self._skipped:
            self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        """The request's evidence, and the loaded engine: elsewhere, since both may take their time."""
        self._evidence, _ = await asyncio.to_thread(lambda: (self._asked.evidence(), self._held.engine))
        self._offer()

    def _offer(self) -> None:
        """Work ahead where there is room for it; who holds a stream back needs it in any case."""
        if self._mode == "block":
            self._hand_over()
        elif self._evidence and self._turns.may_go_ahead and (self._ahead is None or self._ahead.done()):
            self._ahead = self._turns.go_ahead(self._go_ahead())

    async def _go_ahead(self) -> None:
        """What was said so far is judged while the rest is still being said; one stream's turn."""
        self._hand_over()
        await asyncio.gather(*(check.drain() for check in self._checks.values()))

    def _hand_over(self) -> None:
        """What was said since goes to the checks, once there is something to check it by."""
        if not self._evidence or not self._said:
            return
        said, self._said = self._said, {}
        for key, parts in said.items():
            if key not in self._checks:
                self._checks[key] = Incremental(
                    self._held.engine,
                    self._evidence.sources,
                    question=self._evidence.question,
                    work=self._turns,
                    history=self._evidence.history,
                )
            self._checks[key].push("".join(parts))

    def _digest(self) -> None:
        self._timer = None
        chunks, self._chunks = self._chunks, []
        if not chunks or self._deaf:
            return
        self._begin()
        if self._reading is not None and self._reading.done() and not self._evidence:
            return
        try:
            frames = self._parser.feed(b"".join(chunks))
        except TooLarge as error:
            self._deaf = f"error: {error}"
            return
        self._take(frames)

    def _take(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            for key, text in self._deltas(frame.data):
                self.push(key, text)

    def _deltas(self, data: str) -> list[tuple[Key, str]]:
        try:
            event = json.loads(data) if data.startswith("{") else None
        except (ValueError, RecursionError):
            return []
        if not isinstance(event, dict):
            return []
        self.last = event
        return self._asked.spoken.deltas(event)

    async def _finished(self, until: float) -> Outcome:
        self._hand_over()
        left = max(0.0, until - asyncio.get_running_loop().time())
        keys = sorted(self._checks)
        reports = await asyncio.gather(*(self._checks[key].finish(within=left) for key in keys))
        found = settled(self._mode, dict(zip(keys, reports, strict=True)), self.sure)
        return replace(found, state=State.UNCHECKED, reason=self._deaf) if self._deaf else found

    def _kept(self, found: Outcome) -> Outcome:
        ids = [self._keep(report, self._evidence) for report in found.reports.values()]
        return replace(found, id=next(filter(None, ids), ""))
