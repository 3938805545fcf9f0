"""Two runs of a batch, compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from groundwire.cli.main import app
from groundwire.reports.batch import mcnemar


def report(name: str, *claims: tuple[str, str, float], flagged: bool | None = False) -> dict[str, Any]:
    made = [
        {"text": text, "status": status, "p1": p1, "flagged": status in ("CONTRADICTED", "NOT_IN_CONTEXT")}
        for text, status, p1 in claims
    ]
    return {"id": name, "flagged": flagged, "claims": made}


def write(path: Path, *reports: object) -> str:
    path.write_text("".join(f"{json.dumps(one)}\n" for one in reports), encoding="utf-8")
    return str(path)


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    first = [
        report("same", ("It is red.", "ENTAILED", 0.9)),
        report("mended", ("It is tall.", "CONTRADICTED", 0.1), ("It is old.", "ENTAILED", 0.9), flagged=True),
        report("worse", ("It is new.", "ENTAILED", 0.9), ("It is big.", "CONTRADICTED", 0.1)),
        report("lost", flagged=True),
        report("gone"),
    ]
    second = [
        report("same", ("It is red.", "ENTAILED", 0.8)),
        report("mended", ("It is tall.", "ENTAILED", 0.8)),
        report("worse", ("It is new.", "NOT_IN_CONTEXT", 0.2), ("It is big.", "NOT_IN_CONTEXT", 0.2), flagged=True),
        report("lost", flagged=None),
        report("fresh"),
    ]
    return [write(tmp_path / "1.jsonl", *first), write(tmp_path / "2.jsonl", *second)]


def test_a_comparison_says_what_changed_and_which_claims_flipped(runs: list[str]) -> None:
    found = CliRunner().invoke(app, ["compare", *runs])
    assert found.exit_code == 1
    words = " ".join(found.stdout.split())
    for said in (
        "4 responses in both runs: 50 % → 25 % flagged",
        "1 no longer flagged, 1 newly flagged (McNemar's exact test: p = 1)",
        "no longer flagged: mended",
        "newly flagged: worse",
        "could not be checked in one of the runs: lost",
        "only in the first run: gone",
        "only in the second run: fresh",
        "4 claims in both: 2 flipped, 1 with another verdict; 1 gone, 0 new",
        "mended: contradicted → supported (10 % → 80 %) It is tall.",
        "worse: contradicted → not in the sources (10 % → 20 %) It is big.",
    ):
        assert said in words


def test_the_json_of_a_comparison_lists_every_change(runs: list[str]) -> None:
    found = json.loads(CliRunner().invoke(app, ["compare", *runs, "--json"]).stdout)
    assert (found["cleared"], found["broken"], found["p_value"]) == (["mended"], ["worse"], 1.0)
    assert [change["flipped"] for change in found["changes"]] == [True, True, False]


def test_nothing_newly_flagged_exits_with_0(runs: list[str]) -> None:
    assert CliRunner().invoke(app, ["compare", runs[0], runs[0]]).exit_code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense\n", "line 1 is not a report"),
        ('{"id": "a", "flagged": null, "claims": []}\n' * 2, "occurs twice"),
        ('{"id": "other", "flagged": null, "claims": []}\n', "no response in common"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(runs: list[str], tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "bad.jsonl").write_text(text, encoding="utf-8")
    found = CliRunner().invoke(app, ["compare", runs[0], str(tmp_path / "bad.jsonl")])
    assert said in str(found.exception)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_a_probability_that_falls_as_the_split_grows_uneven(few: int, more: int) -> None:
    assert 0.0 < mcnemar(few, few + more) <= 1.0
    assert mcnemar(few, few + more) == mcnemar(few + more, few)
    assert mcnemar(few, few + more + 1) <= mcnemar(few, few + more) + 1e-12
