from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from groundwire.reports.html import audit_page
from groundwire.reports.json import audit_json
from groundwire.reports.terminal import show_audit
from groundwire.types import Claim, Derived, GapType, PostHoc, Status, Step, StepVerdict, TraceAudit
from groundwire.verdicts.judge import unmeasured

NASTY = "\x1b[31mred\x1b[0m <script>alert('x')</script> \u202eevil & \"quotes\""


def audit(outcome: Derived = Derived.NO, error: str | None = None) -> TraceAudit:
    claim = Claim("step1", NASTY, 0, len(NASTY), ("S0",))
    verdict = unmeasured(claim, Status.CONTRADICTED, GapType.CONTRADICTED, NASTY, "rule")
    step = StepVerdict(Step("step1", NASTY, ("S0",)), verdict.status, verdict, (), ("step0",), ("step9",))
    return TraceAudit((step,), PostHoc(outcome, NASTY, NASTY, NASTY, 0.2, NASTY), "local", NASTY, error)


def shown(found: TraceAudit, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    show_audit(found, console)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


@pytest.mark.spec("SPEC-16.34")
@pytest.mark.parametrize("width", [60, 120])
@pytest.mark.parametrize("outcome", list(Derived))
def test_a_terminal_is_told_all_and_steered_by_nothing(width: int, outcome: Derived) -> None:
    text = shown(audit(outcome), width)
    assert "contradicted" in text
    assert "1 of 1 steps flagged" in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert ("derived again by" in text) is (outcome is not Derived.ABSENT)


@pytest.mark.parametrize("outcome", list(Derived))
def test_a_page_holds_no_markup_of_the_trace(outcome: Derived) -> None:
    page = audit_page(audit(outcome, error="gone <b>"))
    assert "<script" not in page
    assert "<b>?" not in page
    assert "\u202e" not in page
    assert "contradicts step0" in page
    assert "gone &lt;b&gt;" in page


def test_json_has_every_field_and_survives_the_way() -> None:
    found = json.loads(audit_json(audit()))
    assert set(found) == {"flagged", "question", "backend", "steps", "post_hoc", "actions", "error"}
    assert {"p0", "p1", "required_bits", "observed_bits", "budget_gap", "status"} <= set(found["steps"][0])
    assert (found["steps"][0]["contradicts"], found["steps"][0]["circular"]) == (["step0"], ["step9"])
    assert found["post_hoc"]["outcome"] == "post_hoc"


def test_could_not_check_is_neither_fine_nor_flagged() -> None:
    claim = Claim("step1", "It is so.", 0, 9)
    verdict = unmeasured(claim, Status.UNCHECKED, None, "could not be checked: timeout", "none")
    step = StepVerdict(Step("step1", "It is so."), verdict.status, verdict)
    found = TraceAudit((step,), PostHoc(Derived.ABSENT), "local", error="1 of 1 steps could not be checked")
    assert found.flagged is None
    assert "could not be checked" in shown(found, 120)
