"""`assert_grounded` as the tests of users call it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from groundwire.errors import BackendError, BackendTimeout, InputError
from groundwire.testing import assert_grounded
from groundwire.verifiers.fake import FakeVerifier

pytest_plugins = ["pytester"]

SOURCES = {"guide": "The tower is 330 metres tall. It stands in Paris.", "law": "The bridge was opened in 1937."}
WRONG = "The tower is 999 metres tall [guide]. The bridge was opened in 1937 [law]."


def test_a_grounded_answer_passes_and_gives_its_report() -> None:
    report = assert_grounded("The tower is 330 metres tall.", SOURCES, question="How tall is it?", target=0.9)
    assert report.flagged is False
    assert report.claims[0].confidence == 0.9


def test_a_failure_shows_what_is_wrong_and_what_the_sources_say() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_grounded(WRONG, SOURCES)
    said = str(caught.value)
    assert said.startswith("1 of 2 claims not grounded (allowed: 0; backend local, profile default)")
    assert "✗ The tower is 999 metres tall." in said
    assert re.search(r"contradicted, support \d %: evidence says 330", said)
    assert "nearest evidence [guide]: The tower is 330 metres tall." in said
    assert "1937" not in said


def test_some_flags_may_be_allowed() -> None:
    assert assert_grounded(WRONG, SOURCES, max_flagged=1).flagged_claims[0].text == "The tower is 999 metres tall."


def test_hostile_text_does_not_steer_the_terminal() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_grounded("The tower is \x1b[31m999 metres\x07 tall.\u202e", SOURCES)
    assert not {"\x1b", "\x07", "\u202e"} & set(str(caught.value))


def test_what_contradicts_the_conversation_counts_too() -> None:
    before = [{"role": "assistant", "content": "I booked the meeting for Monday."}]
    with pytest.raises(AssertionError, match=r"1 of 1 claims not grounded[\s\S]*ContradictsPrior"):
        assert_grounded("As I mentioned, the meeting is on Friday.", history=before)


def test_what_could_not_be_checked_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = FakeVerifier(failing=[BackendTimeout("too slow")] * 9)
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda **_: failing)
    with pytest.raises(BackendError, match="not everything could be checked"):
        assert_grounded("The tower is 330 metres tall.", SOURCES, backend="fake", target=0.77)


def test_what_cannot_be_judged_is_an_error_of_the_test() -> None:
    with pytest.raises(InputError, match="no sources"):
        assert_grounded("The tower is 330 metres tall.")


def test_the_fixture_fails_the_users_test_at_the_users_line(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        """
        def test_good(assert_grounded):
            assert_grounded("The tower is 330 metres tall.", "The tower is 330 metres tall.")

        def test_bad(assert_grounded):
            assert_grounded("The tower is 999 metres tall.", "The tower is 330 metres tall.")
        """
    )
    found = pytester.runpytest("-p", "groundwire.pytest_plugin", "-p", "no:cacheprovider")
    found.assert_outcomes(passed=1, failed=1)
    found.stdout.fnmatch_lines(
        [
            '>*assert_grounded("The tower is 999 metres tall.", *',
            "E*AssertionError: 1 of 1 claims not grounded*",
            "E*contradicted, support * %: evidence says 330*",
        ]
    )
    found.stdout.no_fnmatch_line("*raise AssertionError*")


def test_the_plugin_is_registered_and_loads_nothing() -> None:
    root = Path(__file__).resolve().parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name = project["entry-points"]["pytest11"]["groundwire"]
    assert import_module(name).assert_grounded
    heavy = "{'numpy', 'pydantic', 'typer', 'rich', 'onnxruntime', 'groundwire.api', 'groundwire.engine'}"
    code = f"import sys, {name}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
