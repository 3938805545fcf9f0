"""Merge the detectors' flags into the report of the budget."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from groundwire.claims.extractor import statements
from groundwire.reports.plaintext import nearest_evidence
from groundwire.types import (
    Case,
    ClaimVerification,
    Detection,
    Flag,
    GapType,
    HallucinationReport,
    HallucinationType,
    Source,
    Span,
    Status,
    Turn,
)
from groundwire.verdicts.summary import merged

# Flags for things missing in the knowledge base; a source that supports the claim overrules them.
_ABSENCE = (
    HallucinationType.FABRICATED_FACT,
    HallucinationType.NONEXISTENT_ENTITY,
    HallucinationType.UNSUPPORTED_CLAIM,
)
KB = "kb"
_NUMBER = re.compile(r"[$€£¥]?\d[\d.,]*(?<![.,])%?")
_NOTHING = re.compile(r"(?!)")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DATE = re.compile(rf"(?:\d{{1,2}}\s+)?{_MONTH}\s+(?:\d{{1,2}},\s+)?\d{{4}}|\b\d{{4}}\b")
_SAYS = re.compile(r"evidence says (?!')(.+)")
_PHANTOM_CONFIDENCE = 0.7  # below the default threshold of corrections: the claim itself may be true


def add_kb_source(case: Case, detection: Detection | None) -> Case:
    """Add the matching facts of the knowledge base to the sources, so that they can support claims."""
    if detection is None or not detection.known or not case.sources:
        return case
    taken = {source.id for source in case.sources}
    name = next(name for name in (f"{KB}{n or ''}" for n in count()) if name not in taken)
    return replace(case, sources=(*case.sources, Source(name, detection.known)))


def user_statements(history: Sequence[Turn]) -> list[Source]:
    """What the user stated in earlier turns, as sources: an answer may repeat it.

    Questions are left out: an answer must not take for true what the user only asks.
    """
    told = ((turn, statements(turn.text)) for turn in history if turn.role == "user")
    return [Source(f"turn {turn.id}", text) for turn, text in told if text]


def add_history_sources(case: Case) -> Case:
    """Add what the user stated before to the sources, unless the caller already did."""
    if not case.sources:
        return case
    given = {source.text for source in case.sources} | {source.id for source in case.sources}
    told = [s for s in user_statements(case.history) if s.id not in given and s.text not in given]
    return replace(case, sources=(*case.sources, *told)) if told else case


def with_detection(report: HallucinationReport, detection: Detection) -> HallucinationReport:
    """Add the detectors' findings to a report; what a source supports is not reported as unknown."""
    supported = [c for c in report.claims if c.status is Status.ENTAILED and not c.is_flagged]
    flags = tuple(flag for flag in detection.flags if not _answered(flag, supported))
    spans = [Span(flag.start, flag.end, flag.confidence) for flag in flags]
    error = "; ".join(filter(None, (report.error, *detection.errors))) or None
    unflagged = None if error and not report.flagged else report.flagged
    return replace(
        report,
        detection=replace(detection, flags=flags),
        spans=merged([*report.spans, *spans]),
        flagged=True if flags else unflagged,
        risk=max((r for r in (report.risk, *(f.confidence for f in flags)) if r is not None), default=None),
        error=error,
    )


def _answered(flag: Flag, supported: Sequence[ClaimVerification]) -> bool:
    return flag.type in _ABSENCE and any(c.start < flag.end and flag.start < c.end for c in supported)


def budget_flags(report: HallucinationReport) -> list[Flag]:
    """Convert flagged claims into flags, so that they can be repaired too."""
    return [_as_flag(claim, report.response) for claim in report.claims if claim.is_flagged]


def _as_flag(claim: ClaimVerification, response: str) -> Flag:
    contradicted = claim.status is Status.CONTRADICTED
    kind = HallucinationType.CONTRADICTS_FACT if contradicted else HallucinationType.UNSUPPORTED_CLAIM
    confidence = _PHANTOM_CONFIDENCE if claim.gap_type is GapType.PHANTOM_CITATION else 1 - (claim.p1 or 0.0)
    content = response[claim.start : claim.end]
    correction, fix = _correction(claim, response) if contradicted else ("", None)
    evidence = nearest_evidence(claim)
    return Flag(
        kind, claim.start, claim.end, content, confidence,
        evidence=claim.reason, correction=correction, fix=fix, source=evidence.source if evidence else "",
    )  # fmt: skip


def _correction(claim: ClaimVerification, response: str) -> tuple[str, tuple[int, int] | None]:
    """The value in the evidence, if one value of the claim is wrong and the reason names the right one."""
    stated = _SAYS.fullmatch(claim.reason)
    if not stated:
        return "", None
    value = stated.group(1).strip()
    places = [(m.start(), m.end()) for m in _like(value).finditer(response, claim.start, claim.end)]
    if len(places) > 1:
        places = [(a, b) for a, b in places if any(a < span.end and span.start < b for span in claim.spans)]
    return (value, places[0]) if len(places) == 1 else ("", None)


def _like(value: str) -> re.Pattern[str]:
    """The pattern of such values: a number followed by the same number of words, or a date."""
    number = _NUMBER.match(value)
    if number:
        more = len(value[number.end() :].split())
        return re.compile(rf"{_NUMBER.pattern}(?:[\s-]+[^\W\d_]+){{{more}}}")
    return _DATE if _DATE.fullmatch(value) else _NOTHING
