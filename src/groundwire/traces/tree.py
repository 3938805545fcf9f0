"""Reading a reasoning trace: what lies below a goal, what a claim cites, how well its claims stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from groundwire.errors import InputError
from groundwire.types import (
    ClaimRecord,
    EdgeLabel,
    EpistemicGap,
    EpistemicReport,
    GapType,
    NodeKind,
    Status,
    TraceGraph,
    TraceNode,
)
from groundwire.verdicts.summary import ACTIONS

STRUCTURE = frozenset((EdgeLabel.CONTAINS, EdgeLabel.CONSIDERS, EdgeLabel.CHOOSES, EdgeLabel.LEADS_TO))
_SEEN = (NodeKind.OBSERVATION, NodeKind.OUTCOME)
_VERIFY = "verify it: nobody has"
_AGAIN = "check it again: it could not be checked"


class Tree:
    """A whole trace, indexed once."""

    def __init__(self, graph: TraceGraph) -> None:
        self.graph = graph
        self.nodes = {node.id: node for node in graph.nodes}
        self.names = {node.name: node.id for node in graph.nodes if node.name}
        self.cites: dict[str, list[str]] = defaultdict(list)
        self._below: dict[str, list[str]] = defaultdict(list)
        for edge in graph.edges:
            if edge.label is EdgeLabel.CITES:
                self.cites[edge.source].append(edge.target)
            elif edge.label in STRUCTURE:
                self._below[edge.source].append(edge.target)

    def below(self, start: str) -> TraceGraph:
        """A node and all that hangs on it, in the order it was written, with the edges that begin there."""
        if start not in self.nodes:
            raise InputError(f"no trace has a node '{start}'")
        found: set[str] = set()
        waiting = [start]
        while waiting:
            here = waiting.pop()
            if here in self.nodes and here not in found:
                found.add(here)
                waiting.extend(self._below[here])
        nodes = tuple(node for node in self.graph.nodes if node.id in found)
        edges = tuple(edge for edge in self.graph.edges if edge.source in found)
        return TraceGraph(nodes, edges)

    def whole(self, start: str) -> TraceGraph:
        """The same with what is cited from elsewhere in the trace, the node itself first."""
        part = self.below(start)
        inside = {node.id for node in part.nodes}
        cited = {e.target for e in part.edges if e.label is EdgeLabel.CITES} - inside
        beyond = tuple(node for node in self.graph.nodes if node.id in cited)
        first = self.nodes[start]
        return TraceGraph((first, *(n for n in part.nodes if n is not first), *beyond), part.edges)

    def verification(self, claim_id: str) -> TraceNode | None:
        """The newest."""
        found = [self.nodes[to] for to in self._below[claim_id] if to in self.nodes]
        found = [node for node in found if node.kind is NodeKind.VERIFICATION]
        return found[-1] if found else None

    def borne_out(self, claim_id: str) -> bool:
        last = self.verification(claim_id)
        return last is not None and last.status is Status.ENTAILED and not last.detail.get("flagged")

    def label(self, identity: str) -> str:
        """What a reader calls a node."""
        node = self.nodes.get(identity)
        return node.name or node.id if node else identity


@dataclass(frozen=True, slots=True)
class Cited:
    """What a claim rests on. `why` says what it cites that cannot carry anything yet."""

    names: tuple[str, ...] = ()
    evidence: tuple[tuple[str, str], ...] = ()
    phantoms: tuple[str, ...] = ()
    why: str = ""


def resolve(claim: TraceNode, tree: Tree) -> Cited:
    """The texts a claim cites; where it cites nothing, all that was observed in its trace."""
    targets = tree.cites[claim.id]
    if not targets:
        seen = [node for node in tree.graph.nodes if node.kind in _SEEN]
        return Cited(evidence=tuple((tree.label(node.id), node.text) for node in seen))
    names = tuple(tree.label(target) for target in targets)
    missing = tuple(target for target in targets if target not in tree.nodes)
    if missing:
        return Cited(names, phantoms=missing)
    fallen = [t for t in targets if _is_claim(t, tree) and (t == claim.id or not tree.borne_out(t))]
    held = [tree.nodes[target] for target in targets if target not in fallen]
    rest = ", ".join(tree.label(t) for t in fallen)
    why = f"it rests on {rest}, which nothing bears out" if fallen else ""
    return Cited(names, tuple((tree.label(node.id), node.text) for node in held), (), why)


def _is_claim(identity: str, tree: Tree) -> bool:
    return tree.nodes[identity].kind is NodeKind.CLAIM


def report_on(goal_id: str, tree: Tree) -> EpistemicReport:
    graph = tree.below(goal_id)
    claims = tuple(_record(node, tree) for node in graph.nodes if node.kind is NodeKind.CLAIM)
    return EpistemicReport(goal_id, tree.nodes[goal_id].text, claims, tuple(_gaps(claims)))


def _record(claim: TraceNode, tree: Tree) -> ClaimRecord:
    targets = tree.cites[claim.id]
    phantoms = tuple(target for target in targets if target not in tree.nodes)
    last = tree.verification(claim.id)
    base = ClaimRecord(
        claim.id,
        claim.text,
        0.5 if claim.confidence is None else claim.confidence,
        tuple(tree.label(target) for target in targets),
        phantoms,
    )
    return base if last is None else _verified(base, last)


def _verified(base: ClaimRecord, last: TraceNode) -> ClaimRecord:
    kind = last.detail.get("gap_type")
    return ClaimRecord(
        base.claim_id,
        base.text,
        base.confidence,
        base.cites,
        base.phantoms,
        last.status,
        GapType(kind) if kind else None,
        bool(last.detail.get("flagged")),
        last.detail.get("budget_gap"),
        last.text,
        last.id,
    )


def _gaps(claims: tuple[ClaimRecord, ...]) -> Iterator[EpistemicGap]:
    for claim in claims:
        bits = max(0.0, claim.gap_bits or 0.0)
        if claim.phantoms:
            kind, action = GapType.PHANTOM_CITATION, ACTIONS[GapType.PHANTOM_CITATION]
        elif claim.flagged:
            kind = claim.gap_type or GapType.UNSUPPORTED
            action = ACTIONS[kind]
        elif claim.status in (None, Status.UNCHECKED):
            kind, action = GapType.UNSUPPORTED, _VERIFY if claim.status is None else _AGAIN
        else:
            continue
        yield EpistemicGap(claim.claim_id, claim.text, kind, bits, action)
