"""Reasoning traces in a store: goals, decisions, observations, and claims verified against what they cite.

A trace is a tree below a goal. Claims cite observations, outcomes or other claims by id or by name; a cited
claim counts as evidence only once it has been verified itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import Row, delete, select
from sqlalchemy.exc import IntegrityError

from groundwire._loop import run
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.reports.json import claim_object, graph_object, read_graph
from groundwire.stores.database import Database, insert_rows, open_database, storable_text
from groundwire.stores.tables import trace_edges, trace_nodes
from groundwire.traces.steps import link
from groundwire.types import (
    Claim,
    ClaimVerification,
    Derived,
    EdgeLabel,
    EpistemicGap,
    GapType,
    NodeKind,
    Source,
    Status,
    TraceAudit,
    TraceEdge,
    TraceGraph,
    TraceNode,
)
from groundwire.verdicts.judge import phantom, unmeasured
from groundwire.verdicts.summary import ACTIONS

STRUCTURE = frozenset((EdgeLabel.CONTAINS, EdgeLabel.CONSIDERS, EdgeLabel.CHOOSES, EdgeLabel.LEADS_TO))
_SEEN = (NodeKind.OBSERVATION, NodeKind.OUTCOME)
_VERIFY = "verify it: it has not been verified"
_AGAIN = "check it again: it could not be checked"


@dataclass(frozen=True, slots=True)
class Verification:
    """Verification of a claim in a trace; `label` is None if it was neither verified nor refuted."""

    id: str
    claim_id: str
    status: Status
    verdict: ClaimVerification
    label: EdgeLabel | None = None


@dataclass(frozen=True, slots=True)
class ClaimRecord:
    """A claim in a trace with its latest verification, if any."""

    claim_id: str
    text: str
    confidence: float
    cites: tuple[str, ...]
    phantoms: tuple[str, ...] = ()
    status: Status | None = None
    gap_type: GapType | None = None
    flagged: bool = False
    gap_bits: float | None = None
    reason: str = ""
    verification_id: str | None = None


@dataclass(frozen=True, slots=True)
class EpistemicReport:
    """Support of the claims below a goal. Unchecked claims, and claims that could not be checked, count as
    `unverified`.
    """

    goal_id: str
    goal: str
    claims: tuple[ClaimRecord, ...]
    gaps: tuple[EpistemicGap, ...]

    @property
    def total_claims(self) -> int:
        return len(self.claims)

    @property
    def verified(self) -> int:
        return sum(c.status is Status.ENTAILED and not c.flagged for c in self.claims)

    @property
    def refuted(self) -> int:
        return sum(c.flagged for c in self.claims)

    @property
    def unverified(self) -> int:
        return self.total_claims - self.verified - self.refuted

    @property
    def support_ratio(self) -> float | None:
        """The share of verified claims; None without claims."""
        return self.verified / self.total_claims if self.claims else None


# Traces in the database.

MAX_NODE_NAME = 200  # characters, the width of the column in the store


class TraceStore:
    """All traces of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def write(self, nodes: Sequence[TraceNode], edges: Sequence[TraceEdge] = ()) -> None:
        """Write nodes and edges in one transaction. Raises `InputError` if a name or an id is taken."""
        for node in nodes:
            if max(len(node.id), len(node.name or "")) > MAX_NODE_NAME:
                raise InputError(f"a node's name is longer than {MAX_NODE_NAME} characters")
        for edge in edges:
            if len(edge.target) > MAX_NODE_NAME:
                raise InputError(f"a citation is longer than {MAX_NODE_NAME} characters")
        try:
            with self.database.write() as connection:
                insert_rows(connection, trace_nodes, [_columns(node) for node in nodes])
                insert_rows(connection, trace_edges, [_columns(edge) for edge in dict.fromkeys(edges)])
        except IntegrityError as error:
            message = str(error.orig)
            if "root" in message and "name" in message:
                raise InputError("two nodes of one trace cannot have the same name") from None
            raise InputError("the trace exists already, or its parent node does not exist") from None

    def node(self, identity: str) -> TraceNode:
        """One node. Raises `InputError` if it does not exist."""
        with self.database.read() as connection:
            row = connection.execute(select(trace_nodes).where(trace_nodes.c.id == storable_text(identity))).first()
        if row is None:
            raise InputError(f"no trace has a node '{identity}'")
        return _node(row)

    def goals(self) -> list[TraceNode]:
        """The roots of all trees, oldest first."""
        wanted = select(trace_nodes).where(trace_nodes.c.id == trace_nodes.c.root)
        with self.database.read() as connection:
            return [_node(row) for row in connection.execute(wanted.order_by(trace_nodes.c.number))]

    def tree(self, root: str) -> TraceGraph:
        """A consistent snapshot of the tree below a root."""
        of_tree = select(trace_nodes).where(trace_nodes.c.root == storable_text(root)).order_by(trace_nodes.c.number)
        of_edges = (
            select(trace_edges)
            .join(trace_nodes, trace_nodes.c.id == trace_edges.c.source)
            .where(trace_nodes.c.root == storable_text(root))
            .order_by(trace_edges.c.number)
        )
        with self.database.read() as connection:
            nodes = tuple(_node(row) for row in connection.execute(of_tree))
            edges = tuple(
                TraceEdge(row.source, EdgeLabel(row.label), row.target) for row in connection.execute(of_edges)
            )
        return TraceGraph(nodes, edges)

    def forget(self, root: str) -> None:
        """Delete a whole tree."""
        with self.database.write() as connection:
            connection.execute(delete(trace_nodes).where(trace_nodes.c.root == storable_text(root)))


def _columns(item: TraceNode | TraceEdge) -> dict[str, Any]:
    return {field.name: _storable(getattr(item, field.name)) for field in fields(item)}


def _storable(value: Any) -> Any:
    if isinstance(value, str):  # an enum, too
        return storable_text(str(value))
    if isinstance(value, Mapping):
        return {storable_text(str(key)): _storable(item) for key, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, list | tuple) else value


def _node(row: Row[Any]) -> TraceNode:
    known = {field.name: getattr(row, field.name) for field in fields(TraceNode)}
    made: datetime = row.created if row.created.tzinfo else row.created.replace(tzinfo=UTC)  # SQLite has no time zones
    status = Status(row.status) if row.status else None
    return TraceNode(**(known | {"kind": NodeKind(row.kind), "status": status, "created": made}))


# A trace in memory, and what its claims rest on.


class TraceTree:
    """A trace with indexes."""

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
        """A node and its descendants in the order of writing, with their outgoing edges."""
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
        """As `below`, plus cited nodes from elsewhere in the trace; the node itself comes first."""
        part = self.below(start)
        inside = {node.id for node in part.nodes}
        cited = {e.target for e in part.edges if e.label is EdgeLabel.CITES} - inside
        beyond = tuple(node for node in self.graph.nodes if node.id in cited)
        first = self.nodes[start]
        return TraceGraph((first, *(n for n in part.nodes if n is not first), *beyond), part.edges)

    def verification(self, claim_id: str) -> TraceNode | None:
        """The newest verification of a claim."""
        found = [self.nodes[to] for to in self._below[claim_id] if to in self.nodes]
        found = [node for node in found if node.kind is NodeKind.VERIFICATION]
        return found[-1] if found else None

    def is_verified(self, claim_id: str) -> bool:
        last = self.verification(claim_id)
        return last is not None and last.status is Status.ENTAILED and not last.detail.get("flagged")

    def label(self, identity: str) -> str:
        """The name of a node, or its id."""
        node = self.nodes.get(identity)
        return node.name or node.id if node else identity


def report_on(goal_id: str, tree: TraceTree) -> EpistemicReport:
    graph = tree.below(goal_id)
    claims = tuple(_record(node, tree) for node in graph.nodes if node.kind is NodeKind.CLAIM)
    return EpistemicReport(goal_id, tree.nodes[goal_id].text, claims, tuple(_gaps(claims)))


def _record(claim: TraceNode, tree: TraceTree) -> ClaimRecord:
    targets = tree.cites[claim.id]
    record = ClaimRecord(
        claim.id,
        claim.text,
        0.5 if claim.confidence is None else claim.confidence,
        tuple(tree.label(target) for target in targets),
        tuple(target for target in targets if target not in tree.nodes),
    )
    last = tree.verification(claim.id)
    if last is None:
        return record
    kind = last.detail.get("gap_type")
    return replace(
        record,
        status=last.status,
        gap_type=GapType(kind) if kind else None,
        flagged=bool(last.detail.get("flagged")),
        gap_bits=last.detail.get("budget_gap"),
        reason=last.text,
        verification_id=last.id,
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


_UNNAMED = "Audit of a reasoning trace"
_PARENT_EDGE = {NodeKind.OPTION: EdgeLabel.CONSIDERS, NodeKind.OUTCOME: EdgeLabel.LEADS_TO}
_NO_OBSERVATIONS = "it cites nothing, and there are no observations"


def _new_id(kind: NodeKind) -> str:
    return f"{kind.value}-{uuid4().hex[:16]}"


def _edge_to(parent: str, node: TraceNode) -> TraceEdge:
    return TraceEdge(parent, _PARENT_EDGE.get(node.kind, EdgeLabel.CONTAINS), node.id)


def _verification(
    claim: TraceNode, verdict: ClaimVerification, now: datetime, **detail: object
) -> tuple[TraceNode, EdgeLabel | None, list[TraceEdge]]:
    """The verification of a claim as a node, with its label and edges."""
    label = EdgeLabel.VERIFIES if verdict.status is Status.ENTAILED else None
    label = EdgeLabel.REFUTES if verdict.is_flagged else label
    kind = NodeKind.VERIFICATION
    node = TraceNode(
        _new_id(kind), claim.root, kind, verdict.reason, now,
        confidence=verdict.p1, status=verdict.status, detail={**claim_object(verdict), **detail},
    )  # fmt: skip
    edges = [_edge_to(claim.id, node)]
    return node, label, [*edges, TraceEdge(node.id, label, claim.id)] if label else edges


def audit_graph(audit: TraceAudit, sources: Sequence[Source] = ()) -> TraceGraph:
    """An audit as a trace: the question as goal, sources as observations, steps as verified claims."""
    made = datetime.now(UTC)
    root = _new_id(NodeKind.GOAL)
    nodes = [TraceNode(root, root, NodeKind.GOAL, audit.question or _UNNAMED, made)]
    edges: list[TraceEdge] = []
    names: dict[str, str] = {}

    def add(parent: str, kind: NodeKind, text: str, name: str = "", confidence: float | None = None) -> TraceNode:
        nodes.append(TraceNode(_new_id(kind), root, kind, text, made, name or None, confidence))
        edges.append(_edge_to(parent, nodes[-1]))
        names[name] = nodes[-1].id
        return nodes[-1]

    for source in sources:
        add(root, NodeKind.OBSERVATION, source.text, source.id)
    parent = add(root, NodeKind.DECISION, "The steps").id
    for step in audit.steps:
        claim = add(parent, NodeKind.CLAIM, step.step.text, step.step.id, step.verdict.confidence)
        lists = {"premises": step.premises, "contradicts": step.contradicts, "circular": step.circular}
        detail = {name: list(ids) for name, ids in lists.items()}
        node, _, links = _verification(claim, step.verdict, made, **detail)
        nodes.append(node)
        edges += links
    steps = [verdict.step for verdict in audit.steps]
    for one, cited in zip(steps, link(steps, sources), strict=True):
        for name in dict.fromkeys((*cited.sources, *cited.steps, *cited.circular, *cited.phantoms)):
            # an unresolved citation keeps the cited name
            edges.append(TraceEdge(names[one.id], EdgeLabel.CITES, names.get(name, name)))
    found = audit.post_hoc
    if found.answer:
        outcome = add(parent, NodeKind.OUTCOME, found.answer).id
        check = add(outcome, NodeKind.VERIFICATION, f"{found.outcome.value}: {found.reason}").id
        labels = {Derived.YES: EdgeLabel.VERIFIES, Derived.NO: EdgeLabel.REFUTES}
        if found.outcome in labels:
            edges.append(TraceEdge(check, labels[found.outcome], outcome))
    return TraceGraph(tuple(nodes), tuple(edges))


class ReasoningTraces:
    """Traces in a store. Claims are verified by an engine, which is opened on first use."""

    def __init__(self, database: Database, config: Config | None = None, *, engine: Groundwire | None = None) -> None:
        self.store = TraceStore(database)
        self._config = config
        self._given = engine
        self._engines: dict[str | None, Groundwire] = {}

    @classmethod
    def open(cls, url: str | None = None, config: Config | None = None, *, create: bool = True) -> ReasoningTraces:
        """Open the traces in a SQLite file or at a postgresql:// URL; by default the configured store."""
        found = config or Config.load()
        return cls(open_database(url or found.store.url, create=create), found)

    def add(
        self,
        kind: NodeKind | str,
        text: str,
        parent: str | None = None,
        *,
        name: str | None = None,
        confidence: float | None = None,
        cites: Sequence[str] = (),
    ) -> str:
        """Add a node below another one and return its id; only a goal can be a root."""
        try:
            kind = NodeKind(kind)
        except ValueError:
            raise InputError(f"unknown kind of node '{kind}'", hint=f"use one of {', '.join(NodeKind)}") from None
        if not text.strip():
            raise InputError(f"a {kind.value} needs a text")
        if parent is None and kind is not NodeKind.GOAL:
            raise InputError(f"a {kind.value} needs a parent", hint="give the id of a goal or a decision")
        identity = _new_id(kind)
        root = self.store.node(parent).root if parent is not None else identity
        made = TraceNode(identity, root, kind, text, datetime.now(UTC), name, confidence)
        edges = [TraceEdge(identity, EdgeLabel.CITES, one) for one in cites]
        self.store.write([made], [_edge_to(parent, made), *edges] if parent else edges)
        return identity

    def add_goal(self, text: str, parent: str | None = None) -> str:
        return self.add(NodeKind.GOAL, text, parent)

    def add_decision(self, goal_id: str, text: str) -> str:
        return self.add(NodeKind.DECISION, text, goal_id)

    def add_option(self, decision_id: str, text: str, *, chosen: bool = False) -> str:
        option = self.add(NodeKind.OPTION, text, decision_id)
        if chosen:
            self.choose(decision_id, option)
        return option

    def choose(self, decision_id: str, option_id: str) -> None:
        """Record the option a decision chose."""
        if self.store.node(option_id).root != self.store.node(decision_id).root:
            raise InputError("an option can only be chosen by a decision of its own trace")
        self.store.write([], [TraceEdge(decision_id, EdgeLabel.CHOOSES, option_id)])

    def add_action(self, decision_id: str, text: str) -> str:
        return self.add(NodeKind.ACTION, text, decision_id)

    def add_outcome(self, action_id: str, text: str, name: str | None = None) -> str:
        return self.add(NodeKind.OUTCOME, text, action_id, name=name)

    def add_observation(self, parent_id: str, text: str, name: str | None = None) -> str:
        """Add an observation, which claims can cite by id or by `name`."""
        return self.add(NodeKind.OBSERVATION, text, parent_id, name=name)

    def add_claim(self, decision_id: str, claim: str, evidence_ids: Sequence[str] = (), confidence: float = 0.5) -> str:
        """Add a claim with its citations. Citations that do not exist are reported by the verification."""
        if not 0.0 <= confidence <= 1.0:
            raise InputError(f"confidence must be between 0 and 1, got {confidence}")
        if isinstance(evidence_ids, str):
            raise InputError("evidence_ids must be a list, got a string", hint="give a list of ids")
        parent = self.store.node(decision_id)
        names = self._tree(parent.root).names
        cites = [names.get(one, one) for one in evidence_ids]
        return self.add(NodeKind.CLAIM, claim, decision_id, confidence=confidence, cites=cites)

    def verify_claim(self, claim_id: str, verification_model: str | None = None) -> Verification:
        """Verify a claim against what it cites and store the result.

        `verification_model` is the name of a backend; default is the configured one.
        """
        return run(self.verify(claim_id, verification_model))

    async def verify(self, claim_id: str, verification_model: str | None = None) -> Verification:
        claim = self.store.node(claim_id)
        if claim.kind is not NodeKind.CLAIM:
            raise InputError(f"{claim_id} is a {claim.kind.value}, not a claim")
        tree = self._tree(claim.root)
        verdict = await self._judged(claim, tree, verification_model)
        model = verification_model or verdict.method
        node, label, edges = _verification(claim, verdict, datetime.now(UTC), id=claim.id, model=model)
        self.store.write([node], edges)
        return Verification(node.id, claim.id, verdict.status, verdict, label)

    async def _judged(self, claim: TraceNode, tree: TraceTree, model: str | None) -> ClaimVerification:
        """Verify a claim against what it cites; if it cites nothing, against all observations of its trace.

        A cited claim counts only once it is verified itself.
        """
        targets = tree.cites[claim.id]
        names = tuple(tree.label(target) for target in targets)
        target = 0.5 if claim.confidence is None else claim.confidence
        asked = Claim(claim.id, claim.text, 0, len(claim.text), names, target)
        missing = tuple(target for target in targets if target not in tree.nodes)
        if missing:
            return phantom(asked, missing)
        claims = [one for one in targets if tree.nodes[one].kind is NodeKind.CLAIM]
        unverified = [one for one in claims if one == claim.id or not tree.is_verified(one)]
        why = f"it rests on {', '.join(map(tree.label, unverified))}, which is not verified" if unverified else ""
        seen = [node.id for node in tree.graph.nodes if node.kind in _SEEN]
        evidence = [one for one in targets or seen if one not in unverified]
        if not evidence:
            reason = why or _NO_OBSERVATIONS
            return unmeasured(asked, Status.NOT_IN_CONTEXT, GapType.UNSUPPORTED, reason, "citation check")
        sources = [Source(tree.label(one), tree.nodes[one].text) for one in evidence]
        found = await self._engine(model).verify_claim(claim.text, sources, target)
        return replace(found, reason=f"{found.reason}; {why}") if why and found.is_flagged else found

    def get_epistemic_gaps(self, goal_id: str) -> list[EpistemicGap]:
        """The unsupported and the unverified claims below a goal."""
        return list(self.get_verification_report(goal_id).gaps)

    def get_verification_report(self, goal_id: str) -> EpistemicReport:
        """How well the claims of a goal's tree are supported."""
        return report_on(goal_id, self._tree(self.store.node(goal_id).root))

    def graph(self, goal_id: str) -> TraceGraph:
        """The goal and everything below it."""
        return self._tree(self.store.node(goal_id).root).whole(goal_id)

    def export(self, goal_id: str) -> dict[str, Any]:
        """The trace as JSON; `load` reads it."""
        return graph_object(self.graph(goal_id))

    def load(self, data: object) -> str:
        """Import an exported trace, keeping its ids. Returns the id of its goal."""
        graph = read_graph(data)
        self.store.write(graph.nodes, graph.edges)
        return graph.nodes[0].id

    def goals(self) -> list[TraceNode]:
        return self.store.goals()

    def _tree(self, root: str) -> TraceTree:
        return TraceTree(self.store.tree(root))

    def _engine(self, model: str | None) -> Groundwire:
        if model is None and self._given is not None:
            return self._given
        if model not in self._engines:
            self._engines[model] = Groundwire(self._config, backend=model, operation="trace")
        return self._engines[model]

    def close(self) -> None:
        for engine in self._engines.values():
            run(engine.aclose())
        self.store.database.close()

    def __enter__(self) -> ReasoningTraces:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
