"""The report as the contract's JSON object."""

from __future__ import annotations

import json
from typing import Any

from groundwire.reports.flags import detection_object
from groundwire.types import Claim, ClaimVerification, Feedback, HallucinationReport, Span

DIGITS = 4


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def _span(span: Span) -> dict[str, Any]:
    return {"start": span.start, "end": span.end, "score": _round(span.score)}


def claim_object(claim: ClaimVerification) -> dict[str, Any]:
    return {
        "id": claim.claim_id,
        "text": claim.claim_text,
        "start": claim.start,
        "end": claim.end,
        "citations": list(claim.citations),
        "evidence": [{"source": ref.source, "start": ref.start, "end": ref.end} for ref in claim.evidence],
        "confidence": _round(claim.confidence),
        "p1": _round(claim.p1),
        "p0": _round(claim.p0),
        "required_bits": _round(claim.required_bits),
        "observed_bits": _round(claim.observed_bits),
        "budget_gap": _round(claim.budget_gap),
        "gap_low": _round(claim.gap_low),
        "gap_high": _round(claim.gap_high),
        "certain": claim.certain,
        "adjusted_confidence": _round(claim.adjusted_confidence),
        "status": claim.status.value,
        "gap_type": claim.gap_type.value if claim.gap_type else None,
        "flagged": claim.is_flagged,
        "reason": claim.reason,
        "method": claim.method,
        "spans": [_span(span) for span in claim.spans],
        "key": claim.key,
        "feedback": feedback_object(claim.feedback) if claim.feedback else None,
    }


def feedback_object(feedback: Feedback) -> dict[str, Any]:
    return {
        "right": feedback.right,
        "supported": feedback.supported,
        "status": feedback.status.value,
        "at": feedback.at.isoformat(timespec="seconds"),
        "note": feedback.note,
    }


def _skipped(claim: Claim) -> dict[str, Any]:
    return {"text": claim.text, "start": claim.start, "end": claim.end, "kind": claim.kind.value}


def report_object(report: HallucinationReport) -> dict[str, Any]:
    return {
        "id": report.response_id,
        "flagged": report.flagged,
        "risk": _round(report.risk),
        "grounding_ratio": _round(report.grounding_ratio),
        "overall_confidence": _round(report.overall_confidence),
        "backend": report.backend,
        "profile": report.profile,
        "claims": [claim_object(claim) for claim in report.claims],
        "skipped": [_skipped(claim) for claim in report.skipped],
        "spans": [_span(span) for span in report.spans],
        "error": report.error,
        **detection_object(report),
        **report.extra,
    }


def failed_object(identity: str, error: str, backend: str, profile: str) -> dict[str, Any]:
    """A line that cannot be checked: never "fine", and the batch goes on."""
    return {
        "id": identity,
        "flagged": None,
        "risk": None,
        "grounding_ratio": None,
        "backend": backend,
        "profile": profile,
        "claims": [],
        "skipped": [],
        "spans": [],
        "error": error,
    }


def to_json(report: HallucinationReport, indent: int | None = 2) -> str:
    return json.dumps(report_object(report), ensure_ascii=False, indent=indent)
