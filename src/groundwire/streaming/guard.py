"""`guard(generator, request, context)`: verify an answer while a model writes it.

Before generation, check that the request can be answered from the context. During generation, pass tokens on,
warn about suspicious patterns, verify finished claims and stop when the evidence clearly contradicts one.
Afterwards, check coherence and apply the response protocol to the whole answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, replace
from typing import Protocol

from groundwire.claims.extractor import extract
from groundwire.config import RealTimeConfig, RiskAction
from groundwire.engine import ContextKwargs, Groundwire
from groundwire.errors import GroundwireError
from groundwire.llm import Generator, Message
from groundwire.llm.base import stream_text
from groundwire.requests import Sources
from groundwire.streaming.attribution import SourceAttributionTracker
from groundwire.streaming.coherence import coherence_of
from groundwire.streaming.incremental import IncrementalVerifier, JobRunner, run_inline
from groundwire.streaming.patterns import (
    PATTERNS,
    KnownContent,
    PatternHit,
    SentenceFeatures,
    SentenceSplitter,
    StreamPattern,
    StreamSentence,
    StreamState,
)
from groundwire.streaming.protocol import (
    Assessment,
    Rewriter,
    action_for,
    assess,
    is_clear_contradiction,
    is_grave,
    limits,
    reformulate,
    stops,
    worded,
)
from groundwire.streaming.session import is_unanswerable, read_request, verify_knowledge
from groundwire.types import ClaimKind, ClaimVerification, HallucinationReport, Risk, Source
from groundwire.types.stream import (
    Coherence,
    Context,
    DoneEvent,
    InterruptedEvent,
    KnowledgeCheck,
    ReformulatedEvent,
    StreamEvent,
    StreamWarning,
    TokenEvent,
    VerdictEvent,
    WarningEvent,
    WeakPoint,
)
from groundwire.verdicts.judge import unchecked

TAIL = 4000
"""Characters of the answer that the monitor keeps, whatever the length of the stream."""

KEPT_WARNINGS = 500
"""Warnings that are kept per stream; later ones are only counted."""
_REPORTED_HITS = 4096  # entries; bounds the memory for recognising repeated hits
_SEGMENT_CHARS = 100
NO_SOURCES = "error: there are no sources"
_log = logging.getLogger(__name__)


class StreamJudge(Protocol):
    """Receives the text as it arrives and verifies finished claims in the background."""

    def push(self, text: str) -> None: ...

    def verdicts(self) -> Sequence[ClaimVerification]: ...


class GenerationMonitor:
    """Call `update` with each token; read `warnings` and `verdicts`, and poll `should_interrupt`.

    Names, numbers and dates of the answer may come from `sources` or from `request`. A sentence is examined
    when the next one begins, so the warnings do not depend on how the text is cut into tokens; `close()`
    examines the last one. Memory is bounded: the end of the text, the first `KEPT_WARNINGS` warnings and
    counts of all.
    """

    def __init__(
        self,
        patterns: Sequence[StreamPattern] = PATTERNS,
        sources: Sequence[Source] = (),
        judge: StreamJudge | None = None,
        config: RealTimeConfig | None = None,
        *,
        request: str = "",
    ) -> None:
        self.patterns = tuple(patterns)
        self._known = KnownContent(sources, request)
        self._judge = judge
        self._config = config or RealTimeConfig()
        self._splitter = SentenceSplitter()
        self._past = StreamState()
        self._tail: list[str] = []
        self._tail_length = 0
        self._told: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._warnings: list[StreamWarning] = []
        self._counts: Counter[str] = Counter()
        self._alarm: StreamWarning | None = None
        self._looked_at: Sequence[ClaimVerification] = ()
        self._contradicted: ClaimVerification | None = None

    def prepare(self) -> None:
        """Index the sources now instead of at the first sentence. May run in a thread."""
        self._known.read()

    @property
    def current_generation(self) -> str:
        """The end of the text so far, at most `TAIL` characters."""
        return "".join(self._tail)[-TAIL:]

    @property
    def warnings(self) -> tuple[StreamWarning, ...]:
        return tuple(self._warnings)

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of hits per pattern, including warnings that were not kept."""
        return dict(self._counts)

    @property
    def verdicts(self) -> tuple[ClaimVerification, ...]:
        return tuple(self._judge.verdicts()) if self._judge else ()

    def update(self, text: str) -> tuple[StreamWarning, ...]:
        """Add text and return the new warnings."""
        if not text:
            return ()
        if self._judge is not None:
            self._judge.push(text)
        self._tail.append(text)
        self._tail_length += len(text)
        if self._tail_length > 2 * TAIL:
            self._tail, self._tail_length = [self.current_generation], TAIL
        return self._look(self._splitter.feed(text))

    def close(self) -> tuple[StreamWarning, ...]:
        """End the stream and return the warnings for its last sentence."""
        return self._look(self._splitter.rest())

    def should_interrupt(self) -> bool:
        """True if evidence contradicts the answer or there is an `alarm`; never for lack of support."""
        return self.contradiction() is not None or self._alarm is not None

    @property
    def alarm(self) -> StreamWarning | None:
        """The gravest warning of high or critical risk with a confidence above
        `realtime.interrupt_threshold`, such as a citation of a source that does not exist."""
        return self._alarm

    def contradiction(self) -> ClaimVerification | None:
        """The first claim that the sources contradict clearly enough to interrupt."""
        found = self._judge.verdicts() if self._judge and self._contradicted is None else self._looked_at
        if found is not self._looked_at:
            self._looked_at = found
            self._contradicted = next(
                (v for v in found if is_clear_contradiction(v, self._config.interrupt_threshold)), None
            )
        return self._contradicted

    def _look(self, sentences: Sequence[StreamSentence]) -> tuple[StreamWarning, ...]:
        found: list[StreamWarning] = []
        for sentence in sentences:
            self._past.follow(sentence)
            seen = SentenceFeatures(sentence, self._known, self._past)
            for pattern in self.patterns:
                if pattern.applies(seen):
                    found += [w for hit in pattern.find(seen) if (w := self._warn(pattern, seen, hit))]
        return tuple(found)

    def _warn(self, pattern: StreamPattern, seen: SentenceFeatures, hit: PatternHit) -> StreamWarning | None:
        """The warning for a hit, or None if it was reported before."""
        start, end = seen.start + hit.start, seen.start + hit.end
        key = (pattern.name, hit.key or f"@{start}")
        if key in self._told:
            return None
        self._told[key] = None
        if len(self._told) > _REPORTED_HITS:
            self._told.popitem(last=False)
        self._counts[pattern.name] += 1
        segment = seen.text[hit.start : hit.end][:_SEGMENT_CHARS]
        warning = StreamWarning(pattern.name, start, end, segment, round(hit.confidence, 3), pattern.risk, hit.note)
        if len(self._warnings) < KEPT_WARNINGS:
            self._warnings.append(warning)
        if is_grave(pattern.risk) and warning.confidence > self._config.interrupt_threshold:
            self._alarm = warning if warning.risk is Risk.CRITICAL else self._alarm or warning
        return warning


def log_weak_points(points: Sequence[WeakPoint], *, source_text: bool) -> None:
    """Log one JSON object per weak point; its text only if the log may contain source text."""
    for point in points:
        record = asdict(point) if source_text else {"start": point.start, "end": point.end, "kind": point.kind}
        _log.info("weak point %s", json.dumps({**record, "risk": point.risk.value}, ensure_ascii=False))


async def guard(
    generator: Generator,
    request: str | Sequence[Message],
    context: Context | Sources = (),
    *,
    engine: Groundwire | None = None,
    work: JobRunner = run_inline,
) -> AsyncGenerator[StreamEvent]:
    """Generate an answer and yield its events; the last is a `DoneEvent`, even if the model fails.

    Args:
        generator: the model that writes the answer.
        request: a question, which is sent together with the sources, or the messages to send as they are.
        context: sources, history and knowledge base, or the sources alone.
        engine: verifies the claims; without one, an engine is opened for this call.
        work: runs the engine's jobs, for example on another event loop.

    Closing the iterator cancels the model's request and all verification.
    """
    if engine is None:
        async with Groundwire() as own, aclosing(guard(generator, request, context, engine=own, work=work)) as events:
            async for event in events:
                yield event
        return
    asked, messages, at = await asyncio.to_thread(read_request, request, context)  # may read long sources
    knowledge = None
    if engine.config.realtime.check_knowledge:
        knowledge = await asyncio.to_thread(verify_knowledge, asked, at)
    if is_unanswerable(knowledge, at):
        yield DoneEvent(limits(asked, knowledge=knowledge), Risk.CRITICAL, knowledge, action="discard")
        return
    watched = GuardedGeneration(generator, asked, messages, at, engine, work)
    try:
        async with aclosing(watched.events()) as during:
            async for event in during:
                yield event
        async with aclosing(watched.outcome(knowledge)) as after:
            async for event in after:
                yield event
    finally:
        await watched.close()


class GuardedGeneration:
    """One generation under watch: its text so far, its verdicts, and whether it was interrupted."""

    def __init__(
        self,
        generator: Generator,
        asked: str,
        messages: tuple[Message, ...],
        context: Context,
        engine: Groundwire,
        work: JobRunner,
    ) -> None:
        self._generator = generator
        self._asked = asked
        self._messages = messages
        self._context = context
        self._engine = engine
        self._work = work
        self._config = engine.config.realtime
        self._beside: ContextKwargs = {"history": context.history, "kb": context.kb, "now": context.now}
        self._judge = IncrementalVerifier(engine, context.sources, question=asked, work=work, **self._beside)
        self._monitor = self._new_monitor(self._judge)
        self._parts: list[str] = []
        self._length = 0
        self._told: set[tuple[int, int]] = set()
        self._known: tuple[ClaimVerification, ...] = ()
        self._patient = True
        self.interrupted = False
        self.error = ""

    async def events(self) -> AsyncGenerator[StreamEvent]:
        await asyncio.to_thread(self._monitor.prepare)  # long sources must not delay the first token
        stream = stream_text(self._generator, self._messages, max_tokens=self._config.max_tokens)
        try:
            async with aclosing(stream) as pieces:
                async for piece in pieces:
                    yield TokenEvent(piece)
                    self._parts.append(piece)
                    self._length += len(piece)
                    for warning in self._monitor.update(piece):
                        yield WarningEvent(warning)
                    if self._length - self._judge.judged > self._config.lookahead_chars:
                        await self._caught_up()  # so that an interruption comes early
                    for verdict in self._news():
                        yield VerdictEvent(verdict)
                    if stop := self._stop():
                        yield stop
                        return
        except GroundwireError as error:
            self.error = str(error)
            _log.warning("the model failed after %d characters: %s", self._length, type(error).__name__)
        for warning in self._monitor.close():
            yield WarningEvent(warning)
        await self._caught_up()
        for verdict in self._news():
            yield VerdictEvent(verdict)

    async def _caught_up(self) -> None:
        """Let the verifier catch up; do not wait again after a timeout."""
        if self._patient:
            try:
                async with asyncio.timeout(self._config.hold_timeout):
                    await self._judge.drain()
            except TimeoutError:
                self._patient = False

    def _news(self) -> list[ClaimVerification]:
        found = self._judge.verdicts()
        if found is self._known:
            return []
        fresh = [v for v in found if (v.start, v.end) not in self._told]
        self._told |= {(v.start, v.end) for v in fresh}
        self._known = found
        return fresh

    def _stop(self) -> InterruptedEvent | None:
        """Interrupt if the monitor asks for it and the protocol stops at this risk."""
        if not self._monitor.should_interrupt():
            return None
        found = assess(self._judge.verdicts(), self._monitor.warnings, threshold=self._config.interrupt_threshold)
        if not stops(found.risk, self._config):
            return None
        self.interrupted = True
        return InterruptedEvent(self._length, found.reason, found.risk)

    async def outcome(self, knowledge: KnowledgeCheck | None) -> AsyncGenerator[ReformulatedEvent | DoneEvent]:
        """The events after the last token: a replacement if the protocol asks for one, then `DoneEvent`."""
        text = "".join(self._parts)
        if not text.strip():
            yield DoneEvent(text, Risk.LOW, knowledge, error=self.error, generated=text)
            return
        report = self._honest(await self._judge.finish(within=self._config.report_timeout))
        coherence = await self._coherence(text, report)
        found = self._assessed(text, report, coherence)
        log_weak_points(found.points, source_text=self._engine.config.log.include_text)
        action = action_for(found.risk, self._config)
        tracker = SourceAttributionTracker(self._context.sources, history=self._context.history)
        shown, final = await self._act(action, text, report, found, knowledge)
        tracker.track(final or report)
        if action in ("reformulate", "discard"):
            yield ReformulatedEvent(shown, found.reason)
        yield DoneEvent(
            text=shown,
            risk=found.risk,
            knowledge=knowledge,
            report=final,
            coherence=coherence,
            attributions=tracker.attributions(),
            warnings=self._monitor.warnings,
            weak_points=found.points,
            error="; ".join(filter(None, (self.error, report.error))),
            generated=text,
            action=action,
        )

    async def _coherence(self, text: str, report: HallucinationReport) -> Coherence | None:
        """Coherence with the conversation, from the report's detection if it has one."""
        try:
            found = report.detection or await self._work(lambda: self._engine.detect(text, **self._beside))
        except GroundwireError as error:
            _log.warning("coherence could not be checked: %s", type(error).__name__)
            return None
        # In a thread: comparing all clauses pairwise would block the other streams of this loop.
        return await asyncio.to_thread(coherence_of, text, self._context.history, found)

    def _assessed(self, text: str, report: HallucinationReport, coherence: Coherence | None) -> Assessment:
        """Assess the report; if it came too late to explain an interruption, the verdicts that caused it.

        The sentence that was cut off by the interruption ("Its …") is ignored.
        """
        threshold, warnings = self._config.interrupt_threshold, self._monitor.warnings
        end = self._judge.judged if self.interrupted else len(text)
        found = assess([claim for claim in report.claims if claim.start < end], warnings, coherence, threshold)
        if self.interrupted and not found.failing:
            return assess(self._judge.verdicts(), warnings, coherence, threshold)
        return found

    async def _act(
        self,
        action: RiskAction,
        text: str,
        report: HallucinationReport,
        found: Assessment,
        knowledge: KnowledgeCheck | None,
    ) -> tuple[str, HallucinationReport | None]:
        """The text for the user under the protocol's action, and the report on it."""
        if action == "none":
            return text, report
        if action == "discard":
            return limits(self._asked, found.failing, knowledge), report
        if action != "reformulate" or not found.failing:
            return worded(text, report, found, self._config), report
        rewriter = Rewriter(
            None if self.error else self._generator, self._messages, self._check, self._config,
            self._context.history, self._warnings,
        )  # fmt: skip
        return await reformulate(text, found, rewriter)

    async def _check(self, text: str) -> HallucinationReport:
        sources = self._context.sources
        return await self._work(lambda: self._engine.check(text, sources, question=self._asked, **self._beside))

    def _warnings(self, text: str) -> tuple[StreamWarning, ...]:
        """What the patterns find in a whole text."""
        monitor = self._new_monitor()
        return (*monitor.update(text), *monitor.close())

    def _new_monitor(self, judge: StreamJudge | None = None) -> GenerationMonitor:
        return GenerationMonitor(sources=self._context.sources, judge=judge, config=self._config, request=self._asked)

    def _honest(self, report: HallucinationReport) -> HallucinationReport:
        """Without any source, report all claims as unchecked rather than as not flagged."""
        if self._context.kb is not None or any(source.text.strip() for source in self._context.sources):
            return report
        claims = [claim for claim in extract(report.response) if claim.kind is ClaimKind.ASSERTION]
        verdicts = tuple(unchecked(claim, NO_SOURCES) for claim in claims)
        return replace(report, claims=verdicts, flagged=True if report.flags else None, risk=None)

    async def close(self) -> None:
        self._judge.cancel()
        await self._judge.drain()
