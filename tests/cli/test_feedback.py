"""From a report to an opinion, back into the next report, and on to the operating point."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from groundwire.cli import main
from groundwire.config import Config
from groundwire.errors import GroundwireError

SOURCE = "The bridge was closed in March 2019."
WRONG = "The bridge was closed in 1919."
RIGHT = "The bridge was closed in March 2019."


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "store.db"
    monkeypatch.setenv("GROUNDWIRE_STORE__URL", str(path))
    return path


def groundwire(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(main.app, list(map(str, arguments)))
    if isinstance(found.exception, GroundwireError):
        return found.exception.exit_code, str(found.exception)
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout


def checked(answer: str = WRONG) -> dict[str, object]:
    report = json.loads(groundwire("check", answer, "-s", SOURCE, "--json")[1])
    claim: dict[str, object] = report["claims"][0]
    return claim


def test_a_claim_is_named_as_the_last_report_names_it() -> None:
    key = checked()["key"]
    code, out = groundwire("feedback", "c1", "wrong", "--note", "the sign says 1919")
    assert code == 0
    assert str(key) in out
    said = checked()["feedback"]
    assert isinstance(said, dict)
    assert (said["right"], said["supported"], said["note"]) == (False, True, "the sign says 1919")


def test_reports_on_the_same_claim_say_what_was_said(tmp_path: Path) -> None:
    groundwire("check", WRONG, "-s", SOURCE)
    groundwire("feedback", "c1", "right")
    page = tmp_path / "report.html"
    line = "a user marked “contradicted” right on"
    assert line in groundwire("check", WRONG, "-s", SOURCE, "--html", page)[1]
    assert line in page.read_text(encoding="utf-8")
    assert line in groundwire("check", WRONG, "-s", SOURCE, "-s", "The moon is far away.")[1]
    assert line not in groundwire("check", WRONG, "-s", "The bridge was closed in May 2020.")[1]


def test_a_batch_says_it_too_and_its_claims_can_be_marked(tmp_path: Path) -> None:
    rows, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    row = {"id": "r1", "response": WRONG, "context": SOURCE}
    rows.write_text(f"{json.dumps(row)}\n{json.dumps({**row, 'id': 'r2', 'response': RIGHT})}\n")
    groundwire("batch", rows, "-o", out)
    first = json.loads(out.read_text().splitlines()[0])["claims"][0]
    assert first["feedback"] is None
    assert groundwire("feedback", "c1", "wrong", "--report", out)[0] == 2  # which of the two?
    assert groundwire("feedback", first["key"], "wrong", "--report", out)[0] == 0
    groundwire("batch", rows, "-o", out)
    one, two = (json.loads(line)["claims"][0] for line in out.read_text().splitlines())
    assert one["feedback"]["supported"] is True
    assert two["feedback"] is None


def test_a_check_makes_no_store(store: Path) -> None:
    checked()
    assert not store.exists()


def test_a_broken_store_stops_no_check(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store.write_bytes(b"this is no database at all" * 100)
    assert checked()["feedback"] is None
    assert groundwire("feedback", "c1", "wrong")[0] in (2, 3)


def test_without_a_cache_the_report_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDWIRE_STORE__CACHE_PATH", "")
    report = tmp_path / "report.json"
    report.write_text(groundwire("check", WRONG, "-s", SOURCE, "--json")[1], encoding="utf-8")
    code, error = groundwire("feedback", "c1", "wrong")
    assert (code, "--report" in error) == (2, True)
    assert groundwire("feedback", "c1", "wrong", "--report", report)[0] == 0


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"risk": 0.1}',
        '{"claims": 7}',
        "\x00",
        '{"risk":1,"backend":"x","profile":"y","claims":[{}]}',
    ],
)
def test_what_is_no_report_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    file = tmp_path / "report.json"
    file.write_text(content)
    code, error = groundwire("feedback", "c1", "wrong", "--report", file)
    assert code == 2
    assert "\n" not in error


def test_bad_names_and_words_are_refused(tmp_path: Path) -> None:
    assert groundwire("feedback", "c1", "wrong") == (
        2,
        "it was not checked here recently: name its report with --report FILE.json",
    )
    checked()
    assert groundwire("feedback", "c1", "perhaps")[0] == 2
    assert groundwire("feedback", "c9", "wrong")[0] == 2
    assert groundwire("feedback", "c1", "wrong", "--note", "x" * 3000)[0] == 2
    assert groundwire("feedback", "c1", "wrong", "--report", tmp_path / "none.json")[0] == 2


def test_what_was_not_judged_cannot_be_marked(tmp_path: Path) -> None:
    claim = {"id": "c1", "key": "k", "text": "t", "status": "UNCHECKED", "flagged": False}
    report = {"id": "r", "risk": None, "backend": "local", "profile": "default", "claims": [claim]}
    file = tmp_path / "report.json"
    file.write_text(json.dumps(report))
    code, error = groundwire("feedback", "c1", "right", "--report", file)
    assert (code, "no verdict" in error) == (2, True)


def test_what_was_said_can_be_listed_exported_and_forgotten(tmp_path: Path) -> None:
    key = checked()["key"]
    groundwire("feedback", "c1", "right")
    assert WRONG in groundwire("feedback", "list")[1]
    (line,) = groundwire("feedback", "export")[1].splitlines()
    row = json.loads(line)
    assert (row["key"], row["supported"], row["claim"]) == (key, False, WRONG)
    assert row["p1"] < 0.5 < row["budget_gap"]
    groundwire("feedback", "export", "-o", tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == line + "\n"
    assert groundwire("feedback", "forget", key)[0] == 0
    assert groundwire("feedback", "forget", key)[0] == 2
    assert checked()["feedback"] is None


def mark_many(count: int, *, said: str) -> None:
    for number in range(count):
        groundwire("check", f"Gate {number} is red.", "-s", f"Gate {number} is red. Gate {number} is steel.")
        groundwire("feedback", "c1", said)


def test_too_few_opinions_promise_nothing() -> None:
    mark_many(3, said="right")
    code, error = groundwire("calibrate", "--from-feedback", "--max-fpr", "0.2")
    assert code == 2
    assert "3 supported responses with feedback cannot guarantee false alarms ≤ 20%" in error
    assert "at least 4" in error


def test_opinions_set_the_operating_point(tmp_path: Path) -> None:
    mark_many(4, said="right")
    checked()
    groundwire("feedback", "c1", "wrong")  # a false alarm, of a high risk
    code, out = groundwire("calibrate", "--from-feedback", "--max-fpr", "0.17", "-o", tmp_path / "g.yaml")
    assert code == 0
    assert "5 supported rows, 0 others" in out
    config = Config.load(tmp_path / "g.yaml")
    assert config.risk_threshold is not None
    assert config.risk_threshold > 0.9
    with_it = groundwire("check", WRONG, "-s", SOURCE, "--config", tmp_path / "g.yaml")
    assert with_it[0] == 0


def test_opinions_on_another_backends_verdicts_are_left_out() -> None:
    checked()
    groundwire("feedback", "c1", "wrong")
    code, error = groundwire("calibrate", "--from-feedback", "--max-fpr", "0.5", "--profile", "rag")
    assert (code, "0 supported responses" in error) == (2, True)


def test_rows_or_feedback_and_not_both(tmp_path: Path) -> None:
    assert groundwire("calibrate")[0] == 2
    assert groundwire("calibrate", tmp_path / "rows.jsonl", "--from-feedback")[0] == 2
