"""The monitor's figures: made, held against their bars, and printed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from benchmarks.monitor import MonitorArgs, app, measure, questions_answered, warnings_by_label
from typer.testing import CliRunner

from groundwire.errors import InputError


@pytest.fixture
def data(tmp_path: Path) -> Path:
    facts = [("Who founded Atlas Mining?", "Mara Lind founded Atlas Mining in 1998."),
             ("When was the Zenith harbour built?", "The Zenith harbour was built in 1901 by sailors."),
             ("Why did the Borealis dam break?", "The Borealis dam did break after a flood in May.")]  # fmt: skip
    rows = [
        {"id": f"r{n}-{label}", "dataset": "ragtruth", "task": "QA", "label": label, "nli": None,
         "context": f"Question: {question}\n\n{text}", "claim": text if label else f"{text} About 41.37% agree, says [S9].",
         "spans": None if label else [{"start": len(text), "end": len(text) + 30}],
         "meta": {"group": f"g{n}", "fold": 0, "question": question}}
        for n, (question, text) in enumerate(facts) for label in (0, 1)
    ]  # fmt: skip
    with gzip.open(tmp_path / "dev.ragtruth.test.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return tmp_path


def test_questions_find_their_own_source_and_miss_it_in_others(data: Path) -> None:
    own, others, nearest = (figure.value for figure in questions_answered(data))
    assert own == others == nearest == 100


def test_warnings_are_counted_by_label_and_place(data: Path) -> None:
    interrupted, *by_pattern = warnings_by_label(data)
    assert interrupted.value == 0
    assert {f.name.partition(":")[0]: (f.value, f.bar) for f in by_pattern}["unsourced_statistic"] == (
        100,
        "0.0 % of supported; 3 of 3 in a marked span",
    )


def test_all_figures_are_made(data: Path) -> None:
    names = {figure.name: figure for figure in measure(MonitorArgs(2000, data, 4))}
    assert names["tokens a second on one core, all patterns"].value > 0
    assert names["reports of streams equal to the whole's"].value == 100


def test_the_command_prints_them() -> None:
    result = CliRunner().invoke(app, ["--tokens", "1000", "--json"])
    assert result.exit_code == 0
    assert "tokens a second" in json.loads(result.stdout)[0]["name"]


def test_a_broken_file_is_one_line(data: Path) -> None:
    (data / "dev.ragtruth.test.jsonl.gz").write_bytes(b"no gzip")
    result = CliRunner().invoke(app, ["--tokens", "1000", "--data", str(data)])
    assert isinstance(result.exception, InputError)
