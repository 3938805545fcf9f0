"""The detectors' flags beside the budget's, in one report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

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
)
from groundwire.verdicts.summary import merged

# What only says "I do not know it": a source that carries the claim has answered that.
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
_PHANTOM_CONFIDENCE = 0.7  # a remark, not a removal: the claim itself may be true


def add_kb_source(case: Case, detection: Detection | None) -> Case:
    """The case with what is known among its sources: a fact of the knowledge base pays for a claim too."""
    if detection is None or not detection.known or not case.sources:
        return case
    taken = {source.id for source in case.sources}
    name = next(name for name in (f"{KB}{n or ''}" for n in count()) if name not in taken)
    return replace(case, sources=(*case.sources, Source(name, detection.known)))


def with_detection(report: HallucinationReport, detection: Detection) -> HallucinationReport:
    """The report with what the detectors found; what a source carries is not called unknown."""
    carried = [c for c in report.claims if c.status is Status.ENTAILED and not c.is_flagged]
    flags = tuple(flag for flag in detection.flags if not _answered(flag, carried))
    spans = [Span(flag.start, flag.end, flag.confidence) for flag in flags]
    error = "; ".join(filter(None, (report.error, *detection.errors))) or None
    calm = None if error and not report.flagged else report.flagged
    return replace(
        report,
        detection=replace(detection, flags=flags),
        spans=merged([*report.spans, *spans]),
        flagged=True if flags else calm,
        risk=max((r for r in (report.risk, *(f.confidence for f in flags)) if r is not None), default=None),
        error=error,
    )


def _answered(flag: Flag, carried: Sequence[ClaimVerification]) -> bool:
    return flag.type in _ABSENCE and any(c.start < flag.end and flag.start < c.end for c in carried)


def budget_flags(report: HallucinationReport) -> list[Flag]:
    """The budget's own findings in the detectors' words, so that they can be repaired too."""
    return [_as_flag(claim, report.response) for claim in report.claims if claim.is_flagged]


def _as_flag(claim: ClaimVerification, response: str) -> Flag:
    contradicted = claim.status is Status.CONTRADICTED
    kind = HallucinationType.CONTRADICTS_FACT if contradicted else HallucinationType.UNSUPPORTED_CLAIM
    confidence = _PHANTOM_CONFIDENCE if claim.gap_type is GapType.PHANTOM_CITATION else 1 - (claim.p1 or 0.0)
    content = response[claim.start : claim.end]
    correction, fix = _correction(claim, response) if contradicted else ("", None)
    told = nearest_evidence(claim)
    return Flag(
        kind, claim.start, claim.end, content, confidence,
        evidence=claim.reason, correction=correction, fix=fix, source=told.source if told else "",
    )  # fmt: skip


def _correction(claim: ClaimVerification, response: str) -> tuple[str, tuple[int, int] | None]:
    """The value the evidence gives, where one value is wrong and the reason names the right one."""
    said = _SAYS.fullmatch(claim.reason)
    if not said or len(claim.spans) != 1:
        return "", None
    value = said.group(1).strip()
    places = [
        (match.start(), match.end())
        for match in _like(value).finditer(response, claim.start, claim.end)
        if match.start() < claim.spans[0].end and claim.spans[0].start < match.end()
    ]
    return (value, places[0]) if len(places) == 1 else ("", None)


def _like(value: str) -> re.Pattern[str]:
    """What a value of this kind looks like: a number with as many words behind it, or a date."""
    number = _NUMBER.match(value)
    if number:
        more = len(value[number.end() :].split())
        return re.compile(rf"{_NUMBER.pattern}(?:[\s-]+[^\W\d_]+){{{more}}}")
    return _DATE if _DATE.fullmatch(value) else _NOTHING
