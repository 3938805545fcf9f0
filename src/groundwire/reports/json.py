"""Reports, audits, guard events and traces as JSON objects, and back: the contract of the CLI, HTTP and MCP."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter

from groundwire.errors import InputError
from groundwire.text.controls import json_text
from groundwire.types import (
    Action,
    ActionKind,
    ActionVerdict,
    Claim,
    ClaimVerification,
    Detection,
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
    Step,
    StepVerdict,
    TraceAudit,
    TraceEdge,
    TraceGraph,
    TraceNode,
    as_html,
    as_object,
    as_table,
)

if TYPE_CHECKING:
    from groundwire.types.stream import DoneEvent, KnowledgeCheck, StreamEvent

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


@as_html.register
def _html(result: HallucinationReport | ClaimVerification | TraceAudit | Detection) -> str:
    from groundwire.reports.html import notebook_view  # imported late: most checks never render HTML

    return notebook_view(result)


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
        found["repair"] = {
            "text": report.repair.text,
            "actions": [_action_object(action) for action in report.repair.actions],
            "edits": _json(report.repair.edits),
            "guidance": report.repair.guidance or None,
        }
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
        "steps": [
            {**claim_object(s.verdict), "id": s.step.id, "cites": list(s.step.cites)}
            | _picked(s, "premises contradicts circular")
            for s in audit.steps
        ],
        "post_hoc": _json(audit.post_hoc),
        "actions": [action_object(action) for action in audit.actions],
        "error": audit.error,
    }


def action_object(action: ActionVerdict) -> dict[str, Any]:
    return {**asdict(action), "status": action.status.value, "flagged": action.is_flagged}


def audit_json(audit: TraceAudit) -> str:
    return json_text(audit_object(audit), 2)


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
    return {"kind": event.kind, **_EVENT_OBJECTS[event.kind](event)}


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


_EVENT_OBJECTS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "token": lambda event: {"text": event.text},
    "warning": lambda event: asdict(event.warning),
    "verdict": lambda event: claim_object(event.verdict),
    "interrupted": lambda event: _picked(event, "at reason risk"),
    "reformulated": lambda event: _picked(event, "text reason"),
    "done": _done_object,
}


# ---- reading back
#
# JSON keeps four digits of probabilities and bits, and only the offsets of evidence: a caller that has the sources
# passes a function that looks up the text.

Json = Mapping[str, Any]
Quote = Callable[[str, int, int], str]
"""Returns the text of a source between two offsets: `quote(source_id, start, end)`."""
T = TypeVar("T")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _read(kind: Callable[..., T], data: Json, /, **given: Any) -> T:
    """A record from its JSON object; `given` are fields that JSON lacks or names otherwise. Raises `ValueError`."""
    found: T = _adapter(kind).validate_python({**data, **given})
    return found


def no_text(_source: str, _start: int, _end: int) -> str:
    return ""


def report_from(data: Json, response: str, quote: Quote = no_text) -> HallucinationReport:
    """The report on `response`. Reports stored by older releases lack the gaps and the retry guidance."""
    older = failed_object("", "", "", "")
    return _read(
        HallucinationReport,
        {**older, **data},
        response_id=data["id"],
        response=response,
        claims=tuple(claim_from(claim, quote) for claim in data["claims"]),
        skipped=tuple(_read(Claim, claim, id=f"s{n}") for n, claim in enumerate(data["skipped"], 1)),
        detection=detection_from(data) if data.get("flags") is not None else None,
        repair=_repair(data["repair"], response) if data.get("repair") else None,
        extra={key: value for key, value in data.items() if key not in _OWN_KEYS},
    )


def claim_from(data: Json, quote: Quote = no_text) -> ClaimVerification:
    given = data.get("feedback")
    return _read(
        ClaimVerification,
        data,
        claim_id=data["id"],
        claim_text=data["text"],
        is_flagged=data["flagged"],
        evidence=tuple(
            _read(EvidenceRef, ref, text=quote(ref["source"], ref["start"], ref["end"])) for ref in data["evidence"]
        ),
        feedback=_read(Feedback, given, flagged=given["right"] != given["supported"]) if given else None,
    )


def detection_from(data: Json) -> Detection:
    """The flags, and the detectors that were skipped."""
    flags = tuple(
        _read(Flag, flag, correction=flag["correction"] or "", source=flag["source"] or "") for flag in data["flags"]
    )
    return Detection(flags, skipped=tuple(data.get("detectors_skipped") or ()))


def audit_from(data: Json, quote: Quote = no_text) -> TraceAudit:
    steps = tuple(_step(step, quote) for step in data["steps"])
    return _read(TraceAudit, {"actions": (), **data}, steps=steps)


def output_from(data: Json, response: str = "", quote: Quote = no_text) -> OutputCheck:
    report = report_from(data["report"], response, quote) if data["report"] else None
    return _read(OutputCheck, data, report=report)


def read_graph(data: object) -> TraceGraph:
    """A trace exported by `graph_object`; raises `InputError` for anything else."""
    if not isinstance(data, Mapping) or data.get("format") != TRACE_FORMAT:
        raise InputError("this is not an exported trace", hint=f'its "format" must be "{TRACE_FORMAT}"')
    nodes, edges = data.get("nodes"), data.get("edges")
    if not isinstance(nodes, Sequence) or not nodes or not isinstance(edges, Sequence):
        raise InputError("the exported trace has no nodes")
    try:
        root = str(nodes[0]["id"])
        return TraceGraph(
            tuple(_read(TraceNode, node, root=root) for node in nodes), tuple(_read(TraceEdge, edge) for edge in edges)
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the exported trace cannot be read: {error!r}") from None


def _step(data: Json, quote: Quote) -> StepVerdict:
    verdict = claim_from(data, quote)
    links = (tuple(data[key]) for key in ("premises", "contradicts", "circular"))
    return StepVerdict(_read(Step, data), verdict.status, verdict, *links)


def _repair(data: Json, original: str) -> Repair:
    actions = tuple(_read(Action, action, kind=ActionKind(action["type"])) for action in data["actions"])
    at = {(action.start, action.end): action for action in actions}
    places = [(edit["start"], edit["end"]) for edit in data["edits"]]
    edits = tuple(
        _read(Edit, edit, action=at.get(place, Action(ActionKind.NONE, *place)))
        for edit, place in zip(data["edits"], places, strict=True)
    )
    return Repair(original, data["text"], edits, actions)


_OWN_KEYS = {*failed_object("", "", "", ""), "flags", "detectors_skipped", "repair"}
"""Any other key of a report was added by its profile."""
