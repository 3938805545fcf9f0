"""The terminal, as its user meets it: real processes for what only a process shows, calls for the rest."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest
from rich.text import Text
from tests.loopback import Loopback, Reply, chat, do_without, refusal
from typer.testing import CliRunner

from groundwire.cli import doctor, main
from groundwire.cli.console import open_console
from groundwire.config import Config
from groundwire.errors import GroundwireError, MissingExtra
from groundwire.llm.gguf import model_path
from groundwire.version import __version__

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "The population of France is 67 million. Paris is the capital of France."


def groundwire(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    """Run a command in this process; errors become exit codes as `main` makes them."""
    found = CliRunner().invoke(main.app, list(arguments), input=stdin)
    if isinstance(found.exception, GroundwireError):
        return found.exception.exit_code, found.stdout, str(found.exception)
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout, found.stderr


def check(answer: str, source: str = SOURCE, *more: str) -> tuple[int, str, str]:
    return groundwire("check", answer, "-s", source, *more)


def test_exit_codes_tell_fine_from_flagged() -> None:
    assert check("Paris is the capital of France.")[0] == 0
    assert check("The population of France is 999 million.")[0] == 1


def test_json_is_the_contract_s_object() -> None:
    code, out, _ = check("The population of France is 999 million.", SOURCE, "--json")
    found = json.loads(out)
    assert code == 1
    assert found["claims"][0]["status"] == "CONTRADICTED"
    assert found["backend"] == "local"
    answer = "The population of France is 999 million."
    assert all(answer[s["start"] : s["end"]] for s in found["spans"])


def test_the_page_is_written_whole(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    check("The population of France is 999 million.", SOURCE, "--html", str(page))
    assert "999 million" in page.read_text(encoding="utf-8")
    code, _, error = check("x is y.", SOURCE, "--html", str(tmp_path / "no" / "page.html"))
    assert code == 2
    assert "cannot write" in error


def test_files_folders_stdin_and_plain_text(tmp_path: Path) -> None:
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "a.txt").write_text(SOURCE)
    (tmp_path / "answer.md").write_text("Paris is the capital of France.")
    assert groundwire("check", str(tmp_path / "answer.md"), "-s", str(tmp_path / "sources"))[0] == 0
    assert groundwire("check", "-", "-s", SOURCE, stdin="Paris is the capital of France.")[0] == 0
    assert groundwire("check", "Paris is the capital of France.", "-s", "-", stdin=SOURCE)[0] == 0
    assert groundwire("check", "-", "-s", "-", stdin=SOURCE)[0] == 2


@pytest.fixture
def bad(tmp_path: Path) -> dict[str, str]:
    files = {
        "empty": b"", "binary": b"\x7fELF\x00\x01\x02", "latin": "caf\xe9 au lait".encode("latin-1"),
        "json": b'{"a": ', "pdf": b"%PDF-1.4 broken", "docx": b"PK\x03\x04 broken",
    }  # fmt: skip
    suffix = {"json": ".json", "pdf": ".pdf", "docx": ".docx"}
    paths = {}
    for name, content in files.items():
        path = tmp_path / f"{name}{suffix.get(name, '.txt')}"
        path.write_bytes(content)
        paths[name] = str(path)
    huge = tmp_path / "huge.txt"
    with huge.open("wb") as file:
        file.truncate(50_000_000)
    (tmp_path / "folder").mkdir()
    return {**paths, "huge": str(huge), "folder": str(tmp_path / "folder"), "missing": str(tmp_path / "none.txt")}


@pytest.mark.parametrize("name", ["empty", "binary", "latin", "json", "pdf", "docx", "huge", "folder", "missing"])
def test_a_bad_source_is_exit_code_two_and_one_line_that_says_what_to_do(bad: dict[str, str], name: str) -> None:
    code, out, error = check("Paris is the capital of France.", bad[name])
    assert code == 2
    assert out == ""
    assert "\n" not in error.strip()
    assert ":" in error


@pytest.mark.parametrize("name", ["empty", "binary", "latin", "huge", "folder", "missing"])
def test_a_bad_answer_too(bad: dict[str, str], name: str) -> None:
    code, _, error = check(bad[name])
    assert code == 2
    assert "\n" not in error.strip()


@pytest.mark.parametrize("arguments", [["--target", "1.5"], ["--profile", "lax"], ["--backend", "gpt"]])
def test_a_bad_option_names_itself(arguments: list[str]) -> None:
    code, _, error = check("Paris is the capital of France.", SOURCE, *arguments)
    assert code == 2
    assert arguments[1] in error


def test_a_backend_that_is_gone_is_exit_code_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDWIRE_EXTERNAL__URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GROUNDWIRE_LIMITS__RETRIES", "0")
    code, out, _ = check("Paris is the capital of France.", SOURCE, "--backend", "external", "--json")
    found = json.loads(out)
    assert code == 3
    assert found["flagged"] is None
    assert found["claims"][0]["status"] == "UNCHECKED"
    assert found["error"]


def test_rag_profile_prints_the_chatbot_s_object() -> None:
    _, out, _ = check("Paris is the capital of France [S0].", SOURCE, "--profile", "rag", "--json")
    found = json.loads(out)["hallucination_check"]
    assert found["overall_grounded"] is True


@pytest.fixture
def _no_local_llm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor would start it."""
    monkeypatch.setitem(doctor.EXTRAS, "llm", "no_such_module")


@pytest.mark.usefixtures("_no_local_llm")
def test_doctor_says_what_is_there() -> None:
    code, out, _ = groundwire("doctor")
    assert code == 0
    assert "backend local" in out
    assert "[openai]" in out


def test_errors_are_one_line_without_a_traceback_from_a_real_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "groundwire", "check", "It is red.", "-s", str(tmp_path / "no.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("groundwire: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_terminal_without_unicode_gets_escapes() -> None:
    command = [sys.executable, "-m", "groundwire.cli.main", "check", "Café Ω is 9 m tall.", "-s", "Café Ω is 3 m tall."]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert done.returncode == 1, done.stderr
    assert b"Caf\\xe9" in done.stdout


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A real shell, in which `$GW` is the command and `$S` a source."""
    names = {"GW": f"{sys.executable} -m groundwire.cli.main", "S": SOURCE}
    command = ["bash", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env={**os.environ, **names})


@pytest.mark.parametrize("script", ['$GW check "$S" -s "$S" --json > /dev/full', "$GW doctor > /dev/full"])
def test_a_full_disk_is_one_line_and_never_a_verdict(tmp_path: Path, script: str) -> None:
    done = shell(script, tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("groundwire: cannot write")
    assert len(done.stderr.splitlines()) == 1


def test_the_exit_code_is_the_verdict_s_though_nobody_reads_the_report(tmp_path: Path) -> None:
    script = 'for out in "" --json; do $GW check "$S" -s "$S" $out | true; echo ${PIPESTATUS[0]}; done'
    done = shell(script, tmp_path)
    assert done.stdout.split() == ["0", "0"]
    assert done.stderr == ""
    assert shell('$GW check "$S" -s "$S" --json >&-', tmp_path).returncode == 0


def test_a_closed_stdin_is_an_empty_one(tmp_path: Path) -> None:
    done = shell('$GW check - -s "$S" <&-', tmp_path)
    assert (done.returncode, done.stderr) == (2, "groundwire: the answer on stdin is empty: give some text\n")


def test_what_a_shell_pipes_in_under_a_name_is_read(tmp_path: Path) -> None:
    done = shell('$GW check <(echo "$S") -s <(echo "$S")', tmp_path)
    assert done.returncode == 0, done.stderr


def test_files_left_out_of_a_folder_are_named(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(b"\x00\x01")
    code, _, error = check("Paris is the capital of France.", str(tmp_path))
    assert code == 2
    assert "b.txt is a binary file" in error
    assert len(error.splitlines()) == 1
    (tmp_path / "a.txt").write_text(SOURCE)
    code, _, error = check("Paris is the capital of France.", str(tmp_path))
    assert code == 0
    assert error.splitlines() == [f"groundwire: left out: {tmp_path}/b.txt is a binary file"]


def test_a_source_is_cited_by_its_file_s_name(tmp_path: Path) -> None:
    (tmp_path / "facts.txt").write_text(SOURCE)
    (tmp_path / "other.txt").write_text("Rome is in Italy.")
    answer = "Paris is the capital of France [facts.txt]. Rome is in Italy (facts.txt). It is old [no.pdf]."
    _, out, _ = check(answer, str(tmp_path), "--json")
    found = json.loads(out)["claims"]
    assert [claim["citations"] for claim in found] == [["facts.txt"], ["facts.txt"], ["no.pdf"]]
    assert [claim["flagged"] for claim in found] == [False, True, True]
    assert found[2]["gap_type"] == "phantom_citation"


def test_a_name_alone_answers_a_question(tmp_path: Path) -> None:
    assert check("Lyon", SOURCE, "-q", "What is the capital of France?")[0] == 1
    assert check("Paris", SOURCE, "-q", "What is the capital of France?")[0] == 0


def test_the_version_is_asked_for_as_everywhere() -> None:
    assert groundwire("--version")[:2] == (0, f"groundwire {__version__}\n")


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, groundwire; print(','.join(m for m in ('numpy', 'pydantic', 'rich', 'lxml') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_an_unexpected_error_is_exit_code_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for error in (RuntimeError("a bug"), EOFError("a bug"), UnicodeError("a bug"), OSError(5, "a bug")):

        def fail(*_: object, error: Exception = error) -> NoReturn:
            raise error

        monkeypatch.setattr(doctor, "diagnose", fail)
        monkeypatch.setattr(sys, "argv", ["groundwire", "doctor"])
        with pytest.raises(SystemExit) as ended:
            main.main()
        assert ended.value.code == 3
        said = capsys.readouterr().err
        assert "a bug" in said
        assert said.splitlines()[-1].startswith("groundwire: an unexpected error")


def test_a_page_in_an_unknown_encoding_is_one_line(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(b"<html><meta charset=undefined><p>Paris is the capital of France.")
    code, _, error = check("Paris is the capital of France.", str(page))
    assert code == 2
    assert "unknown encoding 'undefined'" in error


def test_names_cannot_steer_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a\x1b]0;owned\x07\x9b31m.csv"
    path.write_bytes(b"name\n\xff\n")
    monkeypatch.setenv("GROUNDWIRE_STORE__URL", str(tmp_path / "store.db"))
    for arguments in (["check", "x", "-s", str(path)], ["check", f"--{path}"], ["kb", "import", str(path)]):
        monkeypatch.setattr(sys, "argv", ["groundwire", *arguments])
        with pytest.raises(SystemExit):
            main.main()
        shown = capsys.readouterr()
        assert "owned" in shown.err
        assert not set(shown.out + shown.err) & {"\x1b", "\x07", "\x9b"}


def test_what_is_printed_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    open_console().print("name\x1b[2J\x9b", Text("text\x1b", style="red"))
    assert capsys.readouterr().out == "name\ufffd[2J\ufffd text\ufffd\n"


@pytest.mark.usefixtures("_no_local_llm")
def test_doctor_shows_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("http://ann:hunter2@127.0.0.1:9/?k=hunter2", "http://ann:hunter2:x@127.0.0.1"):
        monkeypatch.setenv("GROUNDWIRE_EXTERNAL__URL", url)
        monkeypatch.setenv("GROUNDWIRE_HALLUCINATION__BACKEND__TYPE", "fake")
        _, out, _ = groundwire("doctor")
        assert "external" in out
        assert "hunter2" not in out


def found_by_doctor(subject: str, **given: object) -> doctor.DoctorFinding:
    config = Config.load(None, {"hallucination.backend.type": "fake", **given})
    (found,) = [finding for finding in doctor.diagnose(config) if finding.subject == subject]
    return found


@pytest.mark.usefixtures("_no_local_llm")
def test_doctor_lists_every_extra_and_whether_the_store_opens(tmp_path: Path) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert set(doctor.EXTRAS) == set(project["optional-dependencies"]) - {"train"}
    (tmp_path / "broken.db").write_text("no database")
    for name, state in (("missing.db", "off"), ("broken.db", "bad")):
        store = found_by_doctor("store", **{"store.url": str(tmp_path / name)})
        assert store.state == state, store.detail


@pytest.mark.usefixtures("_no_local_llm")
def test_doctor_says_that_the_index_works_only_if_it_opens_and_searches(tmp_path: Path) -> None:
    path = tmp_path / "rag.db"
    assert found_by_doctor("index").detail == f"{path} does not exist yet; groundwire rag ingest creates it"
    (tmp_path / "tower.md").write_text("The tower is 330 metres tall.")
    groundwire("rag", "ingest", str(tmp_path / "tower.md"))
    assert found_by_doctor("index") == doctor.DoctorFinding("index", "ok", f"{path}, documents: 1")
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE terms")
    assert found_by_doctor("index").state == "bad"


@pytest.mark.usefixtures("_no_local_llm")
def test_doctor_says_that_a_language_model_works_only_if_it_answers(loopback: Loopback) -> None:
    server = {"openai.base_url": f"{loopback.url}/v1", "openai.model": "m"}
    answers = found_by_doctor("openai", **server)
    assert (answers.state, answers.detail.endswith(" answers")) == ("ok", True)
    assert loopback.requests[0].body["max_tokens"] == 1
    loopback.script(Reply({"object": "list", "data": []}))  # it can be reached, and does not answer
    silent = found_by_doctor("openai", **server)
    assert (silent.state, "does not answer" in silent.detail) == ("bad", True)


@pytest.mark.usefixtures("_no_local_llm")
def test_doctor_tries_the_backend_and_not_its_cache(loopback: Loopback) -> None:
    backend = {"hallucination.backend.type": "openai", "limits.retries": 0}
    server = {**backend, "openai.base_url": f"{loopback.url}/v1"}
    loopback.script(chat("YES", top={"YES": 0.99}))
    assert found_by_doctor("backend openai", **server).state == "ok"
    loopback.script(refusal(500, "down"))
    assert found_by_doctor("backend openai", **server).state == "bad"


@pytest.mark.llm
def test_doctor_asks_the_local_language_model_for_a_token() -> None:
    try:
        model_path()
    except MissingExtra as missing:
        do_without(missing)
    assert found_by_doctor("[llm]").detail == "llm/SmolLM2-135M-Instruct answers"
