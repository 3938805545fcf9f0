"""The quality bench on a handful of rows made here: every figure it prints can be worked out by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from groundwire.bench import quality
from groundwire.bench.measures import (
    OURS,
    Judged,
    LabelledRow,
    Prediction,
    load_sets,
    mean_contradiction,
    means,
    measure,
    new_words,
    sample,
)
from groundwire.cli import main
from groundwire.errors import GroundwireError

CONTEXT = "The tower is 330 metres tall. It opened in 1889 and stands in Paris."
GOOD = ("The tower is 330 metres tall.", "It opened in 1889.", "The tower stands in Paris.")
BAD = ("The tower is 450 metres tall.", "It opened in 1910.", "Elephants guard the Roman gate at night.")


def raw(claim: str, label: int, **more: object) -> dict[str, object]:
    row = {"id": f"id:{claim}", "task": "QA", "context": CONTEXT, "claim": claim, "label": label, "spans": None}
    return {**row, "meta": {"group": claim}, **more}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    ragtruth = [raw(claim, 1, spans=[]) for claim in GOOD]
    ragtruth += [raw(claim, 0, spans=[{"start": 13, "end": 16}], task="Summary") for claim in BAD]
    write(folder / "dev.ragtruth.test.jsonl.gz", ragtruth)
    write(folder / "dev.tiny.dev.jsonl.gz", [raw(claim, 1) for claim in GOOD])
    write(folder / "dev.tiny.test.jsonl.gz", [raw(claim, 0) for claim in BAD])
    write(folder / "train.tiny.jsonl.gz", [raw("Not to be read.", 0)])
    return folder


def write(path: Path, rows: list[dict[str, object]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def bench(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(main.app, ["bench", "quality", *map(str, arguments)])
    if isinstance(found.exception, GroundwireError):
        return found.exception.exit_code, str(found.exception)
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout


def row(claim: str, bad: bool, spans: tuple[tuple[int, int], ...] | None = None, task: str = "QA") -> LabelledRow:
    return LabelledRow(claim, task, CONTEXT, claim, bad, spans, claim)


def test_every_set_and_task_gets_its_figures(data: Path, tmp_path: Path) -> None:
    code, out = bench("--data", data, "--json", tmp_path / "q.json")
    assert code == 0
    assert all(word in out for word in ("ragtruth", "  Summary", "tiny", "AUROC", "span F1", "new words"))
    found = json.loads((tmp_path / "q.json").read_text())
    slices = {(f["set"], f["task"]) for f in found["figures"]}
    assert slices == {("ragtruth", "all"), ("ragtruth", "QA"), ("ragtruth", "Summary"), ("tiny", "all")}
    tiny = {f["system"]: f for f in found["figures"] if f["set"] == "tiny"}
    assert tiny["flag all"]["f1"] == pytest.approx(2 / 3, abs=1e-4)
    assert tiny["new words"]["auroc"] == 1.0
    assert tiny["new words"]["f1"] is None, "no operating point ships with it"
    assert tiny[OURS]["auroc"] == 1.0


def test_what_is_missing_or_unknown_is_one_line(data: Path, tmp_path: Path) -> None:
    code, error = bench("--data", tmp_path / "nowhere")
    assert code == 2
    assert "no dev.*.jsonl.gz files in" in error
    assert bench("--data", data, "--sets", "squad") == (2, "unknown set squad: choose from ragtruth, tiny")
    (data / "dev.broken.test.jsonl.gz").write_bytes(b"not gzip")
    assert "cannot read" in bench("--data", data)[1]
    assert bench("--data", data, "--json", tmp_path) == (2, f"cannot write {tmp_path}: it is a folder")


def test_the_data_folder_may_come_from_the_environment(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDWIRE_DATA", str(data))
    code, out = bench("--sets", "tiny")
    assert code == 0
    assert "ragtruth" not in out


def test_samples_hold_whole_groups_and_are_always_the_same() -> None:
    rows = [LabelledRow(str(n), "QA", "", "", False, None, f"g{n // 4}") for n in range(40)]
    few = sample(rows, 10)
    assert len(few) == 12
    assert {r.id for r in rows if r.group in {f.group for f in few}} == {f.id for f in few}
    assert sample(rows[::-1], 10) != []
    assert {f.group for f in sample(rows[::-1], 10)} == {f.group for f in few}
    assert len(sample(rows, None)) == 40


def test_splits_of_a_set_are_read_together(data: Path) -> None:
    ragtruth, tiny = load_sets(data)
    assert (ragtruth.name, len(ragtruth.rows), tiny.name, len(tiny.rows)) == ("ragtruth", 6, "tiny", 6)
    assert ragtruth.rows[0].spans is not None
    assert tiny.rows[0].spans is None


def test_held_out_predictions_stand_in_for_the_model(data: Path, tmp_path: Path) -> None:
    oof = tmp_path / "oof.jsonl"
    said = [{"id": f"id:{c}", "risk": 0.1, "flagged": False, "spans": []} for c in BAD]
    said += [{"id": f"id:{c}", "risk": 0.9, "flagged": True, "spans": [[0, 3]]} for c in GOOD]
    oof.write_text("".join(json.dumps(line) + "\n" for line in said))
    code, out = bench("--data", data, "--oof", oof, "--json", tmp_path / "q.json")
    assert code == 0
    assert "out of fold" in out
    ours = next(f for f in json.loads((tmp_path / "q.json").read_text())["figures"] if f["system"] == OURS)
    assert (ours["auroc"], ours["f1"], ours["origin"]) == (0.0, 0.0, "out of fold")
    oof.write_text(json.dumps(said[0]) + "\n")
    assert "partly out of fold" in bench("--data", data, "--oof", oof)[1]
    oof.write_text('{"id": 3}\n')
    assert "does not contain predictions" in bench("--data", data, "--oof", oof)[1]


def test_sets_the_model_saw_are_marked(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "trained_on", lambda: frozenset({"ragtruth"}))
    out = bench("--data", data)[1]
    marked = [line for line in out.splitlines() if "seen in training" in line]
    assert len(marked) == 3


def test_rows_that_could_not_be_checked_are_counted_and_left_out(data: Path) -> None:
    write(data / "dev.tiny.more.jsonl.gz", [raw(" ", 0)])
    assert "1 failed" in bench("--data", data, "--sets", "tiny")[1]


def test_figures_by_hand() -> None:
    rows = [row("a", True, ((0, 4),)), row("b", True, ((0, 2),)), row("c", False, ()), row("d", True)]
    answers = [
        Prediction(0.9, True, ((2, 6),)), Prediction(0.2, False, ()), Prediction(0.4, True, ((0, 2),)), None,
    ]  # fmt: skip
    (found,) = measure(Judged("x", rows, {OURS: answers}))
    assert (found.rows, found.failed, found.bad) == (4, 1, 0.75)
    assert (found.auroc, found.f1, found.precision, found.recall) == (0.5, 0.5, 0.5, 0.5)
    assert found.balanced_accuracy == 0.25
    assert found.span_f1 == pytest.approx(2 * 2 / (6 + 6))
    assert found.calibration_error == pytest.approx((0.1 + 0.8 + 0.4) / 3)


def test_what_the_context_speaks_against_is_told_from_what_it_is_silent_about() -> None:
    kinds = (True, True, False, False, None)
    rows = [LabelledRow(str(n), "", "", "", True, None, "", "", denied) for n, denied in enumerate(kinds)]
    said = (True, False, False, False, True)
    judged = Judged("x", rows, {OURS: [Prediction(0.9, denied=denied) for denied in said]})
    (found,) = measure(judged)
    assert found.contradiction_f1 == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert mean_contradiction([found]) == pytest.approx(found.contradiction_f1)
    silent = Judged("x", rows[2:], {OURS: [Prediction(0.9, denied=False)] * 3})
    assert mean_contradiction(list(measure(silent))) is None


def test_new_words_are_a_share_of_distinct_words() -> None:
    assert new_words(row("The tower is green green", True)) == 0.25
    assert new_words(row("…", True)) == 0.0


def test_the_mean_counts_each_other_set_once() -> None:
    rows = [row("a", True), row("b", False)]
    right, wrong = [Prediction(0.9), Prediction(0.1)], [Prediction(0.1), Prediction(0.9)]
    sets = [
        Judged("ragtruth", rows, {OURS: wrong}),
        Judged("x", rows, {OURS: right}),
        Judged("y", rows * 9, {OURS: wrong * 9}),
    ]
    assert means([f for one in sets for f in measure(one)]) == {OURS: 0.5}
