"""Verify an answer while it is written: finished claims in the background, the whole text at the end."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar, Unpack

from groundwire import pipeline
from groundwire.claims.extractor import extract, steps_as_claims
from groundwire.engine import ContextKwargs, Groundwire
from groundwire.errors import GroundwireError, InputError
from groundwire.pipeline import CheckContext, names_of, select_claims
from groundwire.requests import Sources, as_sources
from groundwire.text.sentences import BlockKind, blocks
from groundwire.types import Case, Claim, ClaimVerification, HallucinationReport, Source
from groundwire.verdicts.judge import unchecked
from groundwire.verdicts.summary import summarise
from groundwire.verifiers.wrappers import MemoizedVerifier, failure

Read = Callable[[str], Sequence[Claim]]

_STOP = re.compile(r"[.!?…؟۔。！？｡।॥։\n]")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})", re.MULTILINE)
_RIPE = re.compile(r"[.!?…؟۔][\"'”’»)\]*_`]*\s+\S|[。！？｡।॥։]\S|\n\s*\S")
_MIN_TAIL_CHARS = 300  # a shorter tail is cheap to read again, so nothing is dropped from it
_MAX_TAIL_CHARS = 3000  # a tail this long is cut even without a block boundary, to keep the cost linear
_ANCHORS = (BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.ITEM, BlockKind.QUOTE)
RECENT = 12
"""Characters that `may_complete` needs to see from before the new text: closing quotes and spaces."""


def may_complete(recent: str) -> bool:
    """True if a sentence may have ended and another begun in the latest text.

    >>> may_complete("It is so. N"), may_complete("It is so. "), may_complete("3.5")
    (True, False, False)
    """
    return bool(_RIPE.search(recent))


class StreamingClaimExtractor:
    """Extract claims from a growing text with `read`, each once, when the next sentence has begun.

    Later text can still change earlier claims (a footnote that resolves [1]); the final check reads the whole
    text again. Only the open end is read repeatedly, so the cost is linear in the length of the text. All
    claims before `edge` are complete.
    """

    def __init__(self, read: Read) -> None:
        self._read = read
        self._tail = ""
        self._at = 0
        self._told = 0
        self.edge = 0
        self._counts = {"c": 0, "s": 0}

    def feed(self, text: str) -> list[Claim]:
        """The newly completed claims in order, with offsets into the whole text."""
        self._tail += text
        found = self._read(self._tail)
        edge = self._edge(found)
        self.edge = max(self.edge, self._at + edge)
        done = []
        for claim in found:
            if claim.end <= edge and self._at + claim.start >= self._told:
                name = f"{claim.id[0]}{int(claim.id[1:]) + self._counts[claim.id[0]]}"
                done.append(replace(claim, id=name, start=claim.start + self._at, end=claim.end + self._at))
        self._told = max([self._told, *(claim.end for claim in done)])
        self._let_go(found, edge)
        return done

    def _edge(self, found: Sequence[Claim]) -> int:
        """Start of the sentence that may still go on; nothing inside an open code fence is complete."""
        if not found:
            return 0
        first = len(found) - 1
        while first and not _STOP.search(self._tail, found[first - 1].end - 1, found[first].start):
            first -= 1
        fences: list[int] = [match.start() for match in _FENCE.finditer(self._tail)]
        open_fence = fences[-1] if len(fences) % 2 else len(self._tail)
        return min(found[first].start, open_fence)

    def _let_go(self, found: Sequence[Claim], edge: int) -> None:
        """Drop the finished part of the tail, up to the open sentence or the line of the open list item."""
        if edge < _MIN_TAIL_CHARS:
            return
        around = [block for block in blocks(self._tail) if block.kind in _ANCHORS and block.start <= edge]
        cut = 0
        if around and around[-1].kind is BlockKind.PARAGRAPH:
            cut = edge
        elif around:
            cut = self._tail.rfind("\n", 0, around[-1].start) + 1  # keep its bullet or hash
        if not cut and edge >= _MAX_TAIL_CHARS:
            cut = edge
        for claim in found:
            if claim.end <= cut:
                self._counts[claim.id[0]] += 1
        self._tail = self._tail[cut:]
        self._at += cut


BATCH = 8
"""Claims per verification job: small enough that a slow verifier still delivers verdicts regularly."""


@dataclass(frozen=True, slots=True)
class IncrementalStep:
    """The result of one job: verdicts, the offset up to which the text is judged, and whether claims wait."""

    verdicts: list[ClaimVerification]
    judged: int
    more: bool = False


class IncrementalChecker:
    """The engine side: extracts and judges the claims of one answer. Jobs run one after the other."""

    def __init__(self, engine: Groundwire, sources: tuple[Source, ...], question: str) -> None:
        backend = engine.context.backend
        self.memo = MemoizedVerifier(backend.verifier)
        self.context: CheckContext = replace(engine.context, backend=replace(backend, verifier=self.memo))
        self._sources = sources
        self._question = question
        self._growing = StreamingClaimExtractor(self.read)
        self._read_to = 0
        self._waiting: list[Claim] = []
        self._before = ""
        self._taken = 0

    @property
    def can(self) -> bool:
        """False if nothing can be done before the end: an LLM extractor or mapper needs the whole text."""
        return bool(self._sources) and self.context.extractor is None and self.context.mapper is None

    def read(self, text: str) -> list[Claim]:
        found = extract(text, target=self.context.profile.target, known_sources=names_of(self._sources))
        return steps_as_claims(found, asked=bool(self._question))

    async def advance(self, text: str, at: int) -> IncrementalStep:
        """Read `text`, which starts at offset `at`, and judge the next batch of complete claims.

        A job that was rejected is repeated with the same text, so text that was read is skipped, and claims
        leave the queue only when they have a verdict.
        """
        if self.context.prepared is None:
            self.context = replace(self.context, prepared=self.context.evidence(self._sources))
        unread = text[max(0, self._read_to - at) :]
        self._read_to += len(unread)
        room = max(0, self.context.profile.max_claims - self._taken)
        found = select_claims(self._growing.feed(unread), self.context.profile).verified[:room] if unread else []
        self._taken += len(found)
        self._waiting += found
        claims, verdicts = self._waiting[:BATCH], list[ClaimVerification]()
        if claims:
            case = Case(" ".join(claim.text for claim in claims), self._sources, self._question)
            verdicts = await pipeline.judge_claims(claims, case, self.context, self._before)
            self._before = claims[-1].text
        del self._waiting[: len(claims)]
        judged = self._waiting[0].start if self._waiting else self._growing.edge
        return IncrementalStep(verdicts, judged, bool(self._waiting))

    async def check(self, case: Case) -> HallucinationReport:
        return await pipeline.check(case, self.context)

    def cut_short(self, text: str, known: Sequence[ClaimVerification], why: str) -> HallucinationReport:
        """A report from the verdicts so far; the other claims are unchecked."""
        found = select_claims(self.read(text), self.context.profile)
        by_place = {(v.start, v.end, v.claim_text, v.citations): v for v in known}
        verdicts = [
            by_place.get((c.start, c.end, c.text, c.citations)) or unchecked(c, why)
            for c in (*found.verified, *found.over_limit)
        ]
        case = Case(text, self._sources, self._question)
        return summarise(case, verdicts, found.skipped, self.context.backend.name, self.context.profile)

    def nothing(self, text: str, why: str) -> HallucinationReport:
        """An empty report with an error."""
        case = Case(text, self._sources, self._question)
        report = summarise(case, (), (), self.context.backend.name, self.context.profile)
        return replace(
            report,
            error=f"could not be checked: {why}",
            flagged=None,
            risk=None,
            grounding_ratio=None,
            overall_confidence=None,
        )


T = TypeVar("T")
_log = logging.getLogger(__name__)

LATE = "timeout: the answer was over before this was verified"


class JobRunner(Protocol):
    """Runs a job of the engine and returns its result, for example `Service.work`."""

    def __call__(self, job: Callable[[], Coroutine[Any, Any, T]], /) -> Awaitable[T]: ...


async def run_inline(job: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run the job on the current event loop."""
    return await job()


class IncrementalVerifier:
    """Push text as it arrives; read `verdicts()` at any time; `await finish()` for the report.

    The report equals `engine.check` on the whole text. Estimates made on the way are memoised, so the final
    check is mostly answered already. `push` never waits and never fails: if the verifier is slow or broken,
    the claims are UNCHECKED in the report.

    `push`, `verdicts` and `finish` must be called on the stream's event loop; `work` runs the engine's jobs,
    possibly on another loop. Each stream has at most one job in flight.
    """

    def __init__(
        self,
        engine: Groundwire,
        sources: Sources = (),
        *,
        question: str = "",
        work: JobRunner = run_inline,
        **kwargs: Unpack[ContextKwargs],
    ) -> None:
        self._engine = engine
        self._sources: tuple[Source, ...] = as_sources(sources)
        self._question = question
        self._context_kwargs = kwargs
        self._work = work
        self._ahead = IncrementalChecker(engine, self._sources, question)
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
        """The text pushed so far."""
        return "".join(self._parts)

    @property
    def judged(self) -> int:
        """The offset before which every sentence has been read and, if it is a claim, judged."""
        return self._to

    def push(self, text: str) -> None:
        """Add text. Returns immediately."""
        if self._closed or not text:
            return
        self._length += len(text)
        if self._length > self._engine.config.limits.max_answer_chars:
            return  # too long to be checked; do not keep it either
        self._parts.append(text)
        self._fresh.append(text)
        recent = self._recent + text
        self._recent = recent[-RECENT:]
        self._ripe = self._ripe or may_complete(recent)
        if self._ripe and (self._task is None or self._task.done()):
            self._start()

    def verdicts(self) -> tuple[ClaimVerification, ...]:
        """The verdicts so far in the order of the text. The tuple is the same object until one is added."""
        return self._told

    async def drain(self) -> tuple[ClaimVerification, ...]:
        """Wait until all claims that are complete now have been judged."""
        while self._task is not None and not self._task.done():
            await asyncio.wait({self._task})
        return self._told

    def cancel(self) -> None:
        """Stop working; the report is not needed any more."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()

    async def finish(self, within: float | None = None, *, response_id: str = "") -> HallucinationReport:
        """The report on the whole text. Claims not verified `within` the given seconds are UNCHECKED."""
        report = replace(await self._finish(within), response_id=response_id)
        self._engine.publish(report)
        return report

    async def _finish(self, within: float | None) -> HallucinationReport:
        self._closed = True
        text = self.text
        if self._length > len(text):
            limit = f"the limit is {self._engine.config.limits.max_answer_chars:,}"
            error = InputError(f"the answer has {self._length:,} characters", hint=limit)
            return self._ahead.nothing(text, failure(error))
        last = asyncio.ensure_future(self._settle(text))
        try:
            await asyncio.wait({last}, timeout=within)
        finally:
            if not last.done():
                self.cancel()
                last.cancel()
        if not last.done() or last.cancelled():
            return await self._cut_short(text, LATE)
        failed = last.exception()
        return last.result() if failed is None else await self._cut_short(text, _why(failed))

    def _start(self) -> None:
        """Start a background job if an event loop is running; otherwise all is done in `finish`."""
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
        async def check() -> HallucinationReport:  # where the engine runs: it may have to open a knowledge base
            case = self._engine.case(text, self._sources, question=self._question, **self._context_kwargs)
            return await pipeline.check(case, self._ahead.context)

        await self.drain()
        return await self._work(check)

    async def _cut_short(self, text: str, why: str) -> HallucinationReport:
        """In a thread: under overload many streams end this way at once."""
        if not text.strip() or not self._sources:
            return self._ahead.nothing(text, why)
        return await asyncio.to_thread(self._ahead.cut_short, text, self._told, why)


def _why(error: BaseException) -> str:
    return failure(error) if isinstance(error, GroundwireError) else f"error: {type(error).__name__}"


def _noted(task: asyncio.Task[None]) -> None:
    """Log a failed background job; the final check repeats its work."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        level = logging.DEBUG if isinstance(error, GroundwireError) else logging.WARNING
        _log.log(level, "verifying ahead of time stopped: %s", _why(error))
