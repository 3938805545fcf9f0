"""The table of detectors, and `detect`, which runs them on one case.

To add a detector: write a coroutine that takes a `DetectionContext` and returns flags, add it to `DETECTORS`,
and add its switch and weight to `DetectorSwitches` and `DetectorWeights` in the configuration. Detectors that
lack input are reported as skipped and failures as errors, so "no flags" always means "checked". Each is imported
when it first runs: most checks have neither a knowledge base nor a history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from time import perf_counter

from groundwire.config import DetectorsConfig
from groundwire.detectors.context import DetectionContext, Dialogue, read_dialogue, segment_response, snapshot_text
from groundwire.errors import GroundwireError
from groundwire.llm.base import Generator
from groundwire.openie.parser import extract_with_model
from groundwire.types import Case, Detection, Flag, MentionKind, Segment, Verifier

Detector = Callable[[DetectionContext], Coroutine[None, None, list[Flag]]]

DETECTORS = {
    "fabricated_facts": "facts:detect_fabricated_facts",
    "nonexistent_entities": "facts:detect_nonexistent_entities",
    "wrong_attributes": "facts:detect_wrong_attributes",
    "kb_contradictions": "facts:detect_kb_contradictions",
    "history_contradictions": "history:detect_history_contradictions",
    "unsupported_claims": "wording:detect_unsupported_claims",
    "temporal_errors": "temporal:detect_temporal_errors",
    "logical_inconsistencies": "logic:detect_logical_inconsistencies",
}
"""Module and function of each detector."""
_NEEDS_KNOWLEDGE = frozenset({"fabricated_facts", "nonexistent_entities", "wrong_attributes", "kb_contradictions"})
_NEEDS_HISTORY = frozenset({"history_contradictions"})
_ANSWER_ALONE = frozenset({"temporal_errors", "logical_inconsistencies"})


def load_detector(name: str) -> Detector:
    module, _, function = DETECTORS[name].partition(":")
    detector: Detector = getattr(import_module(f"groundwire.detectors.{module}"), function)
    return detector


async def detect(
    case: Case,
    settings: DetectorsConfig | None = None,
    verifier: Verifier | None = None,
    generator: Generator | None = None,
) -> Detection:
    """Run the enabled detectors on a case and return their flags, overlapping ones merged, in text order.

    A failing knowledge base, verifier or model is reported in `Detection.errors`; it does not raise.

    Args:
        case: the response with its sources, history and knowledge base.
        settings: which detectors run, their weights and the threshold.
        verifier: judges candidates that rules alone cannot decide; without one they are not flagged.
        generator: extracts the triples if `settings.extractor` is "llm".
    """
    begun = perf_counter()
    chosen = settings or DetectorsConfig()
    context, errors = await _build_context(case, chosen, verifier, generator)
    skipped = {}
    for name in DETECTORS:
        if not getattr(chosen.enabled, name):
            skipped[name] = "off"
        elif name in _NEEDS_KNOWLEDGE and context.known is None:
            skipped[name] = "no knowledge base" if case.kb is None else "the knowledge base failed"
        elif name in _NEEDS_HISTORY and not context.dialogue.turns:
            skipped[name] = "no history"
    active = [name for name in DETECTORS if name not in skipped]
    results = await asyncio.gather(*(load_detector(name)(context) for name in active), return_exceptions=True)
    flags: list[Flag] = []
    for name, found in zip(active, results, strict=True):
        if isinstance(found, GroundwireError):
            errors.append(f"{name}: {found}")
        elif isinstance(found, BaseException):
            raise found
        else:
            weight: float = getattr(chosen.weights, name)
            flags += [replace(flag, confidence=min(1.0, flag.confidence * weight)) for flag in found]
    certain: Sequence[Flag] = [f for f in merge_overlapping(flags) if f.confidence >= chosen.detection_threshold]
    if certain:
        from groundwire.detectors.wording import with_scores

        certain = with_scores(certain, context.segments, chosen.evidence_weights)
    mentioned = (m for piece in context.segments for m in piece.mentions if m.kind is not MentionKind.PRONOUN)
    return Detection(
        flags=tuple(certain),
        segments=context.segments,
        entities_verified=len({m.text.casefold() for m in mentioned}) if context.known is not None else 0,
        claims_checked=sum(len(piece.claims) for piece in context.segments),
        seconds=perf_counter() - begun,
        known=snapshot_text(context.known, context.now.date()) if context.known else "",
        skipped=tuple(f"{name}: {why}" for name, why in skipped.items()),
        errors=tuple(errors),
    )


async def detect_in_answer(case: Case, settings: DetectorsConfig | None = None) -> Detection | None:
    """Run the detectors that read only the answer, by rules; None if they find nothing.

    They run in every check: an answer that contradicts itself is wrong whatever its sources say.
    """
    chosen = settings or DetectorsConfig()
    switches = {name: name in _ANSWER_ALONE and getattr(chosen.enabled, name) for name in DETECTORS}
    if not any(switches.values()):
        return None
    enabled = chosen.enabled.model_copy(update=switches)
    found = await detect(case, chosen.model_copy(update={"enabled": enabled, "extractor": "rules"}))
    return found if found.flags else None


async def _build_context(
    case: Case, settings: DetectorsConfig, verifier: Verifier | None, generator: Generator | None
) -> tuple[DetectionContext, list[str]]:
    now = (case.now or datetime.now(UTC)).replace(tzinfo=None)

    def read() -> tuple[Dialogue, tuple[Segment, ...]]:
        dialogue = read_dialogue(case.history, now)
        return dialogue, segment_response(case.response, now, dialogue.names)

    dialogue, segments = await asyncio.to_thread(read)
    errors, known, left = [], None, settings.max_claims
    if settings.extractor == "llm":
        segments, error = await extract_with_model(generator, segments)
        errors += [error] if error else []
    limited = []  # to the first claims of the response
    for piece in segments:
        limited.append(replace(piece, claims=piece.claims[: max(0, left)]))
        left -= len(piece.claims)
    if case.kb is not None:
        from groundwire.detectors.kb_lookup import fetch_snapshot

        try:  # in a thread, since database access would block the event loop
            known = await asyncio.to_thread(fetch_snapshot, case.kb, limited, dialogue.names)
        except (GroundwireError, OSError) as failure:
            errors.append(f"knowledge base: {failure}")
    rest = (dialogue, known, case.sources, case.question, verifier)
    return DetectionContext(case.response, tuple(limited), now, *rest), errors


def merge_overlapping(flags: Sequence[Flag]) -> list[Flag]:
    """Merge overlapping flags: the most confident one stays (on a tie the most severe), and the evidence of
    the others is added to it.
    """
    order = sorted(flags, key=lambda f: (-f.confidence, -f.severity, not f.correction, f.end - f.start))
    merged: list[Flag] = []
    for flag in order:
        at = next((i for i, other in enumerate(merged) if _overlap(flag, other)), -1)
        if at < 0:
            merged.append(flag)
            continue
        first = merged[at]
        also = (("also", f"{flag.type.value}: {flag.evidence or flag.suggestion}"),)
        merged[at] = replace(first, related=tuple(dict.fromkeys((*first.related, *flag.related, *also))))
        if flag.correction and not first.correction:
            fix = first.fix or flag.fix
            merged[at] = replace(merged[at], correction=flag.correction, fix=fix, source=flag.source)
    return sorted(merged, key=lambda f: (f.start, f.end))


def _overlap(a: Flag, b: Flag) -> bool:
    """True if the flags cover the same words. Corrections of different words are separate flags."""
    if a.fix and b.fix and (a.fix[1] <= b.fix[0] or b.fix[1] <= a.fix[0]):
        return False
    return a.start < b.end and b.start < a.end
