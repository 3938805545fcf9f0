"""JSON, terminal and page show the same report, and hostile text stays text."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from importlib.resources import files
from typing import Literal

import pytest
from lxml import html as lxml_html
from rich.console import Console

from groundwire.reports.html import to_html
from groundwire.reports.json import failed_object, report_object, to_json
from groundwire.reports.plaintext import bracketed, split_at_spans
from groundwire.reports.terminal import progress_bar, show_repair, show_report
from groundwire.types import (
    Action,
    ActionKind,
    Case,
    Claim,
    ClaimKind,
    Estimate,
    EvidenceRef,
    HallucinationReport,
    Repair,
    Source,
    Span,
    Status,
)
from groundwire.verdicts.judge import ClaimScores, Profile, judge, unchecked
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
    assert set(failed_object("x", "broken", "local", "default")) == set(found)


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
def test_the_terminal_leads_with_verdict_support_and_evidence_and_no_control_character(
    report: HallucinationReport, terminal: bool
) -> None:
    out = io.StringIO()
    colours: Literal["truecolor"] | None = "truecolor" if terminal else None
    show_report(report, Console(file=out, width=140, force_terminal=terminal, color_system=colours))
    text = out.getvalue()
    for word in (
        "contradicted",
        "5 %",
        "S0",
        "evidence says",
        "skipped (question)",
        "1 of 1 claims flagged",
        "0 % grounded · risk",
    ):
        assert word in text
    assert "required" not in text
    assert "\u202e" not in text
    assert '[31m "x"' not in text.replace("\ufffd[31m", "")
    if not terminal:
        assert "⟦" in text
        assert "\x1b" not in text


@pytest.mark.parametrize("width", [30, 60, 80])
def test_a_narrow_terminal_shows_the_same_and_breaks_no_word(report: HallucinationReport, width: int) -> None:
    out = io.StringIO()
    show_report(report, Console(file=out, width=width), bits=True)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    words = " ".join(out.getvalue().split())
    for word in ("c1 contradicted 5 %", "evidence says <i>67</i> million", "p1 0.05 · p0 0.05 · required"):
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
    assert tree.xpath("//article[@id='c1']")[0].get("class") == "card claim CONTRADICTED"
    assert "<script>alert(1)</script>" in tree.text_content()
    assert tree.xpath("//a[@class='c CONTRADICTED flag hot']")


def test_marks_cover_the_text_exactly() -> None:
    text = "abcdef"
    assert "".join(p.text for p in split_at_spans(text, [Span(0, 2), Span(2, 3), Span(5, 6)])) == text
    assert bracketed(split_at_spans(text, [Span(1, 3)])) == "a⟦bc⟧def"


def shown(report: HallucinationReport, width: int = 140, *, bits: bool = False) -> str:
    out = io.StringIO()
    show_report(report, Console(file=out, width=width), bits=bits)
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 140])
def test_bits_are_shown_on_request_and_where_an_llm_measured_them(report: HallucinationReport, width: int) -> None:
    measured = replace(report, claims=(replace(report.claims[0], method="openai/logprob"),))
    assert "required" not in shown(report, width)
    assert "required" in shown(report, width, bits=True)
    assert "required" in shown(measured, width)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (Status.ENTAILED, "supported"),
        (Status.CONTRADICTED, "contradicted"),
        (Status.NOT_IN_CONTEXT, "not in the sources"),
        (Status.UNVERIFIABLE, "could not be checked"),
        (Status.UNCHECKED, "could not be checked"),
    ],
)
def test_terminal_html_notebook_and_page_use_the_same_words(
    report: HallucinationReport, status: Status, words: str
) -> None:
    one = replace(report, claims=(replace(report.claims[0], status=status),))
    page = (files("groundwire.server") / "page" / "words.js").read_text(encoding="utf-8")
    for text in (shown(one), to_html(one), one._repr_html_() or "", page.lower()):
        assert words in text
    assert status.value not in shown(one)


def test_the_headline_says_that_a_vague_claim_could_not_be_checked(report: HallucinationReport) -> None:
    vague = replace(report.claims[0], status=Status.UNVERIFIABLE, reason="too vague to judge", is_flagged=False)
    one = replace(report, claims=(vague,), flagged=False)
    assert "Nothing flagged, but 1 claim could not be checked" in to_html(one)
    assert "too vague to judge" in shown(one)


def test_a_supported_claim_has_no_reason_that_only_says_so_again(report: HallucinationReport) -> None:
    fine = replace(report.claims[0], status=Status.ENTAILED, reason="supported by the sources", is_flagged=False)
    one = replace(report, claims=(fine,))
    assert "supported by the sources" not in shown(one)
    assert "supported by the sources" not in to_html(one)


def test_the_answer_is_reflowed_and_its_marks_stay_in_place(report: HallucinationReport) -> None:
    text = "The tower on the river bank of the old town was built by\nthe city in 1889.\n- a\n- b\n"
    one = replace(report, response=text, spans=(Span(53, 65),), claims=())
    assert shown(one).startswith(
        "The tower on the river bank of the old town was built⟦ by the city⟧ in 1889.\n- a\n- b\n"
    )


MARKDOWN = """# Prices
Adults pay **8 pounds** and `staff` nothing.

- children
  - under *twelve*

| year | visitors |
|------|----------|
| 2024 | 48,200   |

```python
x = "<b>"
```
"""


def test_html_shows_headings_lists_tables_and_code_as_such(report: HallucinationReport) -> None:
    tree = lxml_html.fromstring(to_html(replace(report, response=MARKDOWN, claims=(), spans=())))
    answer = tree.xpath("//article[contains(@class, 'answer')]")[0]
    found = {
        tag: [e.text_content() for e in answer.iter(tag)] for tag in ("h3", "b", "i", "code", "li", "th", "td", "pre")
    }
    assert found == {
        "h3": ["Prices"], "b": ["8 pounds"], "i": ["twelve"], "code": ["staff"], "li": ["children", "under twelve"],
        "th": ["year", "visitors"], "td": ["2024", "48,200"], "pre": ['x = "<b>"'],
    }  # fmt: skip
    assert answer.xpath(".//li/@class") == ["depth0", "depth1"]


def test_claims_and_spans_of_markdown_are_marked_where_they_stand(report: HallucinationReport) -> None:
    start = MARKDOWN.index("Adults")
    claim = replace(report.claims[0], start=start, end=MARKDOWN.index("\n", start))
    at = MARKDOWN.index("8 pounds")
    one = replace(report, response=MARKDOWN, claims=(claim,), spans=(Span(at, at + 8),))
    tree = lxml_html.fromstring(to_html(one))
    marked = tree.xpath("//article[contains(@class, 'answer')]//a")
    assert "".join(a.text_content() for a in marked) == "Adults pay 8 pounds and staff nothing."
    assert [a.text_content() for a in marked if "hot" in a.get("class")] == ["8 pounds"]


def test_a_report_gives_itself_as_dict_and_json(report: HallucinationReport) -> None:
    assert report.to_dict() == report_object(report)
    assert json.loads(report.to_json()) == json.loads(to_json(report))
    assert report.claims[0].to_dict() == report_object(report)["claims"][0]


@pytest.mark.spec("SPEC-16.34")
def test_json_has_gaps_retry_guidance_support_and_dependence(report: HallucinationReport) -> None:
    found = report.to_dict()
    assert (found["total_claims"], found["verified_claims"], found["flagged_claims"]) == (1, 0, 1)
    assert found["gaps"] == [
        {
            "claim_id": "c1",
            "claim_text": HOSTILE,
            "gap_type": "contradicted",
            "gap_bits": found["max_gap_bits"],
            "suggested_action": "correct it to what the evidence says",
        }
    ]
    assert (found["has_critical_gaps"], found["should_retry"]) == (True, True)
    assert "evidence says" in found["retry_guidance"]
    claim = found["claims"][0]
    assert (claim["evidence_support"], claim["evidence_dependence"]) == (0.05, 0.0)


def test_flagged_claims_is_a_list_and_its_repr_is_short(report: HallucinationReport) -> None:
    claim = replace(report.claims[0], claim_text="The tower is 450 metres tall. " * 20)
    one = replace(report, claims=(claim,))
    assert one.flagged_claims == [claim]
    assert repr(one.flagged_claims).startswith("[ClaimVerification(c1, CONTRADICTED, p1=0.05, 'The tower is 450")
    assert len(repr(one.flagged_claims)) < 130
    assert repr(one) == "HallucinationReport('r1', flagged=True, 1 of 1 claims flagged)"


def test_progress_in_a_log_is_a_line_now_and_then() -> None:
    seconds = iter([0.0, 4.0, 11.0, 11.0, 12.0, 22.0, 22.0])
    out = io.StringIO()
    with progress_bar(Console(file=out, width=80), lambda: next(seconds)) as progress:
        task = progress.add_task("checking", total=40)
        for _ in range(4):
            progress.advance(task)
    assert out.getvalue() == "checking: 2 of 40 (5 %)\nchecking: 4 of 40 (10 %)\n"


def test_a_report_is_a_table_with_one_row_per_claim(report: HallucinationReport) -> None:
    pytest.importorskip("pandas")
    frame = report.to_pandas()
    assert frame[["response", "id", "status", "flagged", "sources"]].to_numpy().tolist() == [
        ["r1", "c1", "CONTRADICTED", True, "S0"]
    ]


def test_tables_of_reports_have_the_same_types_whether_or_not_all_is_measured(report: HallucinationReport) -> None:
    pytest.importorskip("pandas")
    unmeasured = replace(report, risk=None, claims=(replace(report.claims[0], p1=None, p0=None),))
    assert [str(kind) for kind in unmeasured.to_pandas()[["p1", "p0", "response_risk"]].dtypes] == ["float64"] * 3


def test_an_answer_that_is_wrong_throughout_says_why_it_is_not_repaired() -> None:
    out = io.StringIO()
    again = Action(ActionKind.REGENERATE, guidance="Please regenerate your response, addressing these issues:")
    show_repair(Repair("It is red.", "It is red.", (), (again,)), "", Console(file=out, width=140))
    assert out.getvalue().split("\n")[1:3] == [
        "The answer was not repaired: too much of it is wrong. To get a better one, send:",
        "Please regenerate your response, addressing these issues:",
    ]
