"""Reasoning traces in the store, on SQLite and PostgreSQL."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import inspect
from tests.knowledge import early_store

from groundwire import Config, Groundwire, Status
from groundwire.agent.reasoning import ReasoningTraces
from groundwire.errors import InputError
from groundwire.reports.json import read_graph
from groundwire.stores.database import Database, _engine, _place, current_revision, newest_revision, open_database
from groundwire.types import EdgeLabel, GapType, NodeKind

TOWER = "The Eiffel Tower is 330 metres tall and stands in Paris."


@pytest.fixture(scope="module")
def engine() -> Groundwire:
    return Groundwire(Config(), operation="trace")


@pytest.fixture
def traces(store_url: str, engine: Groundwire):  # type: ignore[no-untyped-def]
    with ReasoningTraces(open_database(store_url), engine=engine) as found:
        yield found


def grown(traces: ReasoningTraces) -> tuple[str, str]:
    """A goal and a decision of it, with something seen."""
    goal = traces.add_goal("Describe the tower")
    decision = traces.add_decision(goal, "Use the guide book")
    traces.add_observation(goal, TOWER, name="S0")
    return goal, decision


def labels(traces: ReasoningTraces, goal: str) -> set[tuple[str, str, str]]:
    graph = traces.graph(goal)
    kinds = {node.id: node.kind.value for node in graph.nodes}
    return {(kinds[e.source], e.label.value, kinds.get(e.target, e.target)) for e in graph.edges}


def test_a_trace_has_goals_decisions_options_actions_outcomes_and_observations(traces: ReasoningTraces) -> None:
    goal = traces.add_goal("Ship the release")
    part = traces.add_goal("Fix the build", parent=goal)
    decision = traces.add_decision(part, "How to fix it")
    traces.add_option(decision, "Pin the version", chosen=True)
    traces.add_option(decision, "Rewrite it")
    action = traces.add_action(decision, "Pinned it")
    traces.add_outcome(action, "The build is green")
    traces.add_observation(part, "CI took 5 minutes")
    assert labels(traces, goal) == {
        ("goal", "contains", "goal"), ("goal", "contains", "decision"), ("decision", "considers", "option"),
        ("decision", "chooses", "option"), ("decision", "contains", "action"),
        ("action", "leads_to", "outcome"), ("goal", "contains", "observation"),
    }  # fmt: skip
    assert [node.text for node in traces.goals()] == ["Ship the release"]


@pytest.mark.spec("SPEC-16.11", "SPEC-16.13", "SPEC-16.15")
def test_a_claim_cites_by_id_and_by_name(traces: ReasoningTraces) -> None:
    goal, decision = grown(traces)
    other = traces.add_outcome(traces.add_action(decision, "Measured it"), "It measured 330 m")
    claim = traces.add_claim(decision, "The tower is 330 metres tall.", ["S0", other])
    graph = traces.graph(goal)
    node = next(node for node in graph.nodes if node.id == claim)
    assert (node.kind, node.confidence) == (NodeKind.CLAIM, 0.5)
    cited = [edge.target for edge in graph.edges if edge.label is EdgeLabel.CITES]
    assert [traces.store.node(target).text for target in cited] == [TOWER, "It measured 330 m"]


@pytest.mark.spec("SPEC-16.12", "SPEC-16.14", "SPEC-16.16")
@pytest.mark.parametrize(
    ("claim", "status", "label"),
    [
        ("The Eiffel Tower stands in Paris.", Status.ENTAILED, EdgeLabel.VERIFIES),
        ("The Eiffel Tower is 999 metres tall.", Status.CONTRADICTED, EdgeLabel.REFUTES),
    ],
)
def test_a_verification_verifies_or_refutes(
    traces: ReasoningTraces, claim: str, status: Status, label: EdgeLabel
) -> None:
    goal, decision = grown(traces)
    identity = traces.add_claim(decision, claim, ["S0"], confidence=0.95)
    found = traces.verify_claim(identity)
    assert (found.status, found.label, found.verdict.confidence) == (status, label, 0.95)
    assert found.verdict.budget_gap is not None
    node = traces.store.node(found.id)
    assert (node.kind, node.status) == (NodeKind.VERIFICATION, status)
    assert node.detail["p1"] == pytest.approx(found.verdict.p1, abs=1e-3)
    assert ("verification", label.value, "claim") in labels(traces, goal)


@pytest.mark.spec("SPEC-16.16")
def test_another_model_can_be_asked_by_its_name(traces: ReasoningTraces) -> None:
    _, decision = grown(traces)
    found = traces.verify_claim(traces.add_claim(decision, TOWER, ["S0"]), "fake")
    assert (found.status, found.verdict.method) == (Status.ENTAILED, "fake")
    assert traces.store.node(found.id).detail["model"] == "fake"


@pytest.mark.spec("SPEC-16.16", "SPEC-16.17")
def test_what_does_not_exist_is_cited_in_vain(traces: ReasoningTraces) -> None:
    goal, decision = grown(traces)
    found = traces.verify_claim(traces.add_claim(decision, "It is red.", ["S9"]))
    assert (found.verdict.gap_type, found.label) == (GapType.PHANTOM_CITATION, EdgeLabel.REFUTES)
    (gap,) = traces.get_epistemic_gaps(goal)
    assert (gap.gap_type, gap.suggested_action) == (GapType.PHANTOM_CITATION, "cite a source that exists")


def test_a_claim_is_evidence_only_once_it_is_borne_out(traces: ReasoningTraces) -> None:
    goal, decision = grown(traces)
    first = traces.add_claim(decision, "The Eiffel Tower stands in Paris.", ["S0"])
    second = traces.add_claim(decision, "The tower stands in Paris.", [first])
    early = traces.verify_claim(second)
    assert early.label is EdgeLabel.REFUTES
    assert "which is not verified" in early.verdict.reason
    traces.verify_claim(first)
    assert traces.verify_claim(second).label is EdgeLabel.VERIFIES
    assert traces.get_epistemic_gaps(goal) == []


def test_a_ring_of_claims_bears_out_nothing(traces: ReasoningTraces) -> None:
    _, decision = grown(traces)
    first = traces.add_claim(decision, "It is so.", ["b"])
    second = traces.add_claim(decision, "It is so indeed.", [first])
    for claim in (first, second, first):
        assert traces.verify_claim(claim).label is EdgeLabel.REFUTES


def test_a_claim_that_cites_nothing_is_held_against_what_was_seen(traces: ReasoningTraces) -> None:
    _, decision = grown(traces)
    assert traces.verify_claim(traces.add_claim(decision, TOWER)).status is Status.ENTAILED
    bare = traces.add_decision(traces.add_goal("Another"), "Something")
    lone = traces.verify_claim(traces.add_claim(bare, "It is red."))
    assert (lone.verdict.gap_type, lone.verdict.p1) == (GapType.UNSUPPORTED, None)


@pytest.mark.spec("SPEC-16.17", "SPEC-16.18")
def test_the_report_tells_verified_refuted_and_unverified_apart(traces: ReasoningTraces) -> None:
    goal, decision = grown(traces)
    part = traces.add_goal("A part of it", parent=goal)
    good = traces.add_claim(decision, "The Eiffel Tower stands in Paris.", ["S0"])
    bad = traces.add_claim(decision, "The Eiffel Tower is 999 metres tall.", ["S0"], 0.95)
    open_ = traces.add_claim(traces.add_decision(part, "Later"), "It is popular.", ["S0"])
    for claim in (good, bad):
        traces.verify_claim(claim)
    report = traces.get_verification_report(goal)
    assert (report.total_claims, report.verified, report.refuted, report.unverified) == (3, 1, 1, 1)
    assert report.support_ratio == pytest.approx(1 / 3)
    assert [(gap.claim_id, gap.gap_type.value) for gap in report.gaps] == [
        (bad, "contradicted"), (open_, "unsupported"),
    ]  # fmt: skip
    assert report.gaps[0].gap_bits > 0
    assert report.gaps[1].suggested_action == "verify it: it has not been verified"
    assert [claim.claim_id for claim in traces.get_verification_report(part).claims] == [open_]


@pytest.mark.spec("SPEC-16.20")
def test_an_exported_trace_can_be_taken_in_elsewhere(traces: ReasoningTraces, tmp_path: Path) -> None:
    goal, decision = grown(traces)
    traces.verify_claim(traces.add_claim(decision, "The Eiffel Tower stands in Paris.", ["S0"]))
    data = json.loads(json.dumps(traces.export(goal)))
    with pytest.raises(InputError, match="exists already"):
        traces.load(data)
    with ReasoningTraces(open_database(str(tmp_path / "other.db"))) as other:
        assert other.load(data) == goal
        assert other.export(goal) == data
        assert other.get_verification_report(goal) == traces.get_verification_report(goal)


def test_a_part_of_a_trace_is_exported_with_what_it_cites(traces: ReasoningTraces, tmp_path: Path) -> None:
    goal, _ = grown(traces)
    part = traces.add_goal("A part of it", parent=goal)
    claim = traces.add_claim(traces.add_decision(part, "Later"), "The Eiffel Tower stands in Paris.", ["S0"])
    with ReasoningTraces(open_database(str(tmp_path / "other.db")), engine=traces._given) as other:
        assert other.load(traces.export(part)) == part
        assert other.verify_claim(claim).status is Status.ENTAILED


@pytest.mark.parametrize(
    "data",
    [None, {}, [], {"format": "groundwire.trace/1"}, {"format": "groundwire.trace/1", "nodes": [{}], "edges": []},
     {"format": "groundwire.trace/1", "nodes": [{"id": "a", "kind": "hope", "text": "", "created": "x"}],
      "edges": []}],
)  # fmt: skip
def test_what_is_no_exported_trace_is_refused_in_one_line(data: object) -> None:
    with pytest.raises(InputError) as caught:
        read_graph(data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda t, g: t.add("hope", "x", g), "unknown kind of node 'hope'"),
        (lambda t, g: t.add("claim", "x"), "a claim needs a parent"),
        (lambda t, g: t.add_goal("  "), "needs a text"),
        (lambda t, g: t.add_decision("nowhere", "x"), "no trace has a node 'nowhere'"),
        (lambda t, g: t.add_claim(g, "x", [], 1.5), "between 0 and 1"),
        (lambda t, g: t.add_claim(g, "x", "S0"), "must be a list"),
        (lambda t, g: t.add_claim(g, " "), "needs a text"),
        (lambda t, g: t.verify_claim(g), "is a goal, not a claim"),
        (lambda t, g: t.add("observation", "x", g, name="n" * 201), "longer than 200"),
        (lambda t, g: t.get_epistemic_gaps("nowhere"), "no trace has a node"),
    ],
)
def test_what_makes_no_sense_is_refused(traces: ReasoningTraces, call, complaint: str) -> None:  # type: ignore[no-untyped-def]
    goal = traces.add_goal("A goal")
    with pytest.raises(InputError, match=complaint):
        call(traces, goal)
    assert len(traces.graph(goal).nodes) == 1


def test_a_name_stands_for_one_node_of_a_trace(traces: ReasoningTraces) -> None:
    goal, _ = grown(traces)
    with pytest.raises(InputError, match="same name"):
        traces.add_observation(goal, "Something else", name="S0")
    traces.add_observation(traces.add_goal("Another"), "Something else", name="S0")


def test_hostile_text_is_kept_as_far_as_databases_can(traces: ReasoningTraces) -> None:
    goal = traces.add_goal("NUL \x00 half \ud800 '; DROP TABLE trace_nodes; -- שלום 🗼")
    assert traces.store.node(goal).text == "NUL \ufffd half \ufffd '; DROP TABLE trace_nodes; -- שלום 🗼"


def test_two_writers_at_once_lose_nothing(store_url: str) -> None:
    both = [ReasoningTraces(open_database(store_url)) for _ in range(2)]
    goal = both[0].add_goal("Shared")
    decision = both[0].add_decision(goal, "Together")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda n: both[n % 2].add_claim(decision, f"Claim {n}", ["S0"]), range(24)))
    assert both[1].get_verification_report(goal).total_claims == 24
    for traces in both:
        traces.close()


@pytest.mark.spec("SPEC-16.19")
def test_a_store_of_before_traces_is_carried_forward(bare_url: str) -> None:
    with early_store(bare_url, "0003", "rejected_facts jobs paths") as connection:
        assert not inspect(connection).has_table("trace_nodes")
    with ReasoningTraces.open(bare_url, Config()) as traces:
        assert traces.add_goal("Now it can be kept")
        with traces.store.database.read() as connection:
            assert current_revision(connection) == newest_revision()


@pytest.mark.spec("SPEC-16.19")
def test_traces_of_an_older_store_survive_the_way_forward(bare_url: str) -> None:
    with early_store(bare_url, "0004", "rejected_facts jobs paths trace_nodes trace_edges"):
        pass
    with ReasoningTraces(Database(_engine(_place(bare_url)))) as old:
        goal, decision = grown(old)
        old.add_claim(decision, "It is tall.", ["S0"])
        was = old.export(goal)
    with ReasoningTraces.open(bare_url, Config()) as traces:
        assert traces.export(goal) == was
        traces.store.forget(goal)
        assert traces.goals() == []
