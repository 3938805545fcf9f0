"""What follows the last token: the report, coherence, the protocol, the log of weak points, the end."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Sequence
from dataclasses import asdict, dataclass, replace

from groundwire.claims.extractor import extract
from groundwire.config.service import RiskAction
from groundwire.errors import GroundwireError
from groundwire.streaming.attribution import SourceAttributionTracker
from groundwire.streaming.coherence import coherence_of
from groundwire.streaming.incremental import Incremental
from groundwire.streaming.protocol import Assessment, action_for, assess
from groundwire.streaming.rewrite import Rewriter, limits, reformulate, worded
from groundwire.streaming.session import Desk
from groundwire.types import ClaimKind, HallucinationReport
from groundwire.types.realtime import (
    Attribution,
    Coherence,
    DoneEvent,
    KnowledgeCheck,
    ReformulatedEvent,
    StreamWarning,
    WeakPoint,
)
from groundwire.verdicts.judge import unchecked

NO_SOURCES = "error: there are no sources"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Written:
    """What the model wrote, as far as it came, and what was seen on the way."""

    desk: Desk
    judge: Incremental
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
