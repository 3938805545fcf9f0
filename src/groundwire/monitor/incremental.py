"""An answer checked while it is written: its finished claims ahead of time, the whole at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar, Unpack

from groundwire import pipeline
from groundwire.claims.extract import extract
from groundwire.claims.steps import steps_as_claims
from groundwire.court import Court
from groundwire.engine import Beside, Groundwire, Sources, as_sources
from groundwire.errors import GroundwireError, InputError
from groundwire.monitor.claims import RECENT, Growing, may_complete
from groundwire.policy.judge import unchecked
from groundwire.policy.summary import summarise
from groundwire.reading import names_of, sift
from groundwire.types import Case, Claim, ClaimVerification, HallucinationReport, Source
from groundwire.verify.failure import failure
from groundwire.verify.remember import Remembering

T = TypeVar("T")
_log = logging.getLogger(__name__)

LATE = "timeout: the answer was over before this was verified"
BATCH = 8
"""So many claims are judged in one go, so that a verifier that lags behind still tells something."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one job found out, and how far the text is read and judged now."""

    verdicts: list[ClaimVerification]
    judged: int


class Work(Protocol):
    """Where the engine's jobs run: `Service.work`, or anything else that runs a job and gives its result."""

    def __call__(self, job: Callable[[], Coroutine[Any, Any, T]], /) -> Awaitable[T]: ...


async def here(job: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """On the very loop that the stream runs on."""
    return await job()


class Lane:
    """Lets many streams share an engine: at most `at_once` of their jobs run, the others wait their turn.

    Belongs to one event loop, that of the streams.
    """

    def __init__(self, work: Work = here, at_once: int = 2) -> None:
        self._work = work
        self._gate = asyncio.Semaphore(at_once)

    async def __call__(self, job: Callable[[], Coroutine[Any, Any, T]]) -> T:
        async with self._gate:
            return await self._work(job)


class Incremental:
    """Push text as it comes; read `verdicts()` at any time; `await finish()` for the report.

    The report is that of `engine.check` on the whole text. What was asked ahead of time is remembered, so
    that the last check finds most of it answered. Pushing never waits and never fails: a verifier that lags
    behind or breaks shows in the report only, as claims that are UNCHECKED.

    `push`, `verdicts` and `finish` belong to the stream's own event loop; the engine's part of the work goes
    through `work`, which may run it on another loop (`Service.work`) and bound it (`Lane`).
    """

    def __init__(
        self,
        engine: Groundwire,
        sources: Sources = (),
        *,
        question: str = "",
        work: Work = here,
        **beside: Unpack[Beside],
    ) -> None:
        self._engine = engine
        self._sources: tuple[Source, ...] = as_sources(sources)
        self._question = question
        self._beside = beside
        self._work = work
        backend = engine.court.backend
        self._memo = Remembering(backend.verifier)
        self._court: Court = replace(engine.court, backend=replace(backend, verifier=self._memo))
        self._growing = Growing(self._read)
        self._parts: list[str] = []
        self._fresh: list[str] = []
        self._length = 0
        self._recent = ""
        self._ripe = False
        self._before = ""
        self._waiting: list[Claim] = []
        self._judged: dict[int, ClaimVerification] = {}
        self._told: tuple[ClaimVerification, ...] = ()
        self._to = 0
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def text(self) -> str:
        """All that was pushed."""
        return "".join(self._parts)

    def push(self, text: str) -> None:
        """More of the answer. Returns at once."""
        if self._closed or not text:
            return
        self._length += len(text)
        if self._length > self._engine.config.limits.max_answer_chars:
            return  # cannot be checked any more, and must not fill the memory
        self._parts.append(text)
        self._fresh.append(text)
        recent = self._recent + text
        self._recent = recent[-RECENT:]
        if not self._ripe and may_complete(recent):
            self._ripe = True
        if self._ripe and (self._task is None or self._task.done()):
            self._start()

    def verdicts(self) -> tuple[ClaimVerification, ...]:
        """What is judged so far, each claim by itself, in the order of the text; the same tuple until more
        is.
        """
        return self._told

    @property
    def judged(self) -> int:
        """The offset before which every sentence has been read and, if it is a claim, judged."""
        return self._to

    async def drain(self) -> tuple[ClaimVerification, ...]:
        """Wait until everything that is complete by now has been judged."""
        while self._task is not None and not self._task.done():
            await asyncio.wait({self._task})
        return self.verdicts()

    def cancel(self) -> None:
        """Nobody waits for it any more: stop working and forget."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()

    async def finish(self, within: float | None = None) -> HallucinationReport:
        """The report on the whole. What is not verified `within` so many seconds is UNCHECKED in it."""
        self._closed = True
        if self._length > len(self.text):
            return self._none(f"error: {self._too_long()}")
        last = asyncio.ensure_future(self._finish())
        try:
            await asyncio.wait({last}, timeout=within)
        finally:
            over = last.done()
            if not over:
                self.cancel()
                last.cancel()
        error = last.exception() if over and not last.cancelled() else None
        if over and error is None and not last.cancelled():
            return last.result()
        return await self._late(_why(error))

    # What follows runs on the stream's loop and hands jobs to the engine's.

    def _start(self) -> None:
        """Work ahead where there is a loop to do it on; without one everything is left to the end."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if self._court.extractor is None and self._sources:
            self._task = loop.create_task(self._run())
            self._task.add_done_callback(_noted)

    async def _run(self) -> None:
        while (self._ripe or self._waiting) and not self._closed:
            text, self._fresh, self._ripe = "".join(self._fresh), [], False
            step = await self._work(partial(self._advance, text))
            self._to = step.judged
            if step.verdicts:
                self._judged |= {verdict.start: verdict for verdict in step.verdicts}
                self._told = tuple(self._judged[start] for start in sorted(self._judged))

    async def _finish(self) -> HallucinationReport:
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task})
        return await self._work(self._check)

    # What follows runs where the engine works, one job after the other.

    def _read(self, text: str) -> list[Claim]:
        known = names_of(self._sources)
        found = extract(text, target=self._court.profile.target, known_sources=known)
        return steps_as_claims(found, asked=bool(self._question))

    def _ready(self) -> None:
        if self._court.prepared is None:
            self._court = replace(self._court, prepared=self._court.evidence(self._sources))

    async def _advance(self, text: str) -> Step:
        """Read on, and judge the next few claims that are complete."""
        self._ready()
        room = self._court.profile.max_claims - len(self._judged) - len(self._waiting)
        self._waiting += sift(self._growing.feed(text), self._court.profile).chosen[: max(0, room)]
        claims, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
        judged = self._waiting[0].start if self._waiting else self._growing.edge
        if not claims:
            return Step([], judged)
        case = Case(" ".join(claim.text for claim in claims), self._sources, self._question)
        before, self._before = self._before, claims[-1].text
        return Step(await pipeline.weigh(claims, case, self._court, before), judged)

    async def _check(self) -> HallucinationReport:
        case = self._engine.case(self.text, self._sources, question=self._question, **self._beside)
        return await pipeline.check(case, self._court)

    # Reports for when that could not be done.

    async def _late(self, why: str) -> HallucinationReport:
        """What is known by now; the claims that are not are listed as unchecked."""
        text = self.text
        if not text.strip() or not self._sources:
            return self._none(why)
        found = sift(await asyncio.to_thread(self._read, text), self._court.profile)
        known = {(v.start, v.end, v.claim_text, v.citations): v for v in self.verdicts()}
        verdicts = [
            known.get((c.start, c.end, c.text, c.citations)) or unchecked(c, why)
            for c in (*found.chosen, *found.surplus)
        ]
        case = Case(text, self._sources, self._question)
        return summarise(case, verdicts, found.skipped, self._court.backend.name, self._court.profile)

    def _none(self, why: str) -> HallucinationReport:
        case = Case(self.text, self._sources, self._question)
        report = summarise(case, (), (), self._court.backend.name, self._court.profile)
        nothing = {"flagged": None, "risk": None, "grounding_ratio": None, "overall_confidence": None}
        return replace(report, error=f"could not be checked: {why}", **nothing)  # type: ignore[arg-type]

    def _too_long(self) -> str:
        limit = self._engine.config.limits.max_answer_chars
        return str(InputError(f"the answer has {self._length:,} characters", hint=f"the limit is {limit:,}"))


def _why(error: BaseException | None) -> str:
    if error is None:
        return LATE
    return failure(error) if isinstance(error, GroundwireError) else f"error: {type(error).__name__}"


def _noted(task: asyncio.Task[None]) -> None:
    """What went wrong ahead of time is tried again at the end; here it only leaves a line."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.warning("verifying ahead of time stopped: %s", _why(error))
