"""Reports, audits, guard events and traces as JSON objects: the contract of the CLI, HTTP and MCP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from groundwire.text.controls import json_text
from groundwire.types import (
    Action,
    ActionVerdict,
    Claim,
    ClaimVerification,
    Edit,
    EpistemicGap,
    Feedback,
    Flag,
    HallucinationReport,
    OutputCheck,
    PostHoc,
    Repair,
    Span,
    StepVerdict,
    TraceAudit,
    TraceGraph,
    TraceNode,
)
from groundwire.types.report import as_object, as_table
from groundwire.types.stream import (
    Coherence,
    DoneEvent,
    InterruptedEvent,
    KnowledgeCheck,
    ReformulatedEvent,
    StreamEvent,
    TokenEvent,
    VerdictEvent,
    WarningEvent,
)

DIGITS = 4
"""Decimal places of probabilities and bits."""
TRACE_FORMAT = "groundwire.trace/1"


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


# ---- reports


@as_object.register
def report_object(report: HallucinationReport) -> dict[str, Any]:
    return {
        "id": report.response_id,
        "flagged": report.flagged,
        "risk": _round(report.risk),
        "grounding_ratio": _round(report.grounding_ratio),
        "overall_confidence": _round(report.overall_confidence),
        "backend": report.backend,
        "profile": report.profile,
        "total_claims": report.total_claims,
        "verified_claims": report.verified_claims,
        "flagged_claims": len(report.flagged_claims),
        "max_gap_bits": _round(report.max_gap_bits),
        "has_critical_gaps": report.has_critical_gaps,
        "should_retry": report.should_retry,
        "retry_guidance": report.retry_guidance,
        "claims": [claim_object(claim) for claim in report.claims],
        "skipped": [_skipped_object(claim) for claim in report.skipped],
        "gaps": [_gap_object(gap) for gap in report.gaps],
        "spans": [_span_object(span) for span in report.spans],
        "error": report.error,
        **_detection_object(report),
        **report.extra,
    }


@as_table.register
def _table(report: HallucinationReport) -> Any:
    from groundwire.reports.tables import claims_frame

    return claims_frame(report)


def to_json(report: HallucinationReport, indent: int | None = 2) -> str:
    return json_text(report_object(report), indent)


def failed_object(identity: str, error: str, backend: str, profile: str) -> dict[str, Any]:
    """The report on a row that could not be checked: `flagged` is null, never false."""
    return {
        "id": identity,
        "flagged": None,
        "risk": None,
        "grounding_ratio": None,
        "overall_confidence": None,
        "backend": backend,
        "profile": profile,
        "total_claims": 0,
        "verified_claims": 0,
        "flagged_claims": 0,
        "max_gap_bits": None,
        "has_critical_gaps": False,
        "should_retry": False,
        "retry_guidance": None,
        "claims": [],
        "skipped": [],
        "gaps": [],
        "spans": [],
        "error": error,
    }


def _gap_object(gap: EpistemicGap) -> dict[str, Any]:
    return {
        "claim_id": gap.claim_id,
        "claim_text": gap.claim_text,
        "gap_type": gap.gap_type.value,
        "gap_bits": _round(gap.gap_bits),
        "suggested_action": gap.suggested_action,
    }


@as_object.register
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
        "evidence_support": _round(claim.evidence_support),
        "evidence_dependence": _round(claim.evidence_dependence),
        "consistency_score": _round(claim.consistency_score),
        "status": claim.status.value,
        "gap_type": claim.gap_type.value if claim.gap_type else None,
        "flagged": claim.is_flagged,
        "reason": claim.reason,
        "method": claim.method,
        "spans": [_span_object(span) for span in claim.spans],
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


def _span_object(span: Span) -> dict[str, Any]:
    return {"start": span.start, "end": span.end, "score": _round(span.score)}


def _skipped_object(claim: Claim) -> dict[str, Any]:
    return {"text": claim.text, "start": claim.start, "end": claim.end, "kind": claim.kind.value}


# ---- detector flags and repairs


def _detection_object(report: HallucinationReport) -> dict[str, Any]:
    """The keys that exist only if the detectors ran, or if the answer was repaired."""
    found: dict[str, Any] = {}
    if report.detection is not None:
        found["flags"] = [flag_object(flag) for flag in report.flags]
        found["detectors_skipped"] = list(report.detection.skipped)
    if report.repair is not None:
        found["repair"] = _repair_object(report.repair)
    return found


def flag_object(flag: Flag) -> dict[str, Any]:
    return {
        "type": flag.type.value,
        "start": flag.start,
        "end": flag.end,
        "content": flag.content,
        "confidence": round(flag.confidence, DIGITS),
        "score": _round(flag.score),
        "severity": flag.severity,
        "description": flag.type.description,
        "suggestion": flag.suggestion,
        "evidence": flag.evidence,
        "correction": flag.correction or None,
        "source": flag.source or None,
        "contradiction": flag.contradiction.value if flag.contradiction else None,
    }


def _repair_object(repair: Repair) -> dict[str, Any]:
    return {
        "text": repair.text,
        "actions": [_action_object(action) for action in repair.actions],
        "edits": [_edit_object(edit) for edit in repair.edits],
        "guidance": repair.guidance or None,
    }


def _action_object(action: Action) -> dict[str, Any]:
    optional = ("original", "replacement", "annotation", "reason", "source", "guidance")
    given = {name: value for name in optional if (value := getattr(action, name))}
    return {"type": action.kind.value, "start": action.start, "end": action.end, **given}


def _edit_object(edit: Edit) -> dict[str, Any]:
    return {
        "start": edit.start,
        "end": edit.end,
        "new_start": edit.new_start,
        "new_end": edit.new_end,
        "before": edit.before,
        "after": edit.after,
    }


def output_object(check: OutputCheck) -> dict[str, Any]:
    return {
        "id": check.id,
        "status": check.status.value,
        "reason": check.reason,
        "flagged": check.flagged,
        "flagged_claims": list(check.flagged_claims),
        "feedback": check.feedback,
        "report": report_object(check.report) if check.report else None,
    }


# ---- reasoning traces


def audit_object(audit: TraceAudit) -> dict[str, Any]:
    return {
        "flagged": audit.flagged,
        "question": audit.question,
        "backend": audit.backend,
        "steps": [_step_object(step) for step in audit.steps],
        "post_hoc": _post_hoc_object(audit.post_hoc),
        "actions": [action_object(action) for action in audit.actions],
        "error": audit.error,
    }


def action_object(action: ActionVerdict) -> dict[str, Any]:
    return {**asdict(action), "status": action.status.value, "flagged": action.is_flagged}


def audit_json(audit: TraceAudit) -> str:
    return json_text(audit_object(audit), 2)


def _step_object(step: StepVerdict) -> dict[str, Any]:
    return {
        **claim_object(step.verdict),
        "id": step.step.id,
        "cites": list(step.step.cites),
        "premises": list(step.premises),
        "contradicts": list(step.contradicts),
        "circular": list(step.circular),
    }


def _post_hoc_object(found: PostHoc) -> dict[str, Any]:
    return {
        "outcome": found.outcome.value,
        "answer": found.answer,
        "derived_answer": found.derived_answer,
        "executor": found.executor,
        "agreement": _round(found.agreement),
        "reason": found.reason,
    }


def graph_object(graph: TraceGraph) -> dict[str, Any]:
    """A reasoning trace for export; `parse.read_graph` reads it back."""
    return {
        "format": TRACE_FORMAT,
        "nodes": [_node_object(node) for node in graph.nodes],
        "edges": [{"source": e.source, "label": e.label.value, "target": e.target} for e in graph.edges],
    }


def _node_object(node: TraceNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "kind": node.kind.value,
        "text": node.text,
        "name": node.name,
        "confidence": node.confidence,
        "status": node.status.value if node.status else None,
        "detail": dict(node.detail),
        "created": node.created.isoformat(),
    }


# ---- events of a guarded answer


def event_object(event: StreamEvent) -> dict[str, Any]:
    """An event as clients receive it, with its `kind`."""
    return {"kind": event.kind, **_EVENT_OBJECTS[type(event)](event)}


def _done_object(done: DoneEvent) -> dict[str, Any]:
    return {
        "text": done.text,
        "risk": done.risk.value,
        "action": done.action,
        "error": done.error or None,
        "generated": done.generated,
        "knowledge": knowledge_object(done.knowledge) if done.knowledge else None,
        "coherence": _coherence_object(done.coherence) if done.coherence else None,
        "attributions": [asdict(attribution) for attribution in done.attributions],
        "warnings": [asdict(warning) for warning in done.warnings],
        "weak_points": [asdict(point) for point in done.weak_points],
        "report": report_object(done.report) if done.report else None,
    }


def knowledge_object(check: KnowledgeCheck) -> dict[str, Any]:
    return {
        "verified": check.verified,
        "requirements": [asdict(requirement) for requirement in check.requirements],
        "alternatives": [{"kind": kind.value, "text": text} for kind, text in check.alternatives],
    }


def _coherence_object(found: Coherence) -> dict[str, Any]:
    return {"coherent": found.coherent, **asdict(found)}


_EVENT_OBJECTS: dict[type, Callable[[Any], dict[str, Any]]] = {
    TokenEvent: lambda event: {"text": event.text},
    WarningEvent: lambda event: asdict(event.warning),
    VerdictEvent: lambda event: claim_object(event.verdict),
    InterruptedEvent: lambda event: {"at": event.at, "reason": event.reason, "risk": event.risk.value},
    ReformulatedEvent: lambda event: {"text": event.text, "reason": event.reason},
    DoneEvent: _done_object,
}
