"""`groundwire rag` as its user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.loopback import Loopback, chat
from typer.testing import CliRunner

from groundwire._optional import load
from groundwire.cli import main
from groundwire.errors import GroundwireError, MissingExtra
from groundwire.rag import index

ASKED = "What is the deposit for the hall?"


def groundwire(*arguments: object) -> tuple[int, str, str]:
    found = CliRunner().invoke(main.app, ["rag", *map(str, arguments)])
    if isinstance(found.exception, GroundwireError):
        return found.exception.exit_code, found.stdout, found.stderr + str(found.exception)
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout, found.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "fees.md").write_text("# Fees\nThe deposit for the hall is 500 shekels.")
    (folder / "hours.md").write_text("# Hours\nThe hall opens at eight.")
    return folder


@pytest.fixture
def model(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> Loopback:
    monkeypatch.setenv("GROUNDWIRE_OPENAI__BASE_URL", f"{loopback.url}/v1")
    monkeypatch.setenv("GROUNDWIRE_GENERATOR__PROVIDER", "openai")
    monkeypatch.setenv("GROUNDWIRE_GENERATOR__MODEL", "scripted")
    return loopback


def test_ingest_list_remove(folder: Path) -> None:
    assert groundwire("ingest", folder)[:2] == (0, "2 added; 2 new passages\n")
    assert groundwire("ingest", folder)[:2] == (0, "2 unchanged; 0 new passages\n")
    code, out, _ = groundwire("list")
    assert (code, out.splitlines()[0]) == (0, f"{folder}/fees.md  1 passage, 47 characters")
    assert [Path(d["id"]).name for d in json.loads(groundwire("list", "--json")[1])] == ["fees.md", "hours.md"]
    assert groundwire("remove", folder / "fees.md")[:2] == (0, "1 removed\n")
    code, _, said = groundwire("remove", folder / "fees.md")
    assert (code, "there is no document" in said) == (2, True)
    (folder / "hours.md").unlink()
    (folder / "new.md").write_text("Parking is free.")
    assert groundwire("ingest", folder, "--prune")[:2] == (0, "2 added, 1 removed; 2 new passages\n")


def test_what_cannot_be_read_is_said(folder: Path) -> None:
    (folder / "empty.txt").write_text("")
    code, out, said = groundwire("ingest", folder)
    assert (code, out) == (1, "2 added, 1 left out; 2 new passages\n")
    assert f"left out: {folder}/empty.txt is empty" in said
    code, _, said = groundwire("ingest", folder / "none")
    assert (code, "does not exist" in said) == (2, True)


def test_a_question_answered_and_checked(folder: Path, model: Loopback) -> None:
    groundwire("ingest", folder)
    model.script(chat("The deposit for the hall is 500 shekels [S0]."))
    code, out, _ = groundwire("ask", ASKED)
    assert code == 0
    assert out.startswith("The deposit for the hall is 500 shekels [S0].\n")
    assert f"[S0] fees.md › Fees  {folder}/fees.md:7-47" in out
    assert "✓ The deposit for the hall is 500 shekels. [S0]" in out


def test_a_wrong_answer_is_exit_code_one(folder: Path, model: Loopback) -> None:
    groundwire("ingest", folder)
    model.script(chat("The deposit for the hall is 900 shekels [S0]."))
    code, out, _ = groundwire("ask", ASKED)
    assert (code, "✗ The deposit for the hall is 900 shekels." in out) == (1, True)
    code, out, _ = groundwire("ask", ASKED, "--json")
    assert (code, json.loads(out)["hallucination_check"]["overall_grounded"]) == (1, False)


def test_an_answer_that_asserts_nothing_is_not_clean(folder: Path, model: Loopback) -> None:
    groundwire("ingest", folder)
    model.script(chat("The documents do not say how much the deposit is."))
    assert groundwire("ask", ASKED)[0] == 3


def test_nothing_found_is_said(folder: Path, model: Loopback) -> None:
    groundwire("ingest", folder)
    code, out, _ = groundwire("ask", "Who painted the Mona Lisa?")
    assert (code, model.requests) == (0, [])
    assert "The documents say nothing about this." in out


def test_control_characters_of_a_model_do_not_reach_the_terminal(folder: Path, model: Loopback) -> None:
    groundwire("ingest", folder)
    model.script(chat("The deposit is \x1b[31m500\x1b[0m shekels \x07[S0]."))
    assert "\x1b" not in groundwire("ask", ASKED)[1]


def test_without_an_index_or_a_model_one_line_says_what_to_do(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, said = groundwire("ask", ASKED, "--index", tmp_path / "none.db")
    assert (code, "groundwire rag ingest" in said) == (2, True)
    groundwire("ingest", folder, "--index", tmp_path / "own.db")

    def missing(*_: object, **__: object) -> None:
        raise MissingExtra("the local model", "llm")

    monkeypatch.setattr("groundwire.llm.open_generator", missing)
    code, _, said = groundwire("ask", ASKED, "--index", tmp_path / "own.db")
    assert (code, "pip install 'groundwire[llm]'" in said) == (2, True)


def test_without_the_extra_words_alone_find_and_that_is_said(
    folder: Path, model: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    present = load

    def missing(name: str, *, feature: str, extra: str) -> object:
        if extra == "rag":
            raise MissingExtra("searching by meaning", "rag")
        return present(name, feature=feature, extra=extra)

    monkeypatch.setattr(index, "load", missing)
    index.default_embedder.cache_clear()
    try:
        model.script(chat("The deposit for the hall is 500 shekels [S0]."))
        code, _, said = groundwire("ingest", folder)
        assert (code, "by keywords only: pip install 'groundwire[rag]'" in said) == (0, True)
        assert groundwire("ask", ASKED)[0] == 0
    finally:
        index.default_embedder.cache_clear()
