"""`groundwire keys` from a terminal."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from groundwire.cli.main import app
from groundwire.errors import InputError


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["keys", *arguments])
    return result.exit_code, result.stdout


def test_a_key_is_shown_once(monkeypatch: object) -> None:
    code, token = run("add", "ci", "--scope", "check", "--scope", "rag", "--per-minute", "30")
    assert (code, token.count("\n")) == (0, 1), "a script can take the whole of standard output"
    assert token.startswith("gw_")
    listed = run("list")[1]
    assert "check, rag" in listed
    assert token.strip().split("_", 2)[2] not in listed
    (kept,) = json.loads(run("list", "--json")[1])
    assert (kept["name"], kept["per_minute"], kept["revoked"]) == ("ci", 30, None)
    assert run("revoke", "ci") == (0, "ci is revoked\n")
    assert json.loads(run("list", "--json")[1])[0]["revoked"]


def test_no_keys() -> None:
    assert run("list") == (0, "no keys\n")


def test_what_is_wrong_is_one_line() -> None:
    for arguments, said in (
        (["add", "ci", "--scope", "everything"], "unknown scope 'everything'"),
        (["add", "ci"], "a key needs a scope"),
        (["revoke", "ci"], "there is no key ci"),
    ):
        result = CliRunner().invoke(app, ["keys", *arguments])
        assert isinstance(result.exception, InputError)
        assert said in str(result.exception)
