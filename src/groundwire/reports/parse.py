"""Read reports, audits and traces back from the JSON that `groundwire.reports.json` writes.

JSON keeps four digits of probabilities and bits, and only the offsets of evidence: a caller that has the
sources passes a function that looks up the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from groundwire.errors import InputError
from groundwire.reports.json import TRACE_FORMAT, report_object
from groundwire.types import (
    Action,
    ActionKind,
    ActionStatus,
    ActionVerdict,
    Claim,
    ClaimKind,
    ClaimVerification,
    ContradictionType,
    Derived,
    Detection,
    EdgeLabel,
    Edit,
    EpistemicGap,
    EvidenceRef,
    Feedback,
    Flag,
    GapType,
    HallucinationReport,
    HallucinationType,
    NodeKind,
    OutputCheck,
    OutputStatus,
    PostHoc,
    Repair,
    Span,
    Status,
    Step,
    StepVerdict,
    TraceAudit,
    TraceEdge,
    TraceGraph,
    TraceNode,
)

Json = Mapping[str, Any]
Quote = Callable[[str, int, int], str]
"""Returns the text of a source between two offsets: `quote(source_id, start, end)`."""


def no_text(_source: str, _start: int, _end: int) -> str:
    return ""


def report_from(data: Json, response: str, quote: Quote = no_text) -> HallucinationReport:
    """The report on `response`. Reports stored by older releases lack the gaps and the retry guidance."""
    return HallucinationReport(
        response_id=data["id"],
        response=response,
        backend=data["backend"],
        profile=data["profile"],
        claims=tuple(claim_from(claim, quote) for claim in data["claims"]),
        skipped=tuple(_skipped(claim, n) for n, claim in enumerate(data["skipped"], 1)),
        gaps=tuple(_gap(gap) for gap in data.get("gaps", ())),
        spans=_spans(data["spans"]),
        flagged=data["flagged"],
        risk=data["risk"],
        grounding_ratio=data["grounding_ratio"],
        overall_confidence=data.get("overall_confidence"),
        has_critical_gaps=data.get("has_critical_gaps", False),
        should_retry=data.get("should_retry", False),
        retry_guidance=data.get("retry_guidance"),
        error=data["error"],
        detection=detection_from(data) if data.get("flags") is not None else None,
        repair=_repair(data["repair"], response) if data.get("repair") else None,
        extra={key: value for key, value in data.items() if key not in _OWN_KEYS},
    )


def claim_from(data: Json, quote: Quote = no_text) -> ClaimVerification:
    return ClaimVerification(
        claim_id=data["id"],
        claim_text=data["text"],
        start=data["start"],
        end=data["end"],
        citations=tuple(data["citations"]),
        evidence=tuple(_evidence(ref, quote) for ref in data["evidence"]),
        confidence=data["confidence"],
        p1=data["p1"],
        p0=data["p0"],
        required_bits=data["required_bits"],
        observed_bits=data["observed_bits"],
        budget_gap=data["budget_gap"],
        gap_low=data["gap_low"],
        gap_high=data["gap_high"],
        status=Status(data["status"]),
        gap_type=GapType(data["gap_type"]) if data["gap_type"] else None,
        is_flagged=data["flagged"],
        reason=data["reason"],
        certain=data["certain"],
        method=data["method"],
        spans=_spans(data["spans"]),
        consistency_score=data.get("consistency_score"),
        adjusted_confidence=data["adjusted_confidence"],
        feedback=_feedback(data["feedback"]) if data.get("feedback") else None,
    )


def detection_from(data: Json) -> Detection:
    """The flags, and the detectors that were skipped."""
    flags = tuple(_flag(flag) for flag in data["flags"])
    return Detection(flags, skipped=tuple(data.get("detectors_skipped") or ()))


def audit_from(data: Json, quote: Quote = no_text) -> TraceAudit:
    found = data["post_hoc"]
    return TraceAudit(
        steps=tuple(_step(step, quote) for step in data["steps"]),
        post_hoc=PostHoc(
            Derived(found["outcome"]),
            found["answer"],
            found["derived_answer"],
            found["executor"],
            found["agreement"],
            found["reason"],
        ),
        backend=data["backend"],
        question=data["question"],
        error=data["error"],
        actions=tuple(_stated_action(action) for action in data.get("actions") or ()),
    )


def _stated_action(data: Json) -> ActionVerdict:
    place = (data["text"], data["start"], data["end"])
    return ActionVerdict(*place, ActionStatus(data["status"]), data["reason"], data["call"])


def output_from(data: Json, response: str = "", quote: Quote = no_text) -> OutputCheck:
    return OutputCheck(
        data["id"],
        OutputStatus(data["status"]),
        data["reason"],
        data["flagged"],
        tuple(data["flagged_claims"]),
        data["feedback"],
        report_from(data["report"], response, quote) if data["report"] else None,
    )


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
            tuple(_node(node, root) for node in nodes),
            tuple(TraceEdge(str(e["source"]), EdgeLabel(e["label"]), str(e["target"])) for e in edges),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the exported trace cannot be read: {error!r}") from None


def _node(node: Json, root: str) -> TraceNode:
    return TraceNode(
        str(node["id"]),
        root,
        NodeKind(node["kind"]),
        str(node["text"]),
        datetime.fromisoformat(node["created"]),
        node.get("name") and str(node["name"]),
        None if node.get("confidence") is None else float(node["confidence"]),
        Status(node["status"]) if node.get("status") else None,
        dict(node.get("detail") or {}),
    )


def _evidence(ref: Json, quote: Quote) -> EvidenceRef:
    place = (ref["source"], ref["start"], ref["end"])
    return EvidenceRef(*place, quote(*place))


def _gap(data: Json) -> EpistemicGap:
    return EpistemicGap(
        data["claim_id"],
        data["claim_text"],
        GapType(data["gap_type"]),
        data["gap_bits"],
        data["suggested_action"],
    )


def _spans(spans: Iterable[Json]) -> tuple[Span, ...]:
    return tuple(Span(span["start"], span["end"], span["score"]) for span in spans)


def _skipped(data: Json, number: int) -> Claim:
    return Claim(f"s{number}", data["text"], data["start"], data["end"], kind=ClaimKind(data["kind"]))


def _feedback(data: Json) -> Feedback:
    return Feedback(
        right=data["right"],
        status=Status(data["status"]),
        flagged=data["right"] != data["supported"],
        at=datetime.fromisoformat(data["at"]),
        note=data["note"],
    )


def _step(data: Json, quote: Quote) -> StepVerdict:
    verdict = claim_from(data, quote)
    step = Step(data["id"], data["text"], tuple(data["cites"]), data["confidence"])
    links = (tuple(data[key]) for key in ("premises", "contradicts", "circular"))
    return StepVerdict(step, verdict.status, verdict, *links)


def _flag(data: Json) -> Flag:
    return Flag(
        HallucinationType(data["type"]),
        data["start"],
        data["end"],
        data["content"],
        data["confidence"],
        suggestion=data["suggestion"],
        evidence=data["evidence"],
        correction=data["correction"] or "",
        source=data["source"] or "",
        contradiction=ContradictionType(data["contradiction"]) if data["contradiction"] else None,
        score=data["score"],
    )


def _repair(data: Json, original: str) -> Repair:
    actions = tuple(_action(action) for action in data["actions"])
    at = {(action.start, action.end): action for action in actions}
    edits = tuple(_edit(edit, at) for edit in data["edits"])
    return Repair(original, data["text"], edits, actions)


def _action(data: Json) -> Action:
    words = ("original", "replacement", "annotation", "reason", "source", "guidance")
    given = {name: data[name] for name in words if name in data}
    return Action(ActionKind(data["type"]), data["start"], data["end"], **given)


def _edit(data: Json, at: Mapping[tuple[int, int], Action]) -> Edit:
    place = (data["start"], data["end"])
    action = at.get(place, Action(ActionKind.NONE, *place))
    return Edit(*place, data["new_start"], data["new_end"], data["before"], data["after"], action)


_EMPTY = HallucinationReport(
    "", "", "", "", (), (), (), (), None, None, None, None, False, False, None
)  # fmt: skip
_OWN_KEYS = {*report_object(_EMPTY), "flags", "detectors_skipped", "repair"}
"""Any other key of a report was added by its profile."""
