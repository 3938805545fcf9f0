"""Every result has a look in a notebook, and no text of a user becomes markup in it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from groundwire import check, verify_claim
from groundwire.types import (
    ClaimVerification,
    Derived,
    Detection,
    Feedback,
    Flag,
    HallucinationReport,
    HallucinationType,
    PostHoc,
    Status,
    Step,
    StepVerdict,
    TraceAudit,
    as_html,
)

EVIL = "<script>alert(1)</script>\x1b[31m\u202e\" onload='x' </td></table><img src=x onerror=y>\ud800"
ALLOWED = {"div", "span", "table", "thead", "tbody", "tr", "th", "td", "b", "i", "br", "mark"}


class Tags(HTMLParser):
    """The tags of a page with their attributes, and whether each that was opened was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def shown(result: object) -> str:
    html = result._repr_html_()  # type: ignore[attr-defined]
    assert isinstance(html, str)
    tags = Tags()
    tags.feed(html)
    assert tags.seen <= ALLOWED
    assert tags.attributes <= {"style", "dir"}
    assert tags.open == []
    assert not set("\x1b\u202e\ud800") & set(html)
    return html


@pytest.fixture(scope="module")
def report() -> HallucinationReport:
    return check("The bridge was closed in 1919.", "The bridge was closed in March 2019.")


def evil(claim: ClaimVerification) -> ClaimVerification:
    said = Feedback(False, Status.CONTRADICTED, True, datetime(2026, 11, 16, tzinfo=UTC), EVIL)
    refs = tuple(replace(ref, text=EVIL, source=EVIL) for ref in claim.evidence)
    return replace(claim, claim_id=EVIL, claim_text=EVIL, reason=EVIL, citations=(EVIL,), evidence=refs, feedback=said)


@pytest.mark.spec("SPEC-16.34")
def test_a_report_shows_its_answer_marked_its_claims_and_its_sum(report: HallucinationReport) -> None:
    html = shown(report)
    assert "1919</mark>" in html
    assert "contradicted" in html
    assert "1 of 1 claims flagged" in html


@pytest.mark.spec("SPEC-16.34")
def test_hostile_text_stays_text(report: HallucinationReport) -> None:
    claims = tuple(map(evil, report.claims))
    html = shown(replace(report, response=EVIL, claims=claims, spans=(), backend=EVIL, error=EVIL))
    assert "&lt;script&gt;" in html
    assert "a user marked “contradicted” wrong on 2026-11-16" in shown(claims[0])


def test_a_claim_shows_its_verdict_and_support() -> None:
    html = shown(verify_claim("The tower is 330 m tall.", "The tower is 330 m tall."))
    assert "supported" in html
    assert "100 %" in html


def test_an_audit_shows_its_steps_and_whether_the_answer_follows(report: HallucinationReport) -> None:
    verdict = evil(report.claims[0])
    step = StepVerdict(Step(EVIL, EVIL), Status.CONTRADICTED, verdict, contradicts=(EVIL,), circular=(EVIL,))
    audit = TraceAudit((step,), PostHoc(Derived.NO, EVIL, EVIL, "local", 0.1, EVIL), EVIL, EVIL, EVIL)
    assert "post_hoc" in shown(audit)
    assert "post_hoc" not in shown(replace(audit, post_hoc=PostHoc(Derived.ABSENT)))


def test_a_detection_shows_its_flags_or_that_there_are_none() -> None:
    flag = Flag(HallucinationType.WRONG_ATTRIBUTE, 0, 3, EVIL, 0.8, EVIL, EVIL)
    assert "WrongAttribute" in shown(Detection((flag,), skipped=(EVIL,), errors=(EVIL,)))
    assert "nothing found" in shown(Detection())


def test_nothing_huge_is_shown(report: HallucinationReport) -> None:
    huge = "word " * 1_000_000
    assert len(shown(replace(report, response=huge, spans=()))) < 10_000


def test_what_nobody_gave_a_look_is_shown_as_text() -> None:
    assert as_html(object()) is None
