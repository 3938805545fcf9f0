"""Reports, audits, guard events and traces as JSON objects: the contract of the CLI, HTTP and MCP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from typing import Any

from groundwire.text.controls import json_text
from groundwire.types import (
    Action,
    ActionVerdict,
    Claim,
    ClaimVerification,
    Edit,
    EpistemicGap,
    EvidenceRef,
    Feedback,
    Flag,
    HallucinationReport,
    OutputCheck,
    PostHoc,
    Repair,
    SourceShare,
    Span,
    StepVerdict,
    TraceAudit,
    TraceGraph,
    TraceNode,
    as_object,
    as_table,
)
from groundwire.types.stream import (
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
_KEYS: dict[type, str] = {
    Span: "start end score",
    EvidenceRef: "source start end",
    Feedback: "right supported status at note",
    SourceShare: "source p_without bits needed",
    ClaimVerification: """
        id text start end citations evidence confidence p1 p0 required_bits observed_bits budget_gap gap_low
        gap_high certain adjusted_confidence evidence_support evidence_dependence consistency_score status
        gap_type flagged reason method spans key feedback
    """,
    Claim: "text start end kind",
    EpistemicGap: "claim_id claim_text gap_type gap_bits suggested_action",
    Edit: "start end new_start new_end before after",
    PostHoc: "outcome answer derived_answer executor agreement reason",
}
"""The keys of a record in JSON, in order. Each is a field or a property of the record."""


def _json(value: Any) -> Any:
    """A value of a record as JSON: records by `_KEYS`, numbers to `DIGITS` places."""
    if isinstance(value, ClaimVerification):
        return claim_object(value)
    if type(value) in _KEYS:
        return _picked(value, _KEYS[type(value)])
    if isinstance(value, tuple | list):
        return [_json(item) for item in value]
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return round(value, DIGITS) if isinstance(value, float) else value


def _picked(record: object, keys: str) -> dict[str, Any]:
    return {key: _json(getattr(record, key)) for key in keys.split()}


# ---- reports


@as_object.register
def report_object(report: HallucinationReport) -> dict[str, Any]:
    return {
        "id": report.response_id,
        **_picked(report, "flagged risk grounding_ratio overall_confidence backend profile total_claims"),
        "verified_claims": report.verified_claims,
        "flagged_claims": len(report.flagged_claims),
        **_picked(report, "max_gap_bits has_critical_gaps should_retry retry_guidance claims skipped gaps"),
        **_picked(report, "spans error"),
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
    nothing = HallucinationReport(
        identity, "", backend, profile, (), (), (), (), None, None, None, None, False, False, None, error
    )
    return {**report_object(nothing), "max_gap_bits": None}


@as_object.register
def claim_object(claim: ClaimVerification) -> dict[str, Any]:
    return _picked(claim, _KEYS[ClaimVerification] + (" shares" if claim.shares else ""))


def feedback_object(feedback: Feedback) -> dict[str, Any]:
    return _picked(feedback, _KEYS[Feedback])


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
        **_picked(flag, "type start end content confidence score severity"),
        "description": flag.type.description,
        **_picked(flag, "suggestion evidence"),
        "correction": flag.correction or None,
        "source": flag.source or None,
        "contradiction": _json(flag.contradiction),
    }


def _repair_object(repair: Repair) -> dict[str, Any]:
    return {
        "text": repair.text,
        "actions": [_action_object(action) for action in repair.actions],
        "edits": _json(repair.edits),
        "guidance": repair.guidance or None,
    }


def _action_object(action: Action) -> dict[str, Any]:
    optional = ("original", "replacement", "annotation", "reason", "source", "guidance")
    given = {name: value for name in optional if (value := getattr(action, name))}
    return {"type": action.kind.value, "start": action.start, "end": action.end, **given}


def output_object(check: OutputCheck) -> dict[str, Any]:
    report = report_object(check.report) if check.report else None
    return {**_picked(check, "id status reason flagged flagged_claims feedback"), "report": report}


# ---- reasoning traces


def audit_object(audit: TraceAudit) -> dict[str, Any]:
    return {
        **_picked(audit, "flagged question backend"),
        "steps": [_step_object(step) for step in audit.steps],
        "post_hoc": _json(audit.post_hoc),
        "actions": [action_object(action) for action in audit.actions],
        "error": audit.error,
    }


def action_object(action: ActionVerdict) -> dict[str, Any]:
    return {**asdict(action), "status": action.status.value, "flagged": action.is_flagged}


def audit_json(audit: TraceAudit) -> str:
    return json_text(audit_object(audit), 2)


def _step_object(step: StepVerdict) -> dict[str, Any]:
    links = _picked(step, "premises contradicts circular")
    return {**claim_object(step.verdict), "id": step.step.id, "cites": list(step.step.cites), **links}


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
    coherence = done.coherence
    return {
        **_picked(done, "text risk action"),
        "error": done.error or None,
        "generated": done.generated,
        "knowledge": knowledge_object(done.knowledge) if done.knowledge else None,
        "coherence": coherence and {"coherent": coherence.coherent, **asdict(coherence)},
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


_EVENT_OBJECTS: dict[type, Callable[[Any], dict[str, Any]]] = {
    TokenEvent: lambda event: {"text": event.text},
    WarningEvent: lambda event: asdict(event.warning),
    VerdictEvent: lambda event: claim_object(event.verdict),
    InterruptedEvent: lambda event: _picked(event, "at reason risk"),
    ReformulatedEvent: lambda event: _picked(event, "text reason"),
    DoneEvent: _done_object,
}
