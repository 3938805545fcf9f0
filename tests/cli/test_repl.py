"""Python with the verifying functions at hand: as a script, line by line, and in the sandbox."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import Mock

import pytest
from rich.console import Console

from groundwire import check
from groundwire.cli import repl
from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.llm.fake import ScriptedGenerator
from groundwire.reports.terminal import show_result
from groundwire.types import Detection, Flag, HallucinationType

TOWER = "The tower is 330 metres tall. It was finished in March 1889."


@pytest.fixture
def tower(tmp_path: Path) -> str:
    path = tmp_path / "tower.md"
    path.write_text(TOWER)
    return str(path)


def ran(source: str, *files: str, sandbox: bool = False, replies: Sequence[str] = ()) -> tuple[int, str]:
    """What a script prints, errors included."""
    out = io.StringIO()
    console = Console(file=out, width=120)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(source.encode()), encoding="utf-8"))
        patch.setattr("sys.stdout", out)
        patch.setattr("sys.stderr", out)
        model = ScriptedGenerator(replies, name="llm/scripted")
        code = repl.repl([*files], sandbox, config=Config.load(), console=console, generator=model)
    return code, out.getvalue()


@pytest.fixture(params=[False, True], ids=["plain", "sandbox"])
def sandbox(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.spec("SPEC-16.02", "SPEC-16.34", "SPEC-08.31")
def test_a_claim_is_verified_and_shown_as_a_table(tower: str, sandbox: bool) -> None:
    code, out = ran('verify_claim("The tower is 450 metres tall.", files)', tower, sandbox=sandbox)
    assert code == 0
    assert "contradicted" in out
    assert "tower.md: “The tower is 330 metres tall.”" in out


@pytest.mark.spec("SPEC-16.05", "SPEC-16.34")
def test_a_report_shows_the_answer_marked_and_every_claim(tower: str, sandbox: bool) -> None:
    source = 'detect_hallucinations("The tower is 450 metres tall. It was finished in 1889.", files)'
    out = ran(source, tower, sandbox=sandbox)[1]
    assert "⟦" in out
    assert "supported" in out
    assert "1 of 2 claims flagged" in out


@pytest.mark.spec("SPEC-16.34")
def test_lists_of_claims_and_audits_are_tables_too(tower: str) -> None:
    out = ran(f'verify_claims("{TOWER}", files)', tower)[1]
    assert out.count(" supported ") == 2
    source = 'audit_trace(["There are 3 apples.", "There are 4 apples."], context="There are 3 apples.", answer="9")'
    out = ran(source)[1]
    assert "contradicts step1" in out
    assert "does not follow from the steps" in out


@pytest.mark.spec("SPEC-16.34")
def test_detections_and_plain_values_show_as_they_should() -> None:
    def shown(value: object) -> str:
        console = Console(file=io.StringIO(), width=120)
        show_result(value, console)
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue()

    flag = Flag(HallucinationType.TEMPORAL_ERROR, 0, 3, "\x1b[2Jnow", 0.7, "check it", "it was then")
    assert "TemporalError 0.70" in shown(Detection((flag,)))
    assert "\x1b" not in shown(Detection((flag,)))
    assert shown(Detection()) == "nothing found\n"
    assert shown("\x1b[2J[bold]") == "'\\x1b[2J[bold]'\n"
    assert shown([1, 2]) == "[1, 2]\n"
    assert len(shown(list(range(100_000)))) < 10_000
    assert "contradicted" in shown(check("It closed in 1919.", "It closed in March 2019."))


def test_a_script_is_run_statement_by_statement(tower: str) -> None:
    source = "x = 2\nfor n in range(2):\n    print(n)\nx * 21\n_ + 1\n@staticmethod\ndef f(): return 7\nsorted(files)"
    code, out = ran(source, tower)
    assert (code, out.split("\n")) == (0, ["0", "1", "42", "43", "['tower.md']", ""])


def test_a_script_ends_at_its_first_failure(sandbox: bool) -> None:
    code, out = ran("print(1)\n1/0\nprint(2)", sandbox=sandbox)
    assert code == 2
    assert "ZeroDivisionError" in out
    assert "2\n" not in out.replace("line 2", "")
    assert "repl.py" not in out


def test_what_a_user_can_fix_is_one_line() -> None:
    assert ran('verify_claim("", "")') == (2, "InputError: the answer is empty\n")
    code, out = ran("verify_claim(3, 'x')")
    assert code == 2
    assert "TypeError: verify_claim: argument 1" in out


@pytest.mark.parametrize("source", ["1 +", "\x00", "(" * 500, "\ufeffx = "])
def test_what_is_no_python_is_said(source: str) -> None:
    code, out = ran(source)
    assert code == 2
    assert "Error" in out


def test_nothing_does_nothing(sandbox: bool) -> None:
    assert ran("", sandbox=sandbox) == (0, "")


def test_a_script_ends_when_it_says_so() -> None:
    assert ran("exit(7)\nprint(1)") == (7, "")


def test_the_display_is_given_back() -> None:
    before = sys.displayhook
    ran("1")
    assert sys.displayhook is before


def test_a_model_answers_about_the_files_or_a_text(tower: str, sandbox: bool) -> None:
    source = 'print(llm("How tall?", verify=False))\nprint(llm("And this?", "The sky is blue."))'
    out = ran(source, tower, sandbox=sandbox, replies=["330 metres.", "Blue."])[1]
    assert out == "330 metres.\nBlue.\n"


def test_files_are_read_and_searched(tower: str, sandbox: bool) -> None:
    source = 'print(read("tower.md", 0, 9))\nprint(search("march")[0])'
    out = ran(source, tower, sandbox=sandbox)[1]
    assert out == f"The tower\ntower.md:1: {TOWER}\n"


def test_what_sandboxed_code_prints_cannot_steer_the_terminal() -> None:
    code, out = ran("print('\\x1b]0;owned\\x07')\nraise ValueError('\\x1b[2J')", sandbox=True)
    assert code == 2
    assert "owned" in out
    assert not {"\x1b", "\x07"} & set(out)


def test_the_sandbox_touches_nothing(tmp_path: Path) -> None:
    target = tmp_path / "made"
    code, out = ran(f"open({str(target)!r}, 'w').write('x')", sandbox=True)
    assert code == 2
    assert "Error" in out
    assert not target.exists()


def test_code_and_a_source_cannot_share_standard_input() -> None:
    with pytest.raises(InputError):
        ran("1", "-")


@pytest.mark.parametrize("sandboxed", [False, True], ids=["plain", "sandbox"])
def test_on_a_terminal_lines_make_statements(
    tower: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sandboxed: bool
) -> None:
    monkeypatch.setattr(repl, "is_interactive", lambda: True)
    out = io.StringIO()
    typed: list[str | type[BaseException]] = ["for n in range(2):", "    print(n + 40)", "", "1 +", KeyboardInterrupt]
    typed += ["def f(", KeyboardInterrupt, "x = 41", "x + 1", "1/0", "x"]
    monkeypatch.setattr("builtins.input", Mock(side_effect=[*typed, EOFError]))
    code = repl.repl([tower], sandboxed, config=Config.load(), console=Console(file=out, width=120))
    assert code == 0
    shown = out.getvalue()
    assert "verify_claim" in shown  # the greeting
    assert "42\n" in shown
    assert "41\n" in shown + capsys.readouterr().out
