"""The peers' side, with packages of the same shape standing in for them: no network, real pipes."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from benchmarks.peers import REQUIREMENTS, PeerFailed, Peers, app
from benchmarks.plots import precision_recall_plot, reliability_plot
from typer.testing import CliRunner

from groundwire.bench.measures import OURS, Judged, LabelledRow, Prediction

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
    for name, text in {"director_ai/core/scoring/rules_scorer.py": RULES, "styxx/guardrail.py": GUARDRAIL}.items():
        (packages / name).parent.mkdir(parents=True)
        (packages / name).write_text(text)
    folder = tmp_path / "env"
    fake_python(folder, f'PYTHONPATH="{packages}" exec "{sys.executable}" "$@"')
    for requirement in REQUIREMENTS.values():
        (folder / f".{requirement}").touch()
    return folder


def fake_python(folder: Path, script: str) -> None:
    (folder / "bin").mkdir(parents=True, exist_ok=True)
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
    fake_python(environment, 'case "$*" in *pip*) echo "warning" >&2; echo "no such release" >&2; exit 1;; esac')
    with pytest.raises(PeerFailed, match=r"styxx==.* could not be installed: no such release"):
        Peers(environment).install("styxx")
    failed: dict[str, str] = {}
    assert Peers(environment).judge_all(ROWS, failed) == {"director-ai": [None] * 3, "styxx": [None] * 3}
    assert failed["director-ai"] == "it answered 0 of 3 rows"
    assert "no such release" in failed["styxx"]


def test_an_installed_peer_is_not_installed_again(environment: Path) -> None:
    log = environment / "pip.log"
    fake_python(environment, f'echo "$*" >> "{log}"')
    Peers(environment).install("styxx")
    assert not log.exists()
    (environment / f".{REQUIREMENTS['styxx']}").unlink()
    Peers(environment).install("styxx")
    assert REQUIREMENTS["styxx"] in log.read_text()


def test_a_worker_that_dies_is_told_by_its_last_words(environment: Path) -> None:
    (environment.parent / "packages" / "styxx" / "guardrail.py").write_text("raise ImportError('broken')")
    with pytest.raises(PeerFailed, match="it stopped: ImportError: broken"):
        Peers(environment).judge("styxx", ROWS)


def test_peers_are_compared_on_the_same_rows_and_plotted(environment: Path, tmp_path: Path) -> None:
    rows = [
        {"id": str(n), "task": "QA", "context": "The tower is red.", "claim": claim, "label": label}
        | {"meta": {"group": str(n), "question": "What colour?"}}
        for n, (claim, label) in enumerate([("The tower is red.", 1), ("The tower is blue.", 0)])
    ]
    with gzip.open(tmp_path / "dev.tiny.test.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    out, plots = tmp_path / "q.json", tmp_path / "plots"
    options = {"--data": tmp_path, "--json": out, "--plots": plots, "--peers-env": environment}
    result = CliRunner().invoke(app, [str(part) for pair in options.items() for part in pair])
    assert result.exit_code == 0, result.output
    found = json.loads(out.read_text())
    systems = {figure["system"]: figure for figure in found["figures"]}
    assert (systems["director-ai"]["auroc"], found["absent"]) == (1.0, {})
    for picture in ("reliability.svg", "precision-recall.svg"):
        assert ET.parse(plots / picture).getroot().tag.endswith("svg")


def test_plots_of_one_class_or_of_systems_without_predictions_are_drawn() -> None:
    predictions = [Prediction(0.2, False), Prediction(0.3, False), Prediction(0.1, False)]
    none = Judged("x", ROWS, {OURS: predictions, "styxx": [None] * 3})
    for plot in (reliability_plot, precision_recall_plot):
        assert ET.fromstring(plot([none])).tag.endswith("svg")
        assert plot([none]) == plot([none])
