"""`groundwire bench rules`: fires, precision, base rate and flips of a rule."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from groundwire.bench.measures import DataSet, LabelledRow
from groundwire.bench.rules import is_right, measure_rule
from groundwire.types import Estimate, Query
from groundwire.verifiers.rules import Rule, RuleResult


class AlwaysNo:
    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        return [Estimate.point(0.2, 0.1, "test") for _ in queries]


def row(claim: str, *, bad: bool, denied: bool | None = None) -> LabelledRow:
    return LabelledRow(claim, "pair", "context", claim, bad, None, claim, denied=denied)


async def test_a_rule_is_counted_by_what_it_says_and_changes() -> None:
    def says_yes_to_doors(query: Query) -> RuleResult | None:
        return RuleResult("supported", "a door") if "door" in query.claim else None

    rows = (row("The door is red.", bad=False), row("The door is blue.", bad=True), row("The lamp is on.", bad=True))
    rule = Rule("doors", says_yes_to_doors, 0.9, 30, frozenset({"en"}))
    found = await measure_rule(rule, DataSet("made", rows), AlwaysNo())
    assert (found.rows, found.fires, found.precision) == (3, 2, 0.5)
    assert (found.flips_right, found.flips_wrong) == (1, 1)
    assert found.base_rate == pytest.approx(1 / 3)


def test_contradicted_is_not_right_where_the_source_is_silent() -> None:
    denies = RuleResult("contradicted", "")
    assert is_right(row("a", bad=True, denied=True), denies)
    assert not is_right(row("a", bad=True, denied=False), denies)
    assert is_right(row("a", bad=True), denies)
    assert not is_right(row("a", bad=False), denies)


def test_the_command_prints_a_line_per_rule_and_set(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from groundwire.cli.main import app

    pytest.importorskip("onnxruntime")
    context = "If the alarm is armed, the door is locked. The alarm is armed."
    raw = {"id": "1", "task": "pair", "context": context, "claim": "The door is locked.", "label": 1}
    with gzip.open(tmp_path / "dev.made.jsonl.gz", "wt") as out:
        out.write(json.dumps(raw) + "\n")
    done = CliRunner().invoke(app, ["bench", "rules", "--data", str(tmp_path), "--json", str(tmp_path / "out.json")])
    assert done.exit_code == 0
    found, *others = json.loads((tmp_path / "out.json").read_text())
    assert [(other["rule"], other["fires"]) for other in others] == [("verbatim", 0), ("hours", 0), ("count", 0)]
    assert (found["rule"], found["set"], found["fires"], found["precision"]) == ("logic", "made", 1, 1.0)
