"""`ReasoningTraces`: goals, decisions and what came of them, and claims held against what they cite.

A trace is a tree below a goal. Claims cite observations, outcomes or other claims, by id or by their name in
the tree; a claim that is cited counts as evidence only once it is itself borne out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, cast
from uuid import uuid4

from groundwire._loop import run
from groundwire.config import BackendName, Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.reports.json import claim_object, graph_object
from groundwire.reports.parse import read_graph
from groundwire.stores.database import Database, open_database
from groundwire.stores.traces import TraceStore
from groundwire.traces.tree import Tree, report_on, resolve
from groundwire.types import (
    Claim,
    ClaimVerification,
    EdgeLabel,
    EpistemicGap,
    EpistemicReport,
    GapType,
    NodeKind,
    Source,
    Status,
    TraceEdge,
    TraceGraph,
    TraceNode,
    Verification,
)
from groundwire.verdicts.judge import phantom, unmeasured

_HANGS_BY = {NodeKind.OPTION: EdgeLabel.CONSIDERS, NodeKind.OUTCOME: EdgeLabel.LEADS_TO}
_NOTHING_SEEN = "it cites nothing, and nothing was observed"
Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class More:
    """What a node may have besides its text."""

    name: str | None = None
    confidence: float | None = None
    detail: Mapping[str, Any] | None = None


class ReasoningTraces:
    """Traces in a store, verified by an engine; both are opened when first needed."""

    def __init__(
        self,
        database: Database,
        config: Config | None = None,
        *,
        engine: Groundwire | None = None,
        clock: Clock = lambda: datetime.now(UTC),
    ) -> None:
        self.store = TraceStore(database)
        self._config = config
        self._clock = clock
        self._given = engine
        self._engines: dict[str | None, Groundwire] = {}

    @classmethod
    def open(
        cls, url: str | None = None, config: Config | None = None, *, create: bool = True
    ) -> ReasoningTraces:
        """The traces of a store: a SQLite file or a postgresql:// URL, else the configured one."""
        found = config or Config.load()
        return cls(open_database(url or found.store.url, create=create), found)

    def add(
        self, kind: NodeKind | str, text: str, parent: str | None = None, more: More | None = None
    ) -> str:
        """A node below another one; only a goal can stand alone. Returns its id."""
        kind, said = _kind(kind), more or More()
        if not text.strip():
            raise InputError(f"a {kind.value} without text says nothing")
        if parent is None and kind is not NodeKind.GOAL:
            raise InputError(f"a {kind.value} hangs on something", hint="give the id of a goal or a decision")
        identity = f"{kind.value}-{uuid4().hex[:16]}"
        root = self.store.node(parent).root if parent is not None else identity
        edges = [TraceEdge(parent, _HANGS_BY.get(kind, EdgeLabel.CONTAINS), identity)] if parent else []
        made = TraceNode(
            identity, root, kind, text, self._clock(), said.name, said.confidence, None, said.detail or {}
        )
        self.store.write([made], edges)
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
        """Say which option a decision took."""
        if self.store.node(option_id).root != self.store.node(decision_id).root:
            raise InputError("an option can only be chosen by a decision of its own trace")
        self.store.write([], [TraceEdge(decision_id, EdgeLabel.CHOOSES, option_id)])

    def add_action(self, decision_id: str, text: str) -> str:
        return self.add(NodeKind.ACTION, text, decision_id)

    def add_outcome(self, action_id: str, text: str, name: str | None = None) -> str:
        return self.add(NodeKind.OUTCOME, text, action_id, More(name=name))

    def add_observation(self, parent_id: str, text: str, name: str | None = None) -> str:
        """Something seen or read: what claims can cite, by its id or by `name`."""
        return self.add(NodeKind.OBSERVATION, text, parent_id, More(name=name))

    def add_claim(
        self, decision_id: str, claim: str, evidence_ids: Sequence[str] = (), confidence: float = 0.5
    ) -> str:
        """A claim with what it cites. What does not exist may be cited, and is found out."""
        if not 0.0 <= confidence <= 1.0:
            raise InputError(f"a confidence lies between 0 and 1, not at {confidence}")
        if isinstance(evidence_ids, str):
            raise InputError("evidence_ids is one text", hint="give a list of ids")
        if not claim.strip():
            raise InputError("a claim without text says nothing")
        parent = self.store.node(decision_id)
        names = self._tree(parent.root).names
        identity = f"{NodeKind.CLAIM.value}-{uuid4().hex[:16]}"
        cited = [TraceEdge(identity, EdgeLabel.CITES, names.get(one, one)) for one in evidence_ids]
        made = TraceNode(identity, parent.root, NodeKind.CLAIM, claim, self._clock(), confidence=confidence)
        self.store.write([made], [TraceEdge(decision_id, EdgeLabel.CONTAINS, identity), *cited])
        return identity

    def verify_claim(self, claim_id: str, verification_model: str | None = None) -> Verification:
        """Hold a claim against what it cites and write down what came of it.

        `verification_model` is a backend's name; without one the configured backend judges.
        """
        return run(self.verify(claim_id, verification_model))

    async def verify(self, claim_id: str, verification_model: str | None = None) -> Verification:
        claim = self.store.node(claim_id)
        if claim.kind is not NodeKind.CLAIM:
            raise InputError(f"{claim_id} is no claim but a {claim.kind.value}")
        tree = self._tree(claim.root)
        verdict = await self._judged(claim, tree, verification_model)
        return self._write_down(claim, verdict, verification_model)

    async def _judged(self, claim: TraceNode, tree: Tree, model: str | None) -> ClaimVerification:
        cited = resolve(claim, tree)
        target = 0.5 if claim.confidence is None else claim.confidence
        asked = Claim(claim.id, claim.text, 0, len(claim.text), cited.names, target)
        if cited.phantoms:
            return phantom(asked, cited.phantoms)
        if not cited.evidence:
            reason = cited.why or _NOTHING_SEEN
            return unmeasured(asked, Status.NOT_IN_CONTEXT, GapType.UNSUPPORTED, reason, "citation check")
        sources = [Source(name, text) for name, text in cited.evidence]
        found = await self._engine(model).verify_claim(claim.text, sources, target)
        return found if not cited.why or not found.is_flagged else _also(found, cited.why)

    def _write_down(self, claim: TraceNode, verdict: ClaimVerification, model: str | None) -> Verification:
        identity = f"{NodeKind.VERIFICATION.value}-{uuid4().hex[:16]}"
        label = _label(verdict)
        detail = {**claim_object(verdict), "id": claim.id, "model": model or verdict.method}
        made = TraceNode(
            identity, claim.root, NodeKind.VERIFICATION, verdict.reason, self._clock(),
            confidence=verdict.p1, status=verdict.status, detail=detail,
        )  # fmt: skip
        edges = [TraceEdge(claim.id, EdgeLabel.CONTAINS, identity)]
        if label is not None:
            edges.append(TraceEdge(identity, label, claim.id))
        self.store.write([made], edges)
        return Verification(identity, claim.id, verdict.status, verdict, label)

    def get_epistemic_gaps(self, goal_id: str) -> list[EpistemicGap]:
        """The claims below a goal that their evidence does not carry, and those that nobody checked."""
        return list(self.get_verification_report(goal_id).gaps)

    def get_verification_report(self, goal_id: str) -> EpistemicReport:
        """How well the claims of a goal's tree are supported."""
        return report_on(goal_id, self._tree(self.store.node(goal_id).root))

    def graph(self, goal_id: str) -> TraceGraph:
        """The goal and all that grew from it."""
        return self._tree(self.store.node(goal_id).root).whole(goal_id)

    def export(self, goal_id: str) -> dict[str, Any]:
        """The trace as JSON; `load` reads it."""
        return graph_object(self.graph(goal_id))

    def load(self, data: object) -> str:
        """Take in an exported trace, ids and all. Returns the id of its goal."""
        graph = read_graph(data)
        self.store.write(graph.nodes, graph.edges)
        return graph.nodes[0].id

    def goals(self) -> list[TraceNode]:
        return self.store.goals()

    def _tree(self, root: str) -> Tree:
        return Tree(self.store.tree(root))

    def _engine(self, model: str | None) -> Groundwire:
        if model is None and self._given is not None:
            return self._given
        if model not in self._engines:
            backend = cast("BackendName | None", model)
            self._engines[model] = Groundwire(self._config, backend=backend, operation="trace")
        return self._engines[model]

    def close(self) -> None:
        for engine in self._engines.values():
            run(engine.aclose())
        self.store.database.close()

    def __enter__(self) -> ReasoningTraces:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _kind(kind: NodeKind | str) -> NodeKind:
    try:
        return NodeKind(kind)
    except ValueError:
        known = ", ".join(NodeKind)
        raise InputError(f"there is no kind of node '{kind}'", hint=f"use one of {known}") from None


def _label(verdict: ClaimVerification) -> EdgeLabel | None:
    if verdict.is_flagged:
        return EdgeLabel.REFUTES
    return EdgeLabel.VERIFIES if verdict.status is Status.ENTAILED else None


def _also(verdict: ClaimVerification, why: str) -> ClaimVerification:

    return replace(verdict, reason=f"{verdict.reason}; {why}")
