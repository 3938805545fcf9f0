"""JSON, terminal and page show the same report, and hostile text stays text."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Literal

import pytest
from lxml import html as lxml_html
from rich.console import Console

from groundwire.reports.html import to_html
from groundwire.reports.json import failed_object, report_object, to_json
from groundwire.reports.plaintext import bracket_spans, split_at_spans
from groundwire.reports.terminal import show_report
from groundwire.types import Case, Claim, ClaimKind, Estimate, EvidenceRef, HallucinationReport, Source, Span
from groundwire.verdicts.judge import ClaimScores, judge, unchecked
from groundwire.verdicts.profile import Profile
from groundwire.verdicts.summary import summarise

HOSTILE = 'Tall <script>alert(1)</script>\x1b[31m "x" \u202e&amp;'
CLAIM_KEYS = {
    "id", "text", "start", "end", "citations", "evidence", "confidence", "p1", "p0", "required_bits", "observed_bits",
    "budget_gap", "status", "gap_type", "flagged", "reason", "spans",
}  # fmt: skip
REPORT_KEYS = {
    "id", "flagged", "risk", "grounding_ratio", "backend", "profile", "claims", "skipped", "spans", "error",
}  # fmt: skip


@pytest.fixture
def report() -> HallucinationReport:
    claim = Claim("c1", HOSTILE, 0, len(HOSTILE), ("S0",))
    evidence = (EvidenceRef("S0", 0, 6, "<b>no</b>"),)
    low = Estimate.point(0.05, 0.9, "fake", reason="evidence says <i>67</i> million")
    profile = Profile("default", 2.0, 0.95)
    verdicts = [judge(ClaimScores(claim, evidence, low, Estimate.point(0.05, 0.0, "fake")), profile)]
    skipped = [Claim("s1", "Is it?", 40, 46, kind=ClaimKind.QUESTION)]
    return summarise(Case(HOSTILE, (Source("S0", "x"),), id="r1"), verdicts, skipped, "fake", profile)


def test_json_keeps_the_contract(report: HallucinationReport) -> None:
    found = json.loads(to_json(report))
    assert set(found) >= REPORT_KEYS
    assert set(found["claims"][0]) >= CLAIM_KEYS
    assert found["claims"][0]["evidence"] == [{"source": "S0", "start": 0, "end": 6}]
    assert found["claims"][0]["status"] == "CONTRADICTED"
    assert found["skipped"] == [{"text": "Is it?", "start": 40, "end": 46, "kind": "question"}]
    assert set(failed_object("x", "broken", "local", "default")) == REPORT_KEYS


@pytest.mark.spec("SPEC-08.32")
def test_the_json_of_a_claim_has_the_figures_of_its_verdict(report: HallucinationReport) -> None:
    found = report_object(report)["claims"][0]
    assert (found["p0"], found["p1"], found["status"]) == (0.05, 0.05, "CONTRADICTED")
    assert found["observed_bits"] == 0.0, "p1 equals p0: the evidence adds nothing"
    assert found["required_bits"] > 0
    assert found["budget_gap"] == pytest.approx(found["required_bits"] - found["observed_bits"], abs=1e-4)


def test_an_unchecked_claim_is_null_not_nan() -> None:
    profile = Profile("default", 2.0, 0.95)
    missed = unchecked(Claim("c1", "x", 0, 1), "timeout: slow")
    report = summarise(Case("x", ()), [missed], [], "fake", profile)
    found = report_object(report)
    for figure in ("flagged", "risk", "grounding_ratio", "overall_confidence"):
        assert found[figure] is None
    out = io.StringIO()
    show_report(report, Console(file=out, width=140))
    assert "risk unknown" in out.getvalue()
    assert "risk unknown" in to_html(report)
    assert found["claims"][0]["p1"] is None
    assert "NaN" not in json.dumps(found)


@pytest.mark.spec("SPEC-16.34")
@pytest.mark.parametrize("terminal", [True, False])
def test_the_terminal_shows_every_figure_and_no_control_character(
    report: HallucinationReport, terminal: bool
) -> None:
    out = io.StringIO()
    colours: Literal["truecolor"] | None = "truecolor" if terminal else None
    show_report(report, Console(file=out, width=140, force_terminal=terminal, color_system=colours))
    text = out.getvalue()
    for word in (
        "CONTRADICTED",
        "0.05",
        "S0",
        "evidence says",
        "skipped (question)",
        "1 of 1 claims flagged",
    ):
        assert word in text
    assert "\u202e" not in text
    assert '[31m "x"' not in text.replace("\ufffd[31m", "")
    if not terminal:
        assert "⟦" in text
        assert "\x1b" not in text


@pytest.mark.parametrize("width", [30, 60, 80])
def test_a_narrow_terminal_shows_every_figure_and_breaks_no_word(
    report: HallucinationReport, width: int
) -> None:
    out = io.StringIO()
    show_report(report, Console(file=out, width=width))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    words = " ".join(out.getvalue().split())
    for word in (
        "c1 CONTRADICTED cites S0",
        "evidence says <i>67</i> million",
        "p1 0.05 · p0 0.05 · required",
    ):
        assert word in words


@pytest.mark.parametrize("width", [60, 140])
def test_names_of_sources_steer_no_terminal_and_no_page(report: HallucinationReport, width: int) -> None:
    name = "S\x1b[2J:smile:[bold]\u202e" + "x" * 60
    claim = replace(report.claims[0], citations=(name,), evidence=(EvidenceRef(name, 0, 6, "no"),))
    hostile = replace(report, claims=(claim,), error=f"{name} broke")
    out = io.StringIO()
    show_report(hostile, Console(file=out, width=width))
    for shown in (out.getvalue(), to_html(hostile)):
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert ":smile:" in shown
    assert max(map(len, out.getvalue().splitlines())) <= width


def test_the_page_is_one_file_and_runs_nothing(report: HallucinationReport) -> None:
    page = to_html(report)
    tree = lxml_html.fromstring(page)
    assert tree.xpath("//script | //link | //img | //iframe") == []
    assert not any("http" in value for value in tree.xpath("//@src | //@href"))
    assert tree.xpath("//article")[0].get("class") == "CONTRADICTED"
    assert "<script>alert(1)</script>" in tree.text_content()
    assert tree.xpath("//mark")


def test_marks_cover_the_text_exactly() -> None:
    text = "abcdef"
    assert "".join(p.text for p in split_at_spans(text, [Span(0, 2), Span(2, 3), Span(5, 6)])) == text
    assert bracket_spans(text, [Span(1, 3)]) == "a⟦bc⟧def"
