"""Read reports, audits and traces back from the JSON that `groundwire.reports.json` writes.

JSON keeps four digits of probabilities and bits, and only the offsets of evidence: a caller that has the
sources passes a function that looks up the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from groundwire.errors import InputError
from groundwire.reports.json import TRACE_FORMAT, failed_object
from groundwire.types import (
    Action,
    ActionKind,
    Claim,
    ClaimVerification,
    Detection,
    EdgeLabel,
    Edit,
    EvidenceRef,
    Feedback,
    Flag,
    HallucinationReport,
    NodeKind,
    OutputCheck,
    Repair,
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
T = TypeVar("T")


@cache
def _types(kind: Any) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _read(kind: Callable[..., T], data: Json, /, **given: Any) -> T:
    """A record from its JSON object; `given` are fields that JSON lacks or names otherwise."""
    known = {name: hint for name, hint in _types(kind).items() if name in data and name not in given}
    return kind(**{name: _value(hint, data[name]) for name, hint in known.items()}, **given)


def _value(hint: Any, value: Any) -> Any:
    """A value of a record by its type: `X | None`, a tuple, a record, an enum or a time; else as it is."""
    if value is None:
        return None
    if isinstance(hint, UnionType):
        hint = get_args(hint)[0]
    if get_origin(hint) is tuple:
        return tuple(_value(get_args(hint)[0], item) for item in value)
    if is_dataclass(hint) and isinstance(hint, type):
        return _read(hint, value)
    if hint is datetime:
        return datetime.fromisoformat(value)
    return hint(value) if isinstance(hint, type) and issubclass(hint, StrEnum) else value


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
    return _read(
        ClaimVerification,
        data,
        claim_id=data["id"],
        claim_text=data["text"],
        is_flagged=data["flagged"],
        evidence=tuple(
            _read(EvidenceRef, ref, text=quote(ref["source"], ref["start"], ref["end"])) for ref in data["evidence"]
        ),
        feedback=_feedback(data["feedback"]) if data.get("feedback") else None,
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


def _feedback(data: Json) -> Feedback:
    return _read(Feedback, data, flagged=data["right"] != data["supported"])


def _step(data: Json, quote: Quote) -> StepVerdict:
    verdict = claim_from(data, quote)
    links = (tuple(data[key]) for key in ("premises", "contradicts", "circular"))
    return StepVerdict(_read(Step, data), verdict.status, verdict, *links)


def _repair(data: Json, original: str) -> Repair:
    actions = tuple(_read(Action, action, kind=ActionKind(action["type"])) for action in data["actions"])
    at = {(action.start, action.end): action for action in actions}
    edits = tuple(_edit(edit, at) for edit in data["edits"])
    return Repair(original, data["text"], edits, actions)


def _edit(data: Json, at: Mapping[tuple[int, int], Action]) -> Edit:
    place = (data["start"], data["end"])
    return _read(Edit, data, action=at.get(place, Action(ActionKind.NONE, *place)))


_OWN_KEYS = {*failed_object("", "", "", ""), "flags", "detectors_skipped", "repair"}
"""Any other key of a report was added by its profile."""
