"""An audit as a reasoning trace: to be kept in a store, or drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from uuid import uuid4

from groundwire.reports.json import claim_object
from groundwire.traces.steps import link
from groundwire.types import (
    Derived,
    EdgeLabel,
    NodeKind,
    Source,
    Status,
    StepVerdict,
    TraceAudit,
    TraceEdge,
    TraceGraph,
    TraceNode,
)

_UNNAMED = "Audit of a reasoning trace"


class _Draft:
    """Nodes and edges of one tree as they come."""

    def __init__(self, goal: str, now: datetime) -> None:
        self.now = now
        self.root = _new(NodeKind.GOAL)
        self.nodes = [TraceNode(self.root, self.root, NodeKind.GOAL, goal, now)]
        self.edges: list[TraceEdge] = []
        self.names: dict[str, str] = {}

    def hang(self, kind: NodeKind, text: str, parent: str, label: EdgeLabel, name: str | None = None) -> str:
        identity = _new(kind)
        self.nodes.append(TraceNode(identity, self.root, kind, text, self.now, name))
        self.edges.append(TraceEdge(parent, label, identity))
        if name:
            self.names[name] = identity
        return identity


def _new(kind: NodeKind) -> str:
    return f"{kind.value}-{uuid4().hex[:16]}"


def audit_graph(audit: TraceAudit, sources: Sequence[Source] = (), now: datetime | None = None) -> TraceGraph:
    """The question as goal, the sources as observations, each step as a claim with its verification."""
    draft = _Draft(audit.question or _UNNAMED, now or datetime.now(UTC))
    for source in sources:
        draft.hang(NodeKind.OBSERVATION, source.text, draft.root, EdgeLabel.CONTAINS, source.id)
    reasoning = draft.hang(NodeKind.DECISION, "The steps", draft.root, EdgeLabel.CONTAINS)
    for step in audit.steps:
        _claim(step, reasoning, draft)
    draft.edges.extend(_cited(audit, sources, draft))
    if audit.post_hoc.answer:
        _answer(audit, reasoning, draft)
    return TraceGraph(tuple(draft.nodes), tuple(draft.edges))


def _claim(step: StepVerdict, parent: str, draft: _Draft) -> None:
    verdict = step.verdict
    identity = _new(NodeKind.CLAIM)
    draft.names[step.step.id] = identity
    draft.nodes.append(
        TraceNode(
            identity, draft.root, NodeKind.CLAIM, step.step.text, draft.now, step.step.id, verdict.confidence
        )
    )
    draft.edges.append(TraceEdge(parent, EdgeLabel.CONTAINS, identity))
    check = _new(NodeKind.VERIFICATION)
    detail = {
        **claim_object(verdict),
        "premises": list(step.premises),
        "contradicts": list(step.contradicts),
        "circular": list(step.circular),
    }
    draft.nodes.append(
        TraceNode(
            check, draft.root, NodeKind.VERIFICATION, verdict.reason, draft.now,
            confidence=verdict.p1, status=step.status, detail=detail,
        )
    )  # fmt: skip
    draft.edges.append(TraceEdge(identity, EdgeLabel.CONTAINS, check))
    if verdict.is_flagged:
        draft.edges.append(TraceEdge(check, EdgeLabel.REFUTES, identity))
    elif step.status is Status.ENTAILED:
        draft.edges.append(TraceEdge(check, EdgeLabel.VERIFIES, identity))


def _cited(audit: TraceAudit, sources: Sequence[Source], draft: _Draft) -> Iterator[TraceEdge]:
    """Citations by what they mean; what means nothing keeps the name it was cited by."""
    steps = [verdict.step for verdict in audit.steps]
    for step, links in zip(steps, link(steps, sources), strict=True):
        for name in dict.fromkeys((*links.sources, *links.steps, *links.circular, *links.phantoms)):
            yield TraceEdge(draft.names[step.id], EdgeLabel.CITES, draft.names.get(name, name))


def _answer(audit: TraceAudit, parent: str, draft: _Draft) -> None:
    found = audit.post_hoc
    outcome = draft.hang(NodeKind.OUTCOME, found.answer, parent, EdgeLabel.LEADS_TO)
    said = f"{found.outcome.value}: {found.reason}"
    check = draft.hang(NodeKind.VERIFICATION, said, outcome, EdgeLabel.CONTAINS)
    labels = {Derived.YES: EdgeLabel.VERIFIES, Derived.NO: EdgeLabel.REFUTES}
    if found.outcome in labels:
        draft.edges.append(TraceEdge(check, labels[found.outcome], outcome))
