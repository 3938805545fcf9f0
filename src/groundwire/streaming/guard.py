"""The generation monitor: an answer watched token by token for the signs of invention."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from groundwire.claims.extractor import extract
from groundwire.config.service import RealTimeConfig, RiskAction
from groundwire.engine import Groundwire, Sources
from groundwire.errors import GroundwireError
from groundwire.llm import Generator, Message
from groundwire.llm.stream import tokens
from groundwire.streaming.attribution import SourceAttributionTracker
from groundwire.streaming.coherence import coherence_of
from groundwire.streaming.incremental import IncrementalVerifier, JobRunner, run_inline
from groundwire.streaming.patterns import PATTERNS, Hit, Pattern
from groundwire.streaming.protocol import Assessment, action_for, assess, is_clear_contradiction, stops
from groundwire.streaming.rewrite import Rewriter, limits, reformulate, worded
from groundwire.streaming.session import Desk, lacks, open_desk
from groundwire.streaming.state import Known, Past, Recent, Seen, Sentence, Splitter
from groundwire.types import ClaimKind, ClaimVerification, HallucinationReport, Risk, Source
from groundwire.types.stream import (
    Attribution,
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
"""So many characters of the answer are kept."""

KEPT_WARNINGS = 500
_REMEMBERED = 4096
_SEGMENT = 100


class Judge(Protocol):
    """Gets the text as it comes and judges its finished claims in the background: `Incremental` is one."""

    def push(self, text: str) -> None: ...

    def verdicts(self) -> Sequence[ClaimVerification]: ...


class GenerationMonitor:
    """`update` with each token; read `warnings` and `verdicts`, and ask `should_interrupt`.

    `sources` are what the answer may rest on, `request` what was asked: both are where its particulars may
    come from. Sentences are looked at when the next one begins, so that the warnings are the same however
    the text is cut into tokens; `close()` looks at the last one. What is kept of the stream is bounded:
    the end of its text, the first `KEPT_WARNINGS` warnings and the number of all.
    """

    def __init__(
        self,
        patterns: Sequence[Pattern] = PATTERNS,
        sources: Sequence[Source] = (),
        judge: Judge | None = None,
        config: RealTimeConfig | None = None,
        *,
        request: str = "",
    ) -> None:
        self.patterns = tuple(patterns)
        self._known = Known(sources, request)
        self._judge = judge
        self._config = config or RealTimeConfig()
        self._splitter = Splitter()
        self._past = Past()
        self._tail: list[str] = []
        self._tail_length = 0
        self._told: Recent[tuple[str, str], None] = Recent(_REMEMBERED)
        self._warnings: list[StreamWarning] = []
        self._counts: Counter[str] = Counter()
        self._critical: StreamWarning | None = None
        self._looked_at: Sequence[ClaimVerification] = ()
        self._contradicted: ClaimVerification | None = None

    def prepare(self) -> None:
        """Read the sources now and not at the first sentence; may run in a thread while the model thinks."""
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
        """How often each pattern showed, those included that are not kept."""
        return dict(self._counts)

    @property
    def verdicts(self) -> tuple[ClaimVerification, ...]:
        return tuple(self._judge.verdicts()) if self._judge else ()

    def update(self, text: str) -> tuple[StreamWarning, ...]:
        """More of the answer; gives the warnings that it brings."""
        if not text:
            return ()
        if self._judge is not None:
            self._judge.push(text)
        self._keep(text)
        return self._look(self._splitter.feed(text))

    def close(self) -> tuple[StreamWarning, ...]:
        """The answer is over; gives the warnings of its last sentence."""
        return self._look(self._splitter.rest())

    def should_interrupt(self) -> bool:
        """Only where evidence contradicts the answer, or the risk is critical; never for want of support."""
        return self.contradiction() is not None or self._critical is not None

    @property
    def critical(self) -> StreamWarning | None:
        """The first warning of critical risk that is as sure as `realtime.interrupt_threshold` asks."""
        return self._critical

    def contradiction(self) -> ClaimVerification | None:
        """The first claim that the sources contradict, as surely as an interruption needs."""
        found = self._judge.verdicts() if self._judge and self._contradicted is None else self._looked_at
        if found is not self._looked_at:
            self._looked_at = found
            self._contradicted = next(
                (v for v in found if is_clear_contradiction(v, self._config.interrupt_threshold)), None
            )
        return self._contradicted

    def _keep(self, text: str) -> None:
        self._tail.append(text)
        self._tail_length += len(text)
        if self._tail_length > 2 * TAIL:
            self._tail = [self.current_generation]
            self._tail_length = TAIL

    def _look(self, sentences: Sequence[Sentence]) -> tuple[StreamWarning, ...]:
        if not sentences:
            return ()
        found: list[StreamWarning] = []
        for sentence in sentences:
            self._past.follow(sentence)
            seen = Seen(sentence, self._known, self._past)
            for pattern in self.patterns:
                if pattern.applies(seen):
                    found += [w for hit in pattern.find(seen) if (w := self._warn(pattern, seen, hit))]
        return tuple(found)

    def _warn(self, pattern: Pattern, seen: Seen, hit: Hit) -> StreamWarning | None:
        """A warning, unless the same was said before."""
        start, end = seen.start + hit.start, seen.start + hit.end
        key = (pattern.name, hit.key or f"@{start}")
        if key in self._told:
            return None
        self._told.put(key, None)
        self._counts[pattern.name] += 1
        segment = seen.text[hit.start : hit.end][:_SEGMENT]
        warning = StreamWarning(
            pattern.name, start, end, segment, round(pattern.confidence(seen, hit), 3), pattern.risk, hit.note
        )
        if len(self._warnings) < KEPT_WARNINGS:
            self._warnings.append(warning)
        if pattern.risk is Risk.CRITICAL and warning.confidence >= self._config.interrupt_threshold:
            self._critical = self._critical or warning
        return warning


# What follows the last token: the report, coherence, the protocol, the log of weak points, the end.

NO_SOURCES = "error: there are no sources"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Written:
    """What the model wrote, as far as it came, and what was seen on the way."""

    desk: Desk
    judge: IncrementalVerifier
    text: str
    warnings: tuple[StreamWarning, ...]
    knowledge: KnowledgeCheck | None
    interrupted: bool
    error: str


@dataclass(frozen=True, slots=True)
class _Outcome:
    text: str
    action: RiskAction
    report: HallucinationReport | None


async def finished(written: Written) -> AsyncGenerator[ReformulatedEvent | DoneEvent]:
    """What is put in place of the answer, where something is, and the end of the stream."""
    desk, text = written.desk, written.text
    if not text.strip():
        yield DoneEvent(text, Assessment().risk, written.knowledge, error=written.error, generated=text)
        return
    report = _honest(await written.judge.finish(within=desk.config.report_timeout), desk)
    coherence = await _coherence(written, report)
    found = _assessed(written, report, coherence)
    log_weak_points(found.points, source_text=desk.engine.config.log.source_text)
    outcome = await _act(written, report, found)
    if outcome.action in ("reformulate", "discard"):
        yield ReformulatedEvent(outcome.text, found.reason)
    yield DoneEvent(
        text=outcome.text,
        risk=found.risk,
        knowledge=written.knowledge,
        report=outcome.report,
        coherence=coherence,
        attributions=_attributions(desk, outcome.report or report),
        warnings=written.warnings,
        weak_points=found.points,
        error="; ".join(filter(None, (written.error, report.error))),
        generated=text,
        action=outcome.action,
    )


def _honest(report: HallucinationReport, desk: Desk) -> HallucinationReport:
    """Where there is nothing to hold an answer against, its claims are unchecked, and not "not flagged"."""
    if desk.context.kb is not None or any(source.text.strip() for source in desk.context.sources):
        return report
    claims = [claim for claim in extract(report.response) if claim.kind is ClaimKind.ASSERTION]
    verdicts = tuple(unchecked(claim, NO_SOURCES) for claim in claims)
    return replace(report, claims=verdicts, flagged=True if report.flags else None, risk=None)


def _assessed(written: Written, report: HallucinationReport, coherence: Coherence | None) -> Assessment:
    """By the report; where a late report cannot say why the answer was stopped, by what stopped it.

    What had only begun when it was stopped ("Its …") is no claim, and weak for no reason of its own.
    """
    threshold = written.desk.config.interrupt_threshold
    said = written.judge.judged if written.interrupted else len(written.text)
    claims = [claim for claim in report.claims if claim.start < said]
    found = assess(claims, written.warnings, coherence, threshold)
    if written.interrupted and not found.failing:
        return assess(written.judge.verdicts(), written.warnings, coherence, threshold)
    return found


async def _act(written: Written, report: HallucinationReport, found: Assessment) -> _Outcome:
    """What the protocol asks for at this risk."""
    desk, text = written.desk, written.text
    action = action_for(found.risk, desk.config)
    if action == "none":
        return _Outcome(text, action, report)
    if action == "discard":
        return _Outcome(limits(desk.request, found.failing, written.knowledge), action, report)
    if action == "reformulate" and found.failing:
        asked = None if written.error else desk.generator
        rewriter = Rewriter(asked, desk.messages, desk.check, desk.config, desk.context.history)
        made = await reformulate(text, found, rewriter)
        return _Outcome(made.text, action, made.report)
    return _Outcome(worded(text, report, found, desk.config), action, report)


async def _coherence(written: Written, report: HallucinationReport) -> Coherence | None:
    """The detectors looked at the answer with the report, where there was something to hold it against."""
    desk = written.desk
    try:
        found = report.detection or await desk.detect(written.text)
    except GroundwireError as error:
        _log.warning("coherence could not be checked: %s", type(error).__name__)
        return None
    # Aside: many clauses against many take longer than a loop that carries other streams may stand still.
    return await asyncio.to_thread(coherence_of, written.text, desk.context.history, found)


def _attributions(desk: Desk, report: HallucinationReport) -> tuple[Attribution, ...]:
    tracker = SourceAttributionTracker(desk.context.sources, history=desk.context.history)
    tracker.track(report)
    return tracker.attributions()


def log_weak_points(points: Sequence[WeakPoint], *, source_text: bool) -> None:
    """A line of JSON each; the words themselves only where the configuration lets text into the log."""
    for point in points:
        told = asdict(point) if source_text else {"start": point.start, "end": point.end, "kind": point.kind}
        _log.info("weak point %s", json.dumps({**told, "risk": point.risk.value}, ensure_ascii=False))


# `guard(generator, request, context)`: an answer written under watch, as one stream of events.
#
# Before: is there anything to answer from? During: tokens as they come, warnings, verdicts on finished claims,
# a stop where evidence says otherwise. After: coherence, the report, and what the protocol makes of it all.


async def guard(
    generator: Generator,
    request: str | Sequence[Message],
    context: Context | Sources = (),
    *,
    engine: Groundwire | None = None,
    work: JobRunner = run_inline,
) -> AsyncGenerator[StreamEvent]:
    """Every event of one guarded answer; the last is a `DoneEvent`, also where the model fails.

    `request` is a question, which is put to the model with the sources, or the messages as they shall be
    sent. `context` is what the answer may rest on, or its sources alone. Without an `engine` one is opened,
    and closed at the end. `work` is where the engine's jobs run. Whoever stops reading stops the model and
    leaves nothing running.
    """
    if engine is None:
        async with (
            Groundwire() as own,
            aclosing(guard(generator, request, context, engine=own, work=work)) as events,
        ):
            async for event in events:
                yield event
        return
    desk = await asyncio.to_thread(open_desk, generator, request, context, engine, work)  # may read at length
    knowledge = await desk.knowledge()
    if lacks(knowledge, desk.context):
        yield DoneEvent(limits(desk.request, knowledge=knowledge), Risk.CRITICAL, knowledge, action="discard")
        return
    watched = _Watched(desk)
    try:
        async with aclosing(watched.events()) as during:
            async for event in during:
                yield event
        async with aclosing(finished(watched.written(knowledge))) as after:
            async for event in after:
                yield event
    finally:
        await watched.close()


class _Watched:
    """A model's text on its way: what was said, what was found, and whether it had to be stopped."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._config = desk.engine.config.realtime
        self._judge = IncrementalVerifier(
            desk.engine, desk.context.sources, question=desk.request, work=desk.work, **desk.beside
        )
        self._monitor = GenerationMonitor(
            sources=desk.context.sources, judge=self._judge, config=self._config, request=desk.request
        )
        self._parts: list[str] = []
        self._length = 0
        self._told: set[tuple[int, int]] = set()
        self._known: tuple[ClaimVerification, ...] = ()
        self._patient = True
        self.interrupted = False
        self.error = ""

    async def events(self) -> AsyncGenerator[StreamEvent]:
        await asyncio.to_thread(self._monitor.prepare)  # long sources are read aside, not at the first token
        stream = tokens(self._desk.generator, self._desk.messages, max_tokens=self._config.max_tokens)
        try:
            async with aclosing(stream) as pieces:
                async for piece in pieces:
                    yield TokenEvent(piece)
                    for warning in self._heard(piece):
                        yield WarningEvent(warning)
                    await self._hold()
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
        if self._patient:
            await self._caught_up()
        for verdict in self._news():
            yield VerdictEvent(verdict)

    def _heard(self, piece: str) -> tuple[StreamWarning, ...]:
        self._parts.append(piece)
        self._length += len(piece)
        return self._monitor.update(piece)

    async def _hold(self) -> None:
        """Let the verifier catch up, so that a stop comes before much more is said; not on one that hangs."""
        if self._patient and self._length - self._judge.judged > self._config.ahead_chars:
            await self._caught_up()

    async def _caught_up(self) -> None:
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
        """Only where the monitor asks for it and the protocol breaks off at this risk."""
        if not self._monitor.should_interrupt():
            return None
        found = assess(
            self._judge.verdicts(), self._monitor.warnings, threshold=self._config.interrupt_threshold
        )
        if not stops(found.risk, self._config):
            return None
        self.interrupted = True
        return InterruptedEvent(self._length, found.reason, found.risk)

    def written(self, knowledge: KnowledgeCheck | None) -> Written:
        return Written(
            desk=self._desk,
            judge=self._judge,
            text="".join(self._parts),
            warnings=self._monitor.warnings,
            knowledge=knowledge,
            interrupted=self.interrupted,
            error=self.error,
        )

    async def close(self) -> None:
        self._judge.cancel()
        await self._judge.drain()
