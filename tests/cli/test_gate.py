"""The gate of a build: what passes, what fails, what nobody can say, and the files that tell of it."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as lxml_html
from rich.console import Console
from typer.testing import CliRunner

from groundwire.cli.batch import BatchArgs, BatchTally, Gate, run_batch
from groundwire.cli.main import app
from groundwire.config import Config
from groundwire.errors import InputError, MissingExtra
from groundwire.integrations.rows import BatchRow
from groundwire.reports.batch import BatchSummary, batch_markdown, junit_case, junit_document, plain

TEXT = "The tower is 330 metres tall."
GOOD = {"id": "good", "response": TEXT, "context": TEXT}
WRONG = {"id": "wrong", "response": "The tower is 999 metres tall.", "context": TEXT}
BROKEN: dict[str, Any] = {"id": "broken", "response": 7}
NASTY = {
    "id": "</testcase>\x00<b>|`]]>",
    "response": "The \x1b[31mtower\x07 is 999 metres <script>alert(1)</script> tall | `x` [y](http://z) ]]> \ufffe.",
    "context": TEXT,
}


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def go(rows: Path, gate: Gate, out: Path | None = None, **more: Any) -> int:
    job = BatchArgs(rows, out or rows.with_suffix(".out"), gate=gate, **more)
    return run_batch(job, Config(), Console(quiet=True))


@pytest.mark.parametrize(
    ("flagged", "failed", "rows", "rate", "code"),
    [
        (1, 0, 10, 0.1, 0),  # at the rate is not beyond it
        (2, 0, 10, 0.1, 1),
        (0, 0, 10, 0.0, 0),
        (1, 0, 10, 0.0, 1),
        (1, 1, 10, 0.1, 3),  # the one that was not checked decides
        (1, 1, 10, 0.2, 0),  # … and here it does not
        (2, 3, 10, 0.1, 1),
        (0, 10, 10, 0.5, 3),
        (0, 10, 10, 1.0, 0),
        (0, 0, 0, 0.5, 3),  # nothing was looked at
        (3, 0, 30, 0.1, 0),
        (0, 0, 10, None, 0),
        (1, 1, 10, None, 1),
        (0, 1, 10, None, 3),
    ],
)
def test_the_gate_says_only_what_holds_whatever_was_not_checked(
    flagged: int, failed: int, rows: int, rate: float | None, code: int
) -> None:
    assert Gate(rate).exit_code(BatchSummary(rows, flagged, failed)) == code


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.floats(0, 1))
def test_passed_and_failed_hold_for_every_outcome_of_what_was_not_checked(
    fine: int, flagged: int, failed: int, rate: float
) -> None:
    figures = BatchSummary(fine + flagged + failed, flagged, failed)
    code = Gate(rate).exit_code(figures)
    possible = {Gate(rate).exit_code(BatchSummary(figures.rows, flagged + worse)) for worse in range(failed + 1)}
    assert possible == {code} if code != 3 else len(possible) == 2 or not figures.rows


def test_a_batch_within_the_rate_passes_though_some_are_flagged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write(tmp_path / "in.jsonl", GOOD, GOOD, WRONG, GOOD)
    assert go(rows, Gate(0.25)) == 0
    assert go(rows, Gate(0.2)) == 1
    assert go(rows, Gate()) == 1
    run_batch(BatchArgs(rows, tmp_path / "out", gate=Gate(0.2)), Config(), Console())
    assert "gate failed: 25 % flagged, at most 20 % allowed" in capsys.readouterr().out


def test_the_files_tell_every_row(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", GOOD, WRONG, BROKEN)
    gate = Gate(0.9, tmp_path / "junit.xml", tmp_path / "summary.md")
    assert go(rows, gate) == 0
    suite = ET.parse(tmp_path / "junit.xml").getroot()[0]
    assert suite.attrib == {"name": str(rows), "tests": "3", "failures": "1", "errors": "1"}
    good, wrong, broken = suite
    assert (good.get("name"), len(good)) == ("good", 0)
    assert (wrong[0].tag, wrong[0].get("type")) == ("failure", "ungrounded")
    assert "contradicted: The tower is 999 metres tall. (evidence says 330" in str(wrong[0].text)
    assert (broken[0].tag, broken[0].get("message")) == ("error", "'response' must be a string")
    page = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert page.startswith("## groundwire: 1 of 3 responses flagged (33.3 %)\n\ngate passed: 33.3 % to 66.7 %")
    for line in ("| grounded | 1 |", "| could not be checked | 1 |", "| claims: contradicted | 1 |"):
        assert line in page
    assert "| wrong | " in page
    assert "| broken | – | 'response' must be a string |" in page


def test_sarif_puts_each_finding_at_the_line_of_its_row(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", GOOD, WRONG, NASTY, *({**BROKEN, "id": str(n)} for n in range(22)))
    job = BatchArgs(rows, tmp_path / "out.jsonl", gate=Gate(sarif=tmp_path / "out.sarif"))
    run_batch(job, Config.load(overrides={"hallucination.backend.type": "fake"}), Console(quiet=True))
    (run,) = json.loads((tmp_path / "out.sarif").read_text(encoding="utf-8"))["runs"]
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert [place["region"] for place in places] == [{"startLine": 2}, {"startLine": 3}]
    assert {place["artifactLocation"]["uri"] for place in places} == {str(rows)}
    assert run["results"][0]["message"]["text"].startswith("wrong: The tower is 999 metres tall.: ")
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} == rules
    (invocation,) = run["invocations"]
    notes = [note["message"]["text"] for note in invocation["toolExecutionNotifications"]]
    assert not invocation["executionSuccessful"]
    assert notes[0] == "0: 'response' must be a string"
    assert notes[-1] == "… and 2 more rows could not be checked"


def test_the_files_of_a_run_that_went_on_are_those_of_a_whole_one(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", *[{**row, "id": f"{n}"} for n in range(4) for row in (GOOD, WRONG, BROKEN)])

    def made(name: str, **how: Any) -> tuple[int, list[str]]:
        gate = Gate(0.5, tmp_path / f"{name}.xml", tmp_path / f"{name}.md")
        code = go(rows, gate, tmp_path / f"{name}.jsonl", **how)
        return code, [path.read_text(encoding="utf-8") for path in gate.files]

    whole = made("whole")
    half = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)[:5]
    (tmp_path / "half.jsonl").write_bytes(b"".join(half) + b'{"id": "cut')
    assert made("half", resume=True) == whole


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    gate = Gate(None, tmp_path / "junit.xml", tmp_path / "summary.md")
    go(write(tmp_path / "in.jsonl", NASTY, {**BROKEN, "id": NASTY["id"]}), gate)
    suite = ET.parse(tmp_path / "junit.xml").getroot()[0]
    assert len(suite) == 2
    assert suite[0].get("name") == "</testcase>\ufffd<b>|`]]>"
    page = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "<" not in page.replace("&lt;", "")
    table = [line for line in page.splitlines() if line.startswith("|")]
    cells = {line.replace("\\|", "").count("|") for line in table}
    assert cells <= {3, 4}
    assert not {"\x1b", "\x07", "\x00"} & set(page)


@given(st.text(), st.text())
def test_junit_is_well_formed_under_any_text(name: str, text: str) -> None:
    claim = {"flagged": True, "status": "CONTRADICTED", "text": text, "reason": text, "gap_type": None}
    cases = [
        junit_case({"id": name, "flagged": True, "claims": [claim], "error": None}, text),
        junit_case({"id": name, "flagged": None, "claims": [], "error": text}, text),
    ]
    document = "".join(junit_document(name, {"tests": 2, "failures": 1, "errors": 1}, cases))
    assert len(ET.fromstring(document.encode())[0]) == 2


@given(st.text())
def test_nothing_in_a_cell_ends_it(text: str) -> None:
    found = plain(text)
    assert "\n" not in found
    assert "<" not in found
    assert found.replace("\\\\", "").replace("\\|", "").count("|") == 0


def test_only_the_riskiest_are_listed_and_memory_stays_small(tmp_path: Path) -> None:
    gate = Gate(None, None, tmp_path / "summary.md")
    with BatchTally("many", gate) as ledger:
        for number, line in enumerate(many(500), start=1):
            ledger.add(line, BatchRow(number, b"{}"))
        ledger.write()
    page = (tmp_path / "summary.md").read_text(encoding="utf-8")
    listed = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| r")]
    assert listed == [f"r{n}" for n in range(499, 479, -1)]
    assert "… and 480 more." in page


def many(rows: int) -> Iterator[str]:
    for n in range(rows):
        yield json.dumps({"id": f"r{n}", "flagged": True, "risk": n / rows, "claims": [], "error": None})


def test_an_empty_batch_makes_a_page_too() -> None:
    assert "0 of 0 responses flagged" in batch_markdown("none", BatchSummary())


def test_the_summary_names_kinds_of_claims_in_words() -> None:
    claim = {"flagged": True, "gap_type": "partial_support", "status": "NOT_IN_CONTEXT", "text": "x", "reason": "y"}
    figures = BatchSummary()
    figures.add({"id": "a", "flagged": True, "risk": 0.9, "claims": [claim]})
    assert "| claims: partial support | 1 |" in batch_markdown("rows", figures)


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_a_rate_is_a_share(rate: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        Gate(rate)


def test_files_that_cannot_be_are_refused_before_the_work(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", GOOD)
    with pytest.raises(InputError, match="cannot write"):
        Gate(summary=tmp_path / "no" / "folder.md")
    with pytest.raises(InputError, match="different files"):
        Gate(None, tmp_path / "x", tmp_path / "x")
    with pytest.raises(InputError, match="is the input or the output"):
        go(rows, Gate(junit=rows))
    assert rows.read_text(encoding="utf-8").startswith('{"id": "good"')


def test_a_device_is_written_to_and_a_link_stays_one(tmp_path: Path) -> None:
    """As root a file put in their place would be there for everybody."""
    rows = write(tmp_path / "in.jsonl", GOOD)
    with pytest.raises(InputError, match="cannot write /dev/full: No space left"):
        go(rows, Gate(summary=Path("/dev/full")))
    assert Path("/dev/full").is_char_device()
    link, page = tmp_path / "link.md", tmp_path / "page.md"
    page.write_text("before")
    link.symlink_to(page)
    go(rows, Gate(summary=link))
    assert link.is_symlink()
    assert page.read_text(encoding="utf-8").startswith("## groundwire")


def test_an_output_that_is_none_of_ours_is_begun_anew(tmp_path: Path) -> None:
    rows, out = write(tmp_path / "in.jsonl", GOOD), tmp_path / "out.jsonl"
    out.write_text('{"id": "good"}\n')
    assert go(rows, Gate(0.0), out, resume=True) == 0


def test_the_command_takes_the_gate(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", GOOD, WRONG)
    out, junit, page = (str(tmp_path / name) for name in ("out.jsonl", "junit.xml", "page.md"))
    found = CliRunner().invoke(
        app, ["batch", str(rows), "-o", out, "--max-rate", "0.5", "--junit", junit, "--summary", page]
    )
    assert found.exit_code == 0
    assert "gate passed: 50 % flagged, at most 50 % allowed" in found.stderr
    assert ET.parse(junit).getroot().get("tests") == "2"
    assert "gate passed" in Path(page).read_text(encoding="utf-8")


def grouped(tmp_path: Path, **files: Any) -> str:
    """Run a batch of two models, and give what was printed."""
    rows = [{**GOOD, "meta": {"model": "a"}}, {**WRONG, "meta": {"model": "b"}}, {**BROKEN, "meta": 7}]
    path = write(tmp_path / "in.jsonl", *rows)
    out = io.StringIO()
    job = BatchArgs(path, tmp_path / "out.jsonl", gate=Gate(group_by="meta.model", **files))
    run_batch(job, Config(), Console(file=out, width=110))
    return out.getvalue()


def test_groups_are_counted_on_the_terminal_and_in_the_summary(tmp_path: Path) -> None:
    printed = [line.split() for line in grouped(tmp_path, summary=tmp_path / "s.md").splitlines()]
    assert printed[1][:3] == ["group", "responses", "flagged"]
    assert printed[2:] == [
        ["(none)", "1", "0", "0", "%", "0", "0", "1"],
        ["a", "1", "0", "0", "%", "0", "1", "0"],
        ["b", "1", "1", "100", "%", "1", "1", "0"],
    ]
    assert "| b | 1 | 1 | 100 % | 1 | 1 | 0 |" in (tmp_path / "s.md").read_text(encoding="utf-8")


def test_the_page_of_a_batch_marks_the_spans_of_every_response(tmp_path: Path) -> None:
    grouped(tmp_path, html=tmp_path / "page.html")
    tree = lxml_html.parse(str(tmp_path / "page.html")).getroot()
    rows = tree.xpath("//table[contains(@class, 'responses')]/tbody")
    assert [row.get("data-has") for row in rows] == ["fine ENTAILED", "flagged CONTRADICTED", "failed"]
    assert [row.get("data-group") for row in rows] == ["a", "b", "(none)"]
    hot = rows[1].xpath(".//a[contains(@class, 'hot')]")
    assert [(mark.text_content(), mark.get("href")) for mark in hot] == [("999 metres", "#r2-c1")]
    assert tree.xpath("//*[@id='r2-c1']//blockquote")[0].text_content().endswith(TEXT)
    assert "'response' must be a string" in rows[2].text_content()


def test_the_page_of_a_batch_runs_its_own_script_and_no_other(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", NASTY)
    go(rows, Gate(html=tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert len(scripts) == 1
    assert f"script-src 'sha256-{digest}'" in page
    assert not {"\x1b", "\x07", "\x00"} & set(page)


def test_claims_are_written_as_csv_that_no_spreadsheet_executes(tmp_path: Path) -> None:
    formula = {**WRONG, "id": "=1+1"}
    go(write(tmp_path / "in.jsonl", GOOD, formula, BROKEN), Gate(table=tmp_path / "claims.csv"))
    with (tmp_path / "claims.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["response"] for row in rows] == ["good", "'=1+1", "broken"]
    assert [row["status"] for row in rows] == ["ENTAILED", "CONTRADICTED", ""]
    assert (rows[1]["sources"], rows[2]["error"]) == ("context", "'response' must be a string")
    assert list(tmp_path.glob(".claims*")) == []


def test_claims_are_written_as_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    grouped(tmp_path, table=tmp_path / "claims.parquet")
    rows = parquet.read_table(tmp_path / "claims.parquet").to_pylist()
    assert [(row["response"], row["group"], row["flagged"]) for row in rows] == [
        ("good", "a", False),
        ("wrong", "b", True),
        ("broken", "(none)", None),
    ]
    assert rows[1]["p1"] < 0.5


def test_a_table_needs_a_known_format_and_parquet_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        Gate(table=tmp_path / "claims.xls")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'groundwire\[pandas\]'"):
        go(write(tmp_path / "in.jsonl", GOOD), Gate(table=tmp_path / "claims.parquet"))
    assert list(tmp_path.glob(".claims*")) == []
