"""`check` with a knowledge base and a conversation: one report, repaired on request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from groundwire import check
from groundwire.cli import main
from groundwire.errors import GroundwireError, StoreError
from groundwire.stores.knowledge_base import Knowledge
from groundwire.stores.values import value_of
from groundwire.types import Attribute, Edit, Entity, Value
from groundwire.verdicts.repair import restore

ANSWER = "John Smith works in the Marketing department. The museum opened in 1901."
SOURCE = "The museum opened in 1901 and has 12 rooms."


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("kb") / "company.db"
    kb = Knowledge.open(str(path))
    kb.put_entity(Entity("j", "John Smith", "person", attributes=(Attribute("department", Value("Engineering")),)))
    kb.put_entity(Entity("e", "Engineering", "department"))
    kb.put_entity(Entity("m", "Marketing", "department"))
    kb.close()
    return str(path)


@pytest.fixture
def chat(tmp_path: Path) -> str:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "assistant", "content": "I booked the meeting for Monday."}]))
    return str(path)


def invoke(*arguments: str, stdin: str = "") -> Result:
    """What `groundwire …` does, errors told as `main` tells them."""
    return CliRunner().invoke(main.app, list(arguments), input=stdin)


def test_both_kinds_of_flag_stand_in_one_report(company: str, chat: str) -> None:
    answer = f"{ANSWER} As I mentioned, the meeting is on Friday. The museum has 90 rooms."
    found = invoke("check", answer, "-s", SOURCE, "--kb", company, "--history", chat, "--json")
    assert found.exit_code == 1
    report = json.loads(found.stdout)
    assert {"WrongAttribute", "ContradictsPrior"} <= {flag["type"] for flag in report["flags"]}
    assert any(claim["flagged"] and "90" in claim["text"] for claim in report["claims"])
    for flag in report["flags"]:
        assert flag["content"] in answer or " vs " in flag["content"]


def test_fix_repairs_both_and_the_original_comes_back(company: str) -> None:
    answer = f"{ANSWER} The museum has 90 rooms."
    report = json.loads(invoke("check", answer, "-s", SOURCE, "--kb", company, "--fix", "--json").stdout)
    repaired = report["repair"]["text"]
    assert "the Engineering department" in repaired
    assert "12 rooms" in repaired
    action = check("x.", "x.").repair
    assert action is None  # not asked for
    edits = report["repair"]["edits"]
    assert edits == sorted(edits, key=lambda e: e["start"])
    whole = check(answer, SOURCE, kb=company, fix=True).repair
    assert whole is not None
    assert all(isinstance(edit, Edit) for edit in whole.edits)
    assert restore(whole.text, whole.edits) == answer


def test_what_was_repaired_is_not_flagged_again(company: str) -> None:
    first = check(ANSWER, SOURCE, kb=company, fix=True)
    assert first.flagged
    assert first.repair is not None
    assert not check(first.repair.text, SOURCE, kb=company).flagged


def test_the_diff_is_printed(company: str) -> None:
    shown = invoke("check", ANSWER, "-s", SOURCE, "--kb", company, "--fix").stdout
    assert "-John Smith works in the Marketing department." in shown
    assert "+John Smith works in the Engineering department." in shown


def test_an_answer_of_which_nothing_is_left_is_said_to_be_so(company: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    answer = "John Smith does not work in the Engineering department."
    found = invoke("check", answer, "--kb", company, "--fix", "--html", str(page))
    assert "(nothing is left of it)" in found.stdout
    assert "(nothing is left of it)" in page.read_text()


def test_the_score_stands_beside_the_confidence(company: str) -> None:
    (flag,) = json.loads(invoke("check", ANSWER, "--kb", company, "--json").stdout)["flags"]
    assert flag["confidence"] == 0.9
    assert 0 < flag["score"] < 1


def test_a_report_is_printed_though_its_session_cannot_be_kept(company: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise StoreError("the store is locked")

    monkeypatch.setattr("groundwire.verdicts.paths.record", fails)
    found = invoke("check", ANSWER, "--kb", company, "--session", "s", "--json")
    assert isinstance(found.exception, StoreError)
    assert json.loads(found.stdout)["flags"]


def test_where_knowledge_and_conversation_disagree_a_person_decides(tmp_path: Path) -> None:
    path = str(tmp_path / "kb.db")
    with Knowledge.open(path) as kb:
        kb.put_entity(Entity("f", "Falcon", "robot", attributes=(Attribute("weight", value_of("12 kg")),)))
    said = "Assistant: Falcon weighs 14 kg."
    found = invoke("check", "Falcon weighs 15 kg.", "--kb", path, "--history", said, "--fix", "--json")
    repair = json.loads(found.stdout)["repair"]
    assert [action["type"] for action in repair["actions"]] == ["Escalate"]
    assert repair["text"] == "Falcon weighs 15 kg."
    page = tmp_path / "page.html"
    shown = invoke("check", "Falcon weighs 15 kg.", "--kb", path, "--history", said, "--fix", "--html", str(page))
    for text in (shown.stdout, page.read_text()):
        assert "two authorities disagree" in text


def test_no_sources_are_needed_where_there_is_knowledge(company: str) -> None:
    report = json.loads(
        invoke("check", "John Smith works in the Marketing department.", "--kb", company, "--json").stdout
    )
    assert report["flagged"] is True
    assert report["claims"] == []
    assert report["grounding_ratio"] is None


def test_what_is_known_is_not_flagged(company: str) -> None:
    found = invoke("check", "John Smith works in the Engineering department.", "--kb", company)
    assert found.exit_code == 0, found.stdout


def test_the_page_holds_the_flags_and_runs_nothing(company: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    evil = "John Smith works in the <script>alert(1)</script> Marketing department."
    invoke("check", evil, "--kb", company, "--html", str(page))
    assert "<script>" not in page.read_text()


def test_a_plain_check_has_no_detectors_in_it() -> None:
    assert "flags" not in json.loads(invoke("check", "It is red.", "-s", "It is red.", "--json").stdout)


def test_a_session_is_kept_by_path(company: str, chat: str, tmp_path: Path) -> None:
    store = tmp_path / "copy.db"
    store.write_bytes(Path(company).read_bytes())
    invoke("check", ANSWER, "--kb", str(store), "--history", chat, "--session", "s1", "--fix")
    found = invoke("kb", "paths", "/hallucination/s1/", "--kb", str(store), "--json")
    assert found.exit_code == 0, found.stdout
    assert "WrongAttribute" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("check", "It is red."), "nothing to check against"),
        (("check", "It is red.", "--kb", "/nowhere/at/all.db"), "no store at"),
        (("check", "-", "--history", "-"), "only one of"),
        (("check", "It is red.", "--history", "[1"), "not valid JSON"),
        (("check", "It is red.", "--history", "[]"), "the history is empty"),
        (("check", "It is red.", "--history", "User: Hi", "--session", " "), "--session must not be empty"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], says: str) -> None:
    found = invoke(*arguments)
    assert isinstance(found.exception, GroundwireError)
    assert found.exception.exit_code == 2
    assert says in str(found.exception)


def test_a_batch_row_may_carry_its_history(tmp_path: Path) -> None:
    rows, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    row = {
        "response": "As I mentioned, the meeting is on Friday.",
        "context": "The meeting room is on the second floor.",
        "history": [{"role": "assistant", "content": "I booked the meeting for Monday."}],
    }
    rows.write_text(json.dumps(row) + "\n" + json.dumps({**row, "history": 3}) + "\n")
    invoke("batch", str(rows), "-o", str(out))
    first, second = (json.loads(line) for line in out.read_text().splitlines())
    assert [flag["type"] for flag in first["flags"]] == ["ContradictsPrior"]
    assert "history" in second["error"]


@pytest.mark.parametrize("answer", ["- The museum has 12 rooms.", "-5 °C is the limit."])
def test_an_answer_may_begin_with_a_dash(answer: str) -> None:
    source = answer.lstrip("- ") if answer.startswith("- ") else answer
    found = invoke("check", answer, "--json", "-s", source)
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["claims"][0]["text"] in answer


def test_a_misspelt_option_is_still_an_error() -> None:
    assert invoke("check", "It is so.", "--sorce", SOURCE).exit_code == 2


def test_a_source_may_begin_with_a_dash() -> None:
    found = invoke("check", "The museum has 12 rooms.", "-s", "- The museum has 12 rooms.", "--json")
    assert found.exit_code == 0, found.output
