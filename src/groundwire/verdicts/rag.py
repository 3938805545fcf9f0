"""The `rag` profile: the chatbot's grounding score and its `hallucination_check` object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from groundwire.types import ClaimVerification, Status

# Conventions of the chatbot's API (docs/rag.md); its clients rely on them.
EVIDENCE_USE = 0.15  # p1 - p0 above which the cited evidence was used
CONFIDENCE = 0.45  # confidence above which a claim is grounded
OVERALL = 0.70  # share of grounded claims from which the answer is
SURE = 0.7  # p1 above which a claim counts as well supported


@dataclass(frozen=True, slots=True)
class Grounding:
    confidence: float
    grounded: bool


def grounding(p1: float, p0: float, cited: bool) -> Grounding:
    """Score a claim by its p1 and p0; a cited source must also have been used (p1 clearly above p0).

    >>> grounding(0.92, 0.25, cited=True)
    Grounding(confidence=1.0, grounded=True)
    >>> grounding(0.45, 0.42, cited=False).grounded
    False
    """
    use = max(0.0, p1 - p0)
    if cited:
        confidence = min(1.0, use * 1.5 + (0.3 if p1 > SURE else 0.0))
        return Grounding(confidence, confidence > CONFIDENCE and use > EVIDENCE_USE)
    confidence = p1 * 0.7 if p1 > SURE else p1 * 0.4
    return Grounding(confidence, confidence > CONFIDENCE)


class CheckedClaim(TypedDict):
    text: str
    citing: list[str]
    p1: float | None
    p0: float | None
    confidence: float
    grounded: bool
    warning: str | None


class HallucinationCheck(TypedDict):
    overall_grounded: bool
    grounded_claims: int
    total_claims: int
    grounding_ratio: float
    claims: list[CheckedClaim]


_WARNINGS = {
    "en": (
        "no sufficient source was found",
        "could not be checked",
        "Note: {n} claims in the answer are not fully supported by the sources.",
        "Note: {n} claims in the answer could not be checked.",
    ),
    "he": (
        "לא נמצא מקור מספק",
        "לא ניתן היה לבדוק",
        "שים לב: {n} טענות בתשובה לא נתמכות במלואן על ידי המקורות.",
        "שים לב: לא ניתן היה לבדוק {n} טענות בתשובה.",
    ),
}


def language(text: str) -> str:
    """'he' if Hebrew letters outnumber Latin ones, else 'en'."""
    hebrew = sum("\u05d0" <= c <= "\u05ea" for c in text)
    return "he" if hebrew > sum("a" <= c.lower() <= "z" for c in text) else "en"


def hallucination_check(claims: Sequence[ClaimVerification], response: str) -> HallucinationCheck:
    """The `hallucination_check` object of the chatbot's API."""
    unsupported, unchecked, *_ = _WARNINGS[language(response)]
    rows = [_row(c, unchecked if c.status is Status.UNCHECKED else unsupported) for c in claims]
    good = sum(row["grounded"] for row in rows)
    ratio = good / len(rows) if rows else 1.0
    return {
        "overall_grounded": ratio >= OVERALL,
        "grounded_claims": good,
        "total_claims": len(rows),
        "grounding_ratio": round(ratio, 4),
        "claims": rows,
    }


def _row(claim: ClaimVerification, warning: str) -> CheckedClaim:
    p1, p0 = claim.p1 or 0.0, claim.p0 or 0.0
    score = grounding(p1, p0, bool(claim.citations))
    grounded = score.grounded and claim.status is Status.ENTAILED
    return {
        "text": claim.claim_text,
        "citing": list(claim.citations),
        "p1": _rounded(claim.p1),
        "p0": _rounded(claim.p0),
        "confidence": round(score.confidence, 4),
        "grounded": grounded,
        "warning": None if grounded else warning,
    }


def _rounded(probability: float | None) -> float | None:
    return None if probability is None else round(probability, 4)


def warning(check: HallucinationCheck, response: str) -> str | None:
    """The warning shown with an answer if claims are ungrounded or could not be checked."""
    _, unchecked, *sentences = _WARNINGS[language(response)]
    missed = sum(row["warning"] == unchecked for row in check["claims"])
    counts = (check["total_claims"] - check["grounded_claims"] - missed, missed)
    shown = [sentence.format(n=n) for sentence, n in zip(sentences, counts, strict=True) if n]
    return " ".join(shown) or None
