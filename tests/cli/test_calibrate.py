"""From labelled rows to a threshold, and back through the configuration to the promised decisions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from groundwire.api import check
from groundwire.cli import main
from groundwire.cli.calibrate import read_labelled, round_up
from groundwire.config import Config
from groundwire.errors import GroundwireError
from groundwire.verdicts.calibration import open_monitor

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "labelled.jsonl"
SOURCE = "The tower is 330 metres tall. It opened in 1889."


def calibrate(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(main.app, ["calibrate", *map(str, arguments)])
    if isinstance(found.exception, GroundwireError):
        return found.exception.exit_code, str(found.exception)
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def supported(count: int) -> list[dict[str, object]]:
    return [{"response": "The tower opened in 1889.", "context": SOURCE, "label": 1}] * count


def test_the_example_has_rows_enough_and_its_threshold_is_printed_as_configuration() -> None:
    code, out = calibrate(EXAMPLE, "--max-fpr", 0.05)
    assert code == 0
    assert out.splitlines()[-1].startswith("risk_threshold: ")
    assert "24 supported rows, 12 others" in out
    assert "probability at most 5%" in out
    assert "95% interval" in out


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5])
def test_the_written_threshold_gives_the_promised_decisions(tmp_path: Path, alpha: float) -> None:
    target = tmp_path / "groundwire.yaml"
    calibrate(EXAMPLE, "--max-fpr", alpha, "-o", target)
    config = Config.load(target)
    assert config.risk_threshold is not None
    alarms = caught = 0
    for row, is_supported in read_labelled(EXAMPLE):
        report = check(row.response, row.sources, config=config)
        assert report.risk is not None
        assert report.flagged == (report.risk > config.risk_threshold)
        assert report.flagged == any(claim.is_flagged for claim in report.claims)
        alarms += bool(report.flagged) and is_supported
        caught += bool(report.flagged) and not is_supported
    assert alarms <= alpha * (24 + 1)
    assert f"expected to catch: {caught} of 12" in calibrate(EXAMPLE, "--max-fpr", alpha)[1]


def test_calibrating_again_under_its_own_threshold_changes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "groundwire.yaml"
    calibrate(EXAMPLE, "--max-fpr", 0.2, "-o", target)
    first = target.read_text()
    calibrate(EXAMPLE, "--max-fpr", 0.2, "-o", target, "--config", target)
    assert target.read_text() == first


def test_too_few_rows_are_refused_with_the_number_needed(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.jsonl", supported(18))
    code, error = calibrate(rows, "--max-fpr", 0.05)
    assert code == 2
    assert "18 supported rows cannot guarantee false alarms ≤ 5%" in error
    assert "at least 19 rows" in error
    code, error = calibrate(EXAMPLE, "--confidence", 0.95)
    assert code == 2
    assert "at 95% confidence: at least 59 rows" in error


def test_rows_that_cannot_be_checked_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.jsonl", [*supported(19), {"response": " ", "context": SOURCE, "label": 1}])
    code, out = calibrate(rows)
    assert code == 0
    assert "19 supported rows, 0 others; 1 could not be checked" in out
    assert "unknown: there are no rows with label 0" in out
    short = write(tmp_path / "short.jsonl", [*supported(18), {"response": " ", "context": SOURCE, "label": 1}])
    assert "18 supported rows (1 rows could not be checked)" in calibrate(short)[1]


def test_a_backend_that_answers_nothing_is_no_calibration(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.jsonl", [{"response": " ", "context": SOURCE, "label": 1}] * 20)
    code, error = calibrate(rows)
    assert code == 3
    assert "none of the 20 rows could be checked" in error


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"response": "x", "context": "x"}, "'label' must be 1 (supported) or 0 (not)"),
        ({"response": "x", "context": "x", "label": "yes"}, "'label' must be"),
        ({"response": "x", "label": 1}, "neither 'sources' nor 'context'"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, row: dict[str, object], complaint: str) -> None:
    code, error = calibrate(write(tmp_path / "rows.jsonl", [*supported(1), row]))
    assert code == 2
    assert "row 2" in error
    assert complaint in error


def test_bad_usage_is_one_line(tmp_path: Path) -> None:
    assert calibrate(tmp_path / "none.jsonl") == (2, f"{tmp_path / 'none.jsonl'} is not a file")
    assert "between 0 and 1" in calibrate(EXAMPLE, "--max-fpr", 1.5)[1]
    assert "YAML" in calibrate(EXAMPLE, "-o", tmp_path / "x.toml")[1]
    assert "existing folder" in calibrate(EXAMPLE, "-o", tmp_path / "no" / "x.yaml")[1]


def test_the_rows_are_kept_as_a_histogram_that_the_service_compares_with(tmp_path: Path) -> None:
    target = tmp_path / "groundwire.yaml"
    target.write_text("calibration: {backend: old, profile: rag}\nprofile: default\n")
    calibrate(EXAMPLE, "-o", target)
    config = Config.load(target)
    found = config.calibration
    assert (found.backend, found.profile, sum(found.counts)) == ("local", "default", 36)
    assert config.risk_threshold in found.edges
    assert open_monitor(config) is not None
    assert target.read_text().count("calibration:") == 1


def test_everything_else_in_the_file_stays(tmp_path: Path) -> None:
    target = tmp_path / "groundwire.yaml"
    target.write_text("# ours\nprofile: strict\nrisk_threshold: 0.9\nlog: {level: error}\n")
    assert calibrate(EXAMPLE, "-o", target)[0] == 0
    lines = target.read_text().splitlines()
    assert (lines[0], lines[1], lines[3]) == ("# ours", "profile: strict", "log: {level: error}")
    assert lines[2].startswith("risk_threshold: 0.")
    target.write_text("{profile: strict}\n")
    code, error = calibrate(EXAMPLE, "-o", target)
    assert code == 2
    assert "add the line above" in error
    assert target.read_text() == "{profile: strict}\n"


def test_rounding_never_adds_a_false_alarm() -> None:
    assert (round_up(0.12341), round_up(0.5), round_up(0.99999)) == (0.1235, 0.5, 1.0)
