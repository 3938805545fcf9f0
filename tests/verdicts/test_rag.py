from __future__ import annotations

from dataclasses import replace

import pytest

from groundwire.types import Claim, ClaimVerification, Estimate
from groundwire.verdicts.judge import REDACTED, ClaimScores, Profile, grounding, judge, unchecked
from groundwire.verdicts.summary import hallucination_check, language, warning

RAG = Profile("rag", 2.0, 0.95, marker=REDACTED, min_chars=15, max_claims=10)


@pytest.mark.parametrize(
    ("p1", "p0", "cited", "confidence", "grounded"),
    [
        (0.92, 0.25, True, 1.0, True),
        (0.45, 0.42, False, 0.18, False),
        (0.90, 0.80, True, 0.45, False),
        (0.60, 0.50, True, 0.15, False),
        (0.80, 0.10, False, 0.56, True),
        (0.20, 0.90, True, 0.0, False),
    ],
)
def test_the_grounding_score_is_the_formula_s(
    p1: float, p0: float, cited: bool, confidence: float, grounded: bool
) -> None:
    found = grounding(p1, p0, cited)
    assert found.confidence == pytest.approx(confidence)
    assert found.grounded is grounded


def verdict(p1: float, p0: float, text: str = "claim", cites: tuple[str, ...] = ("S0",)) -> ClaimVerification:
    claim = Claim("c1", text, 0, len(text), cites)
    return judge(ClaimScores(claim, (), Estimate.point(p1, 0.0, "f"), Estimate.point(p0, 0.0, "f")), RAG)


def test_the_check_has_exactly_the_chatbot_s_keys_and_its_seventy_percent_rule() -> None:
    claims = [verdict(0.92, 0.1), verdict(0.92, 0.1), verdict(0.92, 0.1), verdict(0.45, 0.42)]
    found = hallucination_check(claims, "English")
    assert list(found) == ["overall_grounded", "grounded_claims", "total_claims", "grounding_ratio", "claims"]
    assert list(found["claims"][0]) == ["text", "citing", "p1", "p0", "confidence", "grounded", "warning"]
    assert (found["overall_grounded"], found["grounding_ratio"]) == (True, 0.75)
    assert not hallucination_check(claims[1:], "English")["overall_grounded"]


def test_warnings_speak_the_answer_s_language() -> None:
    found = hallucination_check([verdict(0.4, 0.4, "זה נפוץ במקרים דומים")], "זה נפוץ במקרים דומים")
    assert found["claims"][0]["warning"] == "לא נמצא מקור מספק"
    assert warning(found, "זה נפוץ במקרים דומים") == "שים לב: 1 טענות בתשובה לא נתמכות במלואן על ידי המקורות."
    assert language("The price is 50 ש״ח") == "en"
    assert warning(hallucination_check([verdict(0.95, 0.1)], "x"), "x") is None


def test_what_could_not_be_checked_is_not_said_to_lack_a_source() -> None:
    missed = unchecked(Claim("c1", "x", 0, 1), "timeout: slow")
    found = hallucination_check([missed], "English")
    assert (found["overall_grounded"], found["claims"][0]["warning"]) == (False, "could not be checked")
    assert warning(found, "English") == "Note: 1 claims in the answer could not be checked."
    both = hallucination_check([missed, verdict(0.4, 0.4)], "תשובה")
    assert warning(both, "תשובה") == (
        "שים לב: 1 טענות בתשובה לא נתמכות במלואן על ידי המקורות. שים לב: לא ניתן היה לבדוק 1 טענות בתשובה."
    )


def test_a_contradiction_is_never_grounded() -> None:
    denied = replace(verdict(0.92, 0.1), status=verdict(0.1, 0.1).status)
    assert not hallucination_check([denied], "x")["claims"][0]["grounded"]
