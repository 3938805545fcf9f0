"""`groundwire audit` as its user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from groundwire.agent.reasoning import ReasoningTraces
from groundwire.cli.main import app
from groundwire.errors import InputError
from groundwire.stores.database import open_database

STRAW = {
    "question": "How many r's are in strawberry?",
    "steps": ["The letter r stands at positions 3, 8 and 9.", "So there are 3 r's in strawberry."],
    "answer": "2",
}


def invoke(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["audit", *arguments], input=stdin, catch_exceptions=True)


@pytest.fixture
def straw(tmp_path: Path) -> str:
    path = tmp_path / "straw.json"
    path.write_text(json.dumps(STRAW), encoding="utf-8")
    return str(path)


@pytest.mark.spec("SPEC-08.25")
def test_the_exit_code_is_the_verdict(straw: str) -> None:
    wrong = invoke(straw)
    assert wrong.exit_code == 1
    assert "the answer does not follow from the steps" in wrong.stdout
    assert "derived again by the verifier 'local' (no language model)" in wrong.stdout
    assert invoke(straw, "--answer", "3").exit_code == 0


def test_the_report_as_json(straw: str) -> None:
    found = json.loads(invoke(straw, "--json").stdout)
    assert (found["flagged"], found["post_hoc"]["outcome"]) == (True, "post_hoc")
    assert [(step["id"], step["status"]) for step in found["steps"]] == [
        ("step1", "ENTAILED"), ("step2", "ENTAILED"),
    ]  # fmt: skip


def test_sources_question_and_answer_can_be_given_beside_a_plain_text(tmp_path: Path) -> None:
    guide = tmp_path / "guide.md"
    guide.write_text("The Eiffel Tower is 330 metres tall.", encoding="utf-8")
    done = invoke(
        "-", "-s", str(guide), "-q", "How tall is the Eiffel Tower?", "--answer", "330 m", "--json",
        stdin="1. The Eiffel Tower is 330 metres tall [S0].\n2. The Eiffel Tower is 999 metres tall.",
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert [step["status"] for step in found["steps"]] == ["ENTAILED", "CONTRADICTED"]
    assert found["steps"][1]["contradicts"] == ["step1"]
    assert done.exit_code == 1


def test_the_report_as_a_page_holds_no_markup_of_the_trace(tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    trace = {"question": "<b>?</b>", "steps": ["<script>alert(1)</script> is so."], "answer": "<i>"}
    invoke(json.dumps(trace), "--html", str(page))
    text = page.read_text(encoding="utf-8")
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "default-src 'none'" in text


def test_an_audit_can_be_kept_and_asked_again(store_url: str, tmp_path: Path) -> None:
    trace = {**STRAW, "steps": [*STRAW["steps"], {"claim": "It is red.", "cites": ["S9"]}]}
    assert invoke(json.dumps(trace), "--store", store_url).exit_code == 1
    with ReasoningTraces(open_database(store_url)) as traces:
        (goal,) = traces.goals()
        report = traces.get_verification_report(goal.id)
        assert (report.goal, report.total_claims, report.verified) == (STRAW["question"], 3, 2)
        assert [gap.gap_type.value for gap in report.gaps] == ["phantom_citation"]
        exported = tmp_path / "kept.json"
        exported.write_text(json.dumps(traces.export(goal.id)), encoding="utf-8")
    again = json.loads(invoke(str(exported), "--json").stdout)
    assert [step["status"] for step in again["steps"]] == ["ENTAILED", "ENTAILED", "NOT_IN_CONTEXT"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (['{"steps": ['], "not valid JSON"),
        (["[1, 2]"], "step 1 must be a string"),
        (["nowhere.json"], "does not exist"),
        (["-", "-s", "-"], "only one of trace and sources"),
        (['{"steps": ["x y"], "sources": {"S0": "a"}}', "-s", "b c"], "two sources have the id S0"),
        (["1. One is so.", "--html", "/nowhere/x.html"], "cannot write"),
    ],
)
def test_what_cannot_be_audited_is_one_line(arguments: list[str], complaint: str) -> None:
    done = invoke(*arguments)
    assert isinstance(done.exception, InputError)
    assert complaint in str(done.exception)
    assert done.exception.exit_code == 2


def test_a_full_disk_is_said_and_no_verdict(straw: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "groundwire.cli.main", "audit", straw],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert "No space left" in done.stderr


def test_what_an_agent_says_it_did_is_compared_with_its_calls(tmp_path: Path) -> None:
    call = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "pytest"}'}}
    messages = [
        {"role": "user", "content": "Run the tests."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "1 failed, 3 passed"},
        {"role": "assistant", "content": "All tests pass."},
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    found = invoke(str(path), "--backend", "fake", "--json")
    assert found.exit_code == 1
    (action,) = json.loads(found.stdout)["actions"]
    assert (action["status"], action["flagged"]) == ("contradicted", True)
    shown = invoke(str(path), "--backend", "fake", "--html", str(tmp_path / "audit.html"))
    assert "1 of 1 stated actions" in shown.stdout
    assert "contradicted" in (tmp_path / "audit.html").read_text(encoding="utf-8")
