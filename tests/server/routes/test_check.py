"""`POST /v1/check` on a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.serving import Served
from typer.testing import CliRunner

from groundwire.cli.main import app

ANSWER = "Acme was founded in 1987 [S0]. It has 400 employees. Shall we go on?"
SOURCE = "Acme was founded in 1987 in Berlin. It has 40 employees."


def check(server: Served, **asked: Any) -> Any:
    answer = server.client.post("/v1/check", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_response_equals_the_command_line_byte_for_byte(server: Served, tmp_path: Path) -> None:
    asked = {"response": ANSWER, "sources": {"S0": SOURCE}, "question": "Who is Acme?"}
    given = server.client.post("/v1/check", json=asked)
    (tmp_path / "S0").write_text(SOURCE)
    printed = CliRunner().invoke(app, ["check", ANSWER, "-s", SOURCE, "-q", "Who is Acme?", "--json"])
    assert given.text == printed.stdout
    assert given.headers["content-type"] == "application/json"
    assert given.json()["flagged"] is True


@pytest.mark.parametrize(
    "sources",
    [
        {"sources": {"S0": SOURCE}},
        {"sources": [SOURCE]},
        {"sources": [{"id": "S0", "text": SOURCE}]},
        {"sources": [{"text": SOURCE}]},
    ],
)
def test_sources_come_in_several_shapes(plain: Served, sources: dict[str, Any]) -> None:
    asked = {"response": "Acme was founded in 1987 in Berlin.", **sources}
    (claim,) = check(plain, **asked)["claims"]
    assert (claim["status"], claim["evidence"][0]["source"]) == ("ENTAILED", "S0")


def test_a_context_is_one_source_of_that_name(plain: Served) -> None:
    (claim,) = check(plain, answer="It has 40 employees.", context=SOURCE)["claims"]
    assert claim["evidence"][0]["source"] == "context"


def test_target_and_profile_are_the_callers_choice(plain: Served) -> None:
    found = check(plain, response="It has 40 employees.", context=SOURCE, target=0.5, profile="strict", id="x7")
    assert (found["id"], found["profile"], found["claims"][0]["confidence"]) == ("x7", "strict", 0.5)
    assert check(plain, response="It has 40 employees.", context=SOURCE)["profile"] == "default"


def test_an_answer_is_repaired_where_that_is_asked_for(server: Served) -> None:
    found = check(server, response="Acme was founded in 1987. It has 400 employees.", context=SOURCE, fix=True)
    assert "400" not in found["repair"]["text"]


def test_a_history_alone_is_checked_against(plain: Served) -> None:
    said = [{"role": "assistant", "content": "The launch was on 5 May 2021.", "tool_calls": []}]
    found = check(plain, response="The launch was on 6 June 2022.", history=said)
    assert "flags" in found


def test_the_knowledge_base_is_the_servers_own(plain: Served) -> None:
    assert "flags" in check(plain, response="Acme was founded in 1987 in Berlin.", context=SOURCE, kb=True)


def test_no_caller_names_a_file_of_the_server(plain: Served, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("The password is swordfish.")
    answer = plain.client.post("/v1/check", json={"response": "Hi there, friend.", "kb": str(secret)})
    assert answer.status_code == 422
    asked = {"response": "The password is swordfish.", "sources": [str(secret)]}
    assert check(plain, **asked)["flagged"] is True, "the path itself is the source's text"


@pytest.mark.parametrize(
    ("asked", "pointer"),
    [
        ({}, ""),
        ({"response": "a", "answer": "b", "context": "c"}, ""),
        ({"response": "a", "context": "c", "sources": []}, ""),
        ({"response": "a", "context": "c", "target": 1.5}, "/target"),
        ({"response": "a", "context": "c", "profile": "lenient"}, "/profile"),
        ({"response": "a", "context": "c", "backend": "openai"}, "/backend"),
        ({"response": "a", "context": "c", "fix": "yes"}, "/fix"),
        ({"response": "a", "sources": {"S/0": 5}}, "/sources/S~10"),
        ({"response": "a", "sources": [{"id": "S0"}]}, "/sources/0"),
        ({"response": "a", "sources": "a text"}, "/sources"),
    ],
)
def test_invalid_fields_are_listed(plain: Served, asked: dict[str, Any], pointer: str) -> None:
    answer = plain.client.post("/v1/check", json=asked)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_an_empty_answer_is_a_problem_with_a_reason(plain: Served) -> None:
    answer = plain.client.post("/v1/check", json={"response": "  ", "context": SOURCE})
    assert (answer.status_code, answer.json()["detail"]) == (422, "the answer is empty")


def test_texts_of_any_language_come_back_as_they_are(plain: Served) -> None:
    text = "החברה נוסדה בשנת 1987 😀."
    asked = json.dumps({"response": text, "context": text})
    answer = plain.client.post("/v1/check", content=asked, headers={"content-type": "application/json"})
    assert text.encode() in answer.content
