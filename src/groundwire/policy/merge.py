"""The detectors' flags beside the budget's, in one report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from groundwire.policy.summary import merged
from groundwire.types import (
    ClaimVerification,
    Detection,
    Flag,
    GapType,
    HallucinationReport,
    HallucinationType,
    Span,
    Status,
)

# What only says "I do not know it": a source that carries the claim has answered that.
_ABSENCE = (
    HallucinationType.FABRICATED_FACT,
    HallucinationType.NONEXISTENT_ENTITY,
    HallucinationType.UNSUPPORTED_CLAIM,
)
_SAYS = re.compile(r"evidence says (?!')(.+)")
_PHANTOM_CONFIDENCE = 0.7  # a remark, not a removal: the claim itself may be true


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
    correction, fix = _correction(claim) if contradicted else ("", None)
    source = claim.evidence[0].source if claim.evidence else ""
    return Flag(
        kind, claim.start, claim.end, content, confidence,
        evidence=claim.reason, correction=correction, fix=fix, source=source,
    )  # fmt: skip


def _correction(claim: ClaimVerification) -> tuple[str, tuple[int, int] | None]:
    """The value the evidence gives, where one value is wrong and the reason names the right one."""
    said = _SAYS.fullmatch(claim.reason)
    inside = [s for s in claim.spans if (s.start, s.end) != (claim.start, claim.end)]
    if not said or len(inside) != 1:
        return "", None
    return said.group(1).strip(), (inside[0].start, inside[0].end)
