"""An answer checked while it is written: its finished claims ahead of time, the whole at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Protocol, TypeVar, Unpack

from groundwire.engine import Beside, Groundwire, Sources, as_sources
from groundwire.errors import GroundwireError, InputError
from groundwire.streaming.ahead import Ahead
from groundwire.streaming.claims import RECENT, may_complete
from groundwire.types import ClaimVerification, HallucinationReport, Source
from groundwire.verifiers.failure import failure

T = TypeVar("T")
_log = logging.getLogger(__name__)

LATE = "timeout: the answer was over before this was verified"


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
    through `work`, which may run it on another loop (`Service.work`) and bound it (`Lane`). One job of a
    stream is under way at a time; what comes meanwhile waits as text.
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
        self._ahead = Ahead(engine, self._sources, question)
        self._parts: list[str] = []
        self._fresh: list[str] = []
        self._handed = 0
        self._length = 0
        self._recent = ""
        self._ripe = False
        self._judged: dict[int, ClaimVerification] = {}
        self._told: tuple[ClaimVerification, ...] = ()
        self._to = 0
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def text(self) -> str:
        """All that was pushed."""
        return "".join(self._parts)

    @property
    def judged(self) -> int:
        """The offset before which every sentence has been read and, if it is a claim, judged."""
        return self._to

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
        self._ripe = self._ripe or may_complete(recent)
        if self._ripe and (self._task is None or self._task.done()):
            self._start()

    def verdicts(self) -> tuple[ClaimVerification, ...]:
        """What is judged so far, claim by claim, in the order of the text; the same tuple until more is."""
        return self._told

    async def drain(self) -> tuple[ClaimVerification, ...]:
        """Wait until everything that is complete by now has been judged."""
        while self._task is not None and not self._task.done():
            await asyncio.wait({self._task})
        return self.verdicts()

    def cancel(self) -> None:
        """Nobody waits for it any more: stop working."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()

    async def finish(self, within: float | None = None) -> HallucinationReport:
        """The report on the whole. What is not verified `within` so many seconds is UNCHECKED in it."""
        self._closed = True
        text = self.text
        if self._length > len(text):
            return self._ahead.nothing(text, self._too_long())
        last = asyncio.ensure_future(self._settle(text))
        try:
            await asyncio.wait({last}, timeout=within)
        finally:
            if not last.done():
                self.cancel()
                last.cancel()
        if not last.done() or last.cancelled():
            return await self._cut_short(text, LATE)
        error = last.exception()
        return last.result() if error is None else await self._cut_short(text, _why(error))

    def _start(self) -> None:
        """Work ahead where there is a loop to do it on; without one everything is left to the end."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if self._ahead.can:
            self._task = loop.create_task(self._run())
            self._task.add_done_callback(_noted)

    async def _run(self) -> None:
        more = True
        while more and not self._closed:
            text, parts, self._ripe = "".join(self._fresh), len(self._fresh), False
            step = await self._work(partial(self._ahead.advance, text, self._handed))
            del self._fresh[:parts]
            self._handed += len(text)
            self._to = step.judged
            if step.verdicts:
                self._judged |= {verdict.start: verdict for verdict in step.verdicts}
                self._told = tuple(self._judged[start] for start in sorted(self._judged))
            more = self._ripe or step.more

    async def _settle(self, text: str) -> HallucinationReport:
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task})
        return await self._work(partial(self._check, text))

    async def _check(self, text: str) -> HallucinationReport:
        """Where the engine works: it may have to open a knowledge base."""
        case = self._engine.case(text, self._sources, question=self._question, **self._beside)
        return await self._ahead.check(case)

    async def _cut_short(self, text: str, why: str) -> HallucinationReport:
        """In a thread: whoever is late has many beside him who are, too."""
        if not text.strip() or not self._sources:
            return self._ahead.nothing(text, why)
        return await asyncio.to_thread(self._ahead.cut_short, text, self._told, why)

    def _too_long(self) -> str:
        limit = f"the limit is {self._engine.config.limits.max_answer_chars:,}"
        return failure(InputError(f"the answer has {self._length:,} characters", hint=limit))


def _why(error: BaseException) -> str:
    return failure(error) if isinstance(error, GroundwireError) else f"error: {type(error).__name__}"


def _noted(task: asyncio.Task[None]) -> None:
    """What went wrong ahead of time is tried again later; here it only leaves a line."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        level = logging.DEBUG if isinstance(error, GroundwireError) else logging.WARNING
        _log.log(level, "verifying ahead of time stopped: %s", _why(error))
