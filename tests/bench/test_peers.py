"""The peers' side, with packages of the same shape standing in for them: no network, real pipes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from groundwire.bench.peers import REQUIREMENTS, PeerFailed, Peers
from groundwire.bench.quality import _peers
from groundwire.bench.quality_data import LabelledRow
from groundwire.bench.quality_figures import Prediction

ROWS = [
    LabelledRow(str(n), "QA", "The tower is red.", claim, False, None, "g", "What colour?")
    for n, claim in enumerate(("The tower is red.", "fail", "noisy\nnew line"))
]
RULES = """
class RulesBackend:
    def score(self, premise, hypothesis):
        if hypothesis == "fail":
            raise ValueError("no")
        print("a peer that prints")
        return 0.75 if hypothesis in premise else 0.25
"""
GUARDRAIL = """
from types import SimpleNamespace
def check(prompt, response, *, reference, use_entity_verify):
    assert not use_entity_verify and prompt == "What colour?"
    return SimpleNamespace(risk=0.5, action="annotate" if response in reference else "pass")
"""


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A folder that looks like a virtual environment in which both peers are installed."""
    packages = tmp_path / "packages"
    for name, text in {
        "director_ai/core/scoring/rules_scorer.py": RULES,
        "styxx/guardrail.py": GUARDRAIL,
    }.items():
        (packages / name).parent.mkdir(parents=True)
        (packages / name).write_text(text)
    folder = tmp_path / "env"
    fake_python(folder, f'PYTHONPATH="{packages}" exec "{sys.executable}" "$@"')
    for requirement in REQUIREMENTS.values():
        (folder / f".{requirement}").touch()
    return folder


def fake_python(folder: Path, script: str) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin" / "python").chmod(0o755)


def test_verdicts_come_back_in_order_and_a_failure_is_one_row_s(environment: Path) -> None:
    found = Peers(environment).judge("director-ai", ROWS)
    assert found == [Prediction(0.25, False), None, Prediction(0.75, True)]
    assert Peers(environment).judge("styxx", ROWS)[0] == Prediction(0.5, True)


def test_a_peer_that_cannot_be_installed_says_why_and_the_others_go_on(environment: Path) -> None:
    (environment / f".{REQUIREMENTS['styxx']}").unlink()
    (environment / "bin" / "python").unlink()
    (environment / "bin").rmdir()
    fake_python(
        environment, 'case "$*" in *pip*) echo "warning" >&2; echo "no such release" >&2; exit 1;; esac'
    )
    with pytest.raises(PeerFailed, match=r"styxx==.* could not be installed: no such release"):
        Peers(environment).install("styxx")
    absent: dict[str, str] = {}
    assert _peers(Peers(environment), ROWS, absent) == {"director-ai": [None] * 3, "styxx": [None] * 3}
    assert absent["director-ai"] == "it answered 0 of 3 rows"
    assert "no such release" in absent["styxx"]


def test_what_is_installed_is_not_installed_again(environment: Path) -> None:
    Peers(environment).install("styxx")  # its stand-in has no pip to fail with


def test_a_worker_that_dies_is_told_by_its_last_words(environment: Path) -> None:
    (environment.parent / "packages" / "styxx" / "guardrail.py").write_text("raise ImportError('broken')")
    with pytest.raises(PeerFailed, match="it stopped: ImportError: broken"):
        Peers(environment).judge("styxx", ROWS)
