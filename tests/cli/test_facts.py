"""`groundwire facts` as its user types it: what it says, and with which exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.loopback import Loopback, Reply, chat
from typer.testing import CliRunner

from groundwire.cli import main
from groundwire.errors import GroundwireError

EVIDENCE = "Ada works in London. Acme was founded in 1987 by Jane Smith."
TRUE, FALSE = "Ada works in London.", "Ada works in Rome."


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "facts.db"
    monkeypatch.setenv("GROUNDWIRE_STORE__URL", str(path))
    monkeypatch.setenv("GROUNDWIRE_HALLUCINATION__BACKEND__TYPE", "fake")
    return path


@pytest.fixture
def service(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> Loopback:
    """A language model that does as it is told, on loopback."""
    monkeypatch.setenv("GROUNDWIRE_HALLUCINATION__BACKEND__TYPE", "openai")
    monkeypatch.setenv("GROUNDWIRE_OPENAI__BASE_URL", f"{loopback.url}/v1")
    monkeypatch.setenv("GROUNDWIRE_HALLUCINATION__MEMORY_GATE__TIMEOUT", "1s")
    monkeypatch.setenv("GROUNDWIRE_STORE__CACHE_PATH", "")
    return loopback


def facts(*arguments: object, stdin: str | bytes | None = None) -> tuple[int, str]:
    found = CliRunner().invoke(main.app, ["facts", *map(str, arguments)], input=stdin)
    if isinstance(found.exception, GroundwireError):
        return found.exception.exit_code, str(found.exception)
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout


@pytest.mark.spec("SPEC-08.15")
def test_a_fact_that_is_carried_is_kept() -> None:
    code, out = facts("add", TRUE, "-s", EVIDENCE)
    assert (code, out.splitlines()[0]) == (0, f"verified   0.95  {TRUE}")
    code, out = facts("list", "--json")
    (fact,) = json.loads(out)
    assert (code, fact["status"], fact["predicate"], fact["record"]["p1"]) == (0, "verified", "work in", 0.98)


@pytest.mark.spec("SPEC-08.16", "SPEC-08.18")
def test_a_fact_that_is_not_carried_is_refused_in_one_line() -> None:
    code, out = facts("add", FALSE, "-s", EVIDENCE)
    assert code == 1
    assert "bits of evidence are missing" in out
    assert "\n" not in out
    assert facts("list") == (0, "no facts\n")
    code, out = facts("rejected", "--json")
    (one,) = json.loads(out)
    assert (code, one["text"], one["verdict"]) == (0, FALSE, "NOT_IN_CONTEXT")
    assert one["status"] == "ErrFactNotGrounded"
    assert one["gap_bits"] > 2
    listed = facts("rejected")[1]
    assert listed.startswith("ErrFactNotGrounded")
    assert FALSE in listed


def test_a_refusal_as_json() -> None:
    code, out = facts("add", FALSE, "-s", EVIDENCE, "--json")
    said = json.loads(out)
    assert (code, said["status"]) == (1, "ErrFactNotGrounded")


def test_roles_make_a_fact_with_or_without_a_sentence() -> None:
    roles = ("--subject", "Ada", "--predicate", "works in", "--object", "London")
    assert facts("add", *roles, "-s", EVIDENCE)[0] == 0
    assert facts("add", TRUE, *roles, "-r", "since=2019", "-s", EVIDENCE)[0] == 0
    found = json.loads(facts("list", "--json")[1])
    assert [len(fact["roles"]) for fact in found] == [3, 2]


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        (("add", "", "-s", EVIDENCE), "no fact"),
        (("add", TRUE), "no sources"),
        (("add", TRUE, "-s", EVIDENCE, "--confidence", "1.5"), "between 0 and 1"),
        (("add", TRUE, "-s", EVIDENCE, "--subject", "Ada"), "predicate"),
        (("add", "--predicate", "p", "-r", "nothing", "-s", EVIDENCE), "NAME=VALUE"),
        (("add", "-", "-s", "-"), "stdin"),
        (("add", "missing.txt", "-s", EVIDENCE), "does not exist"),
        (("list", "--status", "wrong"), "unknown status"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(arguments: tuple[str, ...], about: str) -> None:
    facts("add", TRUE, "-s", EVIDENCE)
    code, out = facts(*arguments)
    assert (code, about in out, "\n" in out) == (2, True, False)


@pytest.mark.parametrize("command", ["list", "rejected", "verify-pending"])
def test_a_store_that_is_not_there_is_not_made_by_looking(command: str, store: Path) -> None:
    code, out = facts(command)
    assert (code, "no store" in out, store.exists()) == (2, True, False)


def test_a_file_that_is_no_store_is_left_alone(store: Path) -> None:
    store.write_text("my diary, which is not a database at all")
    assert facts("add", TRUE, "-s", EVIDENCE)[0] == 2
    assert store.read_text().startswith("my diary")


def test_unverified_on_request() -> None:
    code, out = facts("add", FALSE, "--no-verify")
    assert (code, out.split()[0]) == (0, "asserted")


def test_a_fact_from_stdin_of_any_bytes() -> None:
    assert facts("add", "-", "-s", EVIDENCE, stdin=TRUE.encode())[0] == 0
    assert facts("add", "-", "-s", EVIDENCE, stdin=b"\xff\xfe\x00 nothing")[0] in (1, 2)
    assert facts("add", "-", "-s", EVIDENCE, stdin=b"")[0] == 2


@pytest.mark.spec("SPEC-08.42", "SPEC-08.38")
def test_what_could_not_be_checked_is_kept_with_doubt(service: Loopback) -> None:
    service.script(Reply(hang=True))
    code, out = facts("add", TRUE, "-s", EVIDENCE)
    assert (code, out.splitlines()[0]) == (3, f"unverified 0.47  {TRUE}")
    assert "not checked in time" in out


@pytest.mark.spec("SPEC-08.42")
def test_a_rate_limit_is_waited_out_by_whoever_comes_later(service: Loopback) -> None:
    service.script(Reply("", 429))
    code, out = facts("add", TRUE, "-s", EVIDENCE)
    assert (code, out.split()[0]) == (3, "pending")
    code, out = facts("verify-pending")
    assert (code, out.splitlines()[-1]) == (3, "0 verified or rejected, 1 waiting")
    assert json.loads(facts("list", "--status", "pending", "--json")[1])[0]["text"] == TRUE


@pytest.mark.spec("SPEC-08.42")
def test_pending_facts_are_settled_once_the_backend_is_back(service: Loopback) -> None:
    service.script(Reply("", 429))
    facts("add", TRUE, "-s", EVIDENCE)
    facts("add", FALSE, "-s", EVIDENCE)
    service.script(lambda request: _reply(_opinion(str(request.body))))
    code, out = facts("verify-pending", "--json")
    outcomes = [json.loads(line)["outcome"] for line in out.splitlines()]
    assert (code, outcomes) == (1, ["verified", "rejected"])
    assert facts("verify-pending")[:1] == (0,)
    assert [fact["status"] for fact in json.loads(facts("list", "--json")[1])] == ["verified"]


def _reply(top: dict[str, float]) -> Reply:
    """A reply whose text is its likeliest answer, as a real server's is."""
    return chat(max(top, key=top.__getitem__), top=top)


def _opinion(asked: str) -> dict[str, float]:
    carried = "works in London" in asked.replace(f"{FALSE}", "") and FALSE not in asked
    return {"YES": 0.97, "NO": 0.02} if carried and "REMOVED" not in asked else {"YES": 0.05, "NO": 0.1, "UNSURE": 0.8}
