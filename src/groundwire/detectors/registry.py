"""The eight detectors over one case: the response is taken apart once, each looks at the same view.

A detector is a function in the table; switches, weights, threshold and the number of claims come from the
configuration. What has nothing to go by is named as skipped, and what could not be asked as an error: neither
is ever silence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from time import perf_counter

from groundwire.config.sections import DetectorsConfig
from groundwire.detectors.context import (
    DetectionContext,
    Dialogue,
    KBSnapshot,
    read_dialogue,
    segment_response,
    snapshot_text,
)
from groundwire.detectors.entities import detect_nonexistent_entities
from groundwire.detectors.fabricated import detect_fabricated_facts
from groundwire.detectors.facts import detect_kb_contradictions, detect_wrong_attributes
from groundwire.detectors.history import detect_history_contradictions
from groundwire.detectors.kb_lookup import fetch_snapshot
from groundwire.detectors.logic import detect_logical_inconsistencies
from groundwire.detectors.scoring import scored
from groundwire.detectors.temporal import detect_temporal_errors
from groundwire.detectors.unsupported import detect_unsupported_claims
from groundwire.errors import GroundwireError
from groundwire.llm.base import Generator
from groundwire.openie.parser import extract_with_model
from groundwire.types import Case, Detection, Flag, MentionKind, Segment, Verifier

Detector = Callable[[DetectionContext], Coroutine[None, None, list[Flag]]]

DETECTORS: dict[str, Detector] = {
    "fabricated_facts": detect_fabricated_facts,
    "nonexistent_entities": detect_nonexistent_entities,
    "wrong_attributes": detect_wrong_attributes,
    "kb_contradictions": detect_kb_contradictions,
    "history_contradictions": detect_history_contradictions,
    "unsupported_claims": detect_unsupported_claims,
    "temporal_errors": detect_temporal_errors,
    "logical_inconsistencies": detect_logical_inconsistencies,
}
_NEEDS_KNOWLEDGE = frozenset(
    {"fabricated_facts", "nonexistent_entities", "wrong_attributes", "kb_contradictions"}
)
_NEEDS_HISTORY = frozenset({"history_contradictions"})


async def detect(
    case: Case,
    settings: DetectorsConfig | None = None,
    verifier: Verifier | None = None,
    generator: Generator | None = None,
) -> Detection:
    """All flags of a case, deduplicated and in the order of the text. Raises for nobody's failure."""
    begun = perf_counter()
    chosen = settings or DetectorsConfig()
    view, errors = await _view(case, chosen, verifier, generator)
    skipped = {name: why for name in DETECTORS if (why := _why_not(name, chosen, view, case))}
    active = [name for name in DETECTORS if name not in skipped]
    results = await asyncio.gather(*(_run(name, view) for name in active))
    flags = [
        _weighted(flag, chosen, name)
        for name, (found, _) in zip(active, results, strict=True)
        for flag in found
    ]
    errors += [error for _, error in results if error]
    kept = [flag for flag in deduplicated(flags) if flag.confidence >= chosen.detection_threshold]
    return Detection(
        flags=tuple(scored(kept, view.segments, chosen.evidence_weights)),
        segments=view.segments,
        entities_verified=_entities(view),
        claims_checked=sum(len(piece.claims) for piece in view.segments),
        seconds=perf_counter() - begun,
        known=snapshot_text(view.known, view.now.date()) if view.known else "",
        skipped=tuple(f"{name}: {why}" for name, why in skipped.items()),
        errors=tuple(errors),
    )


async def _view(
    case: Case, settings: DetectorsConfig, verifier: Verifier | None, generator: Generator | None
) -> tuple[DetectionContext, list[str]]:
    now = case.now or datetime.now(UTC).replace(tzinfo=None)
    now = now.replace(tzinfo=None)
    before, segments = await asyncio.to_thread(_taken_apart, case, now)
    errors: list[str] = []
    if settings.extractor == "llm":
        segments, error = await extract_with_model(generator, segments)
        errors += [error] if error else []
    segments = _limited(segments, settings.max_claims)
    known, error = await _known(case, segments, before)
    errors += [error] if error else []
    view = DetectionContext(
        case.response, segments, now, before, known, case.sources, case.question, verifier
    )
    return view, errors


def _taken_apart(case: Case, now: datetime) -> tuple[Dialogue, tuple[Segment, ...]]:
    before = read_dialogue(case.history, now)
    return before, segment_response(case.response, now, before.names)


async def _known(
    case: Case, segments: tuple[Segment, ...], before: Dialogue
) -> tuple[KBSnapshot | None, str]:
    """The lookups go to a thread: a database waits for its disk, not the loop."""
    if case.kb is None:
        return None, ""
    try:
        return await asyncio.to_thread(fetch_snapshot, case.kb, segments, before.names), ""
    except (GroundwireError, OSError) as error:
        return None, f"knowledge base: {error}"


def _limited(segments: tuple[Segment, ...], most: int) -> tuple[Segment, ...]:
    """The first claims of the response, as many as are allowed."""
    left, result = most, []
    for piece in segments:
        result.append(replace(piece, claims=piece.claims[: max(0, left)]))
        left -= len(piece.claims)
    return tuple(result)


def _why_not(name: str, settings: DetectorsConfig, view: DetectionContext, case: Case) -> str:
    if not getattr(settings.enabled, name):
        return "off"
    if name in _NEEDS_KNOWLEDGE and view.known is None:
        return "no knowledge base" if case.kb is None else "the knowledge base could not be asked"
    if name in _NEEDS_HISTORY and not view.dialogue.turns:
        return "no history"
    return ""


async def _run(name: str, view: DetectionContext) -> tuple[list[Flag], str]:
    try:
        return await DETECTORS[name](view), ""
    except GroundwireError as error:
        return [], f"{name}: {error}"


def _weighted(flag: Flag, settings: DetectorsConfig, name: str) -> Flag:
    weight: float = getattr(settings.weights, name)
    return replace(flag, confidence=min(1.0, flag.confidence * weight))


def deduplicated(flags: Sequence[Flag]) -> list[Flag]:
    """Of flags that overlap the most confident stays (of equals the most severe), with the others'
    evidence.
    """
    order = sorted(flags, key=lambda f: (-f.confidence, -f.severity, not f.correction, f.end - f.start))
    kept: list[Flag] = []
    for flag in order:
        at = next((i for i, other in enumerate(kept) if _overlap(flag, other)), -1)
        if at < 0:
            kept.append(flag)
        else:
            kept[at] = _with_evidence(kept[at], flag)
    return sorted(kept, key=lambda f: (f.start, f.end))


def _overlap(a: Flag, b: Flag) -> bool:
    """Whether they speak of the same words. Two corrections of different words are two flags."""
    if a.fix and b.fix and (a.fix[1] <= b.fix[0] or b.fix[1] <= a.fix[0]):
        return False
    return a.start < b.end and b.start < a.end


def _with_evidence(kept: Flag, dropped: Flag) -> Flag:
    also = (("also", f"{dropped.type.value}: {dropped.evidence or dropped.suggestion}"),)
    related = tuple(dict.fromkeys((*kept.related, *dropped.related, *also)))
    fix = kept.fix or (dropped.fix if dropped.correction else None)
    if kept.correction or not dropped.correction:
        return replace(kept, related=related)
    return replace(kept, related=related, correction=dropped.correction, fix=fix, source=dropped.source)


def _entities(view: DetectionContext) -> int:
    names = {
        m.text.casefold()
        for piece in view.segments
        for m in piece.mentions
        if m.kind is not MentionKind.PRONOUN
    }
    return len(names) if view.known is not None else 0
