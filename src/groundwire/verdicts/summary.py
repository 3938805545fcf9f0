"""Build the report on a response from the verdicts on its claims and the findings of the detectors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from math import pow

from typing_extensions import TypedDict  # pydantic reads its schema also on Python 3.11

from groundwire.budget import required_bits
from groundwire.claims.extractor import statements
from groundwire.reports.plaintext import nearest_evidence
from groundwire.text.sentences import place_spans
from groundwire.types import (
    NOTHING_TO_CHECK,
    Case,
    Claim,
    ClaimKind,
    ClaimVerification,
    Detection,
    EpistemicGap,
    Flag,
    GapType,
    HallucinationReport,
    HallucinationType,
    Source,
    Span,
    Status,
    Turn,
)
from groundwire.verdicts.judge import OVERALL, Profile, grounding

# ---- how risky a claim and a response are, and the dial that sets where a risk becomes a flag


def claim_risk(verdict: ClaimVerification) -> float:
    """How likely the claim is unsupported. Claims without an estimate and vague ones have no risk."""
    if verdict.gap_type is GapType.PHANTOM_CITATION:
        return 1.0
    if verdict.p1 is None or verdict.status is Status.UNVERIFIABLE:
        return 0.0
    return 1.0 - verdict.p1


MOST_CLAIMS = 3
"""Claims of a response that its prior counts. Long answers of real models are wrong more often than short ones: on
252 held-out answers, counting every claim ranks RAGTruth's with an AUROC of .777 and counting three with .825."""


def with_odds(p_yes: float, claims: int) -> float:
    """P(supported) of a claim in a response of so many claims.

    A claim's own P(yes) takes it to be as likely right as wrong before any evidence. A response of up to three claims
    is taken to be as likely right as wrong, so each of its claims is more likely right than one alone.

    >>> [round(with_odds(0.5, claims), 2) for claims in (1, 2, 3, 8)]
    [0.5, 0.71, 0.79, 0.79]
    """
    share = pow(0.5, 1 / min(max(1, claims), MOST_CLAIMS))
    odds = share / (1.0 - share)
    return odds * p_yes / (1.0 + (odds - 1.0) * p_yes)


def response_risk(claims: Sequence[ClaimVerification]) -> float:
    """How likely the riskiest claim is unsupported, given the number of claims.

    The others do not count: many claims that are each a little doubtful do not make a wrong answer.
    """
    count = sum(claim.p1 is not None for claim in claims)
    return 1.0 - with_odds(1.0 - max(map(claim_risk, claims), default=0.0), count)


def apply_response_threshold(verdicts: Sequence[ClaimVerification], threshold: float | None) -> list[ClaimVerification]:
    """The flags as a `risk_threshold` sets them: there are some exactly where the response's risk exceeds it.

    The risk does not depend on the dial: that is what lets a threshold chosen on labelled rows keep its
    promise on new ones. Which claims are flagged stays with the judgement; if none, then the riskiest.
    """
    if threshold is None:
        return list(verdicts)
    if response_risk(verdicts) <= threshold:
        within = f"(not flagged: the answer's risk is within the risk_threshold of {threshold:g})"
        return [
            replace(v, is_flagged=False, reason=f"{v.reason} {within}", spans=()) if v.is_flagged else v
            for v in verdicts
        ]
    if any(v.is_flagged for v in verdicts):
        return list(verdicts)
    worst = max(verdicts, key=claim_risk)
    doubted = replace(
        worst,
        status=Status.NOT_IN_CONTEXT,
        gap_type=GapType.PARTIAL_SUPPORT,
        is_flagged=True,
        reason=f"the least supported claim of an answer whose risk is over the risk_threshold of {threshold:g}",
    )
    return [doubted if v is worst else v for v in verdicts]


# ---- the `hallucination_check` object of the profile `rag`


class CheckedClaim(TypedDict):
    """`p1` and `p0` are the probabilities with and without the evidence; null if it could not be checked, which
    never counts as `grounded`.
    """

    text: str
    citing: list[str]
    p1: float | None
    p0: float | None
    confidence: float
    grounded: bool
    warning: str | None


class HallucinationCheck(TypedDict):
    """`overall_grounded`: at least 70 % of the claims are grounded."""

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
        "p1": None if claim.p1 is None else round(claim.p1, 4),
        "p0": None if claim.p0 is None else round(claim.p0, 4),
        "confidence": round(score.confidence, 4),
        "grounded": grounded,
        "warning": None if grounded else warning,
    }


def warning(check: HallucinationCheck, response: str) -> str | None:
    """The warning shown with an answer if claims are ungrounded or could not be checked."""
    _, unchecked, *sentences = _WARNINGS[language(response)]
    missed = sum(row["warning"] == unchecked for row in check["claims"])
    counts = (check["total_claims"] - check["grounded_claims"] - missed, missed)
    shown = [sentence.format(n=n) for sentence, n in zip(sentences, counts, strict=True) if n]
    return " ".join(shown) or None


# ---- the report

ACTIONS = {
    GapType.UNSUPPORTED: "remove it, or find a source that says it",
    GapType.PARTIAL_SUPPORT: "keep what the evidence says and drop the rest",
    GapType.PHANTOM_CITATION: "cite a source that exists",
    GapType.CONTRADICTED: "correct it to what the evidence says",
    GapType.OVER_EXTRAPOLATION: "say no more than the evidence does, or mark it as an inference",
    GapType.EVIDENCE_INDEPENDENT: "nothing to do; the claim holds without its citation",
    GapType.KNOWN_NOT_IN_SOURCES: "add a source that says it, or mark it as general knowledge",
}

EVEN_PRIOR = 0.5
"""Prior of a claim that no verifier was asked about (a phantom citation): its gap is what it needs."""


def summarise(
    case: Case, verdicts: Sequence[ClaimVerification], skipped: Sequence[Claim], backend: str, profile: Profile
) -> HallucinationReport:
    """Build the report of a case.

    Args:
        verdicts: the verdicts on its claims.
        skipped: sentences that were not verified.
        backend: name of the verifier's backend.
        profile: the profile that the verdicts were made with.
    """
    claims = tuple(in_response(verdict, case.response) for verdict in verdicts)
    gaps = tuple(gap_of(c) for c in claims if c.gap_type is not None)
    critical = [c for c in claims if _is_critical(c, profile.critical_bits)]
    checked = [c for c in claims if c.status is not Status.UNCHECKED]
    missed = [c for c in claims if c.status is Status.UNCHECKED]
    error = f"{len(missed)} of {len(claims)} claims {missed[0].reason}" if missed else None
    error = error or _nothing_to_check(case, claims, skipped)
    measured = bool(checked) or (not claims and bool(case.sources) and error is None)
    flagged = any(c.is_flagged for c in claims)
    supported = sum(c.status is Status.ENTAILED for c in checked)
    return HallucinationReport(
        response_id=case.id,
        response=case.response,
        backend=backend,
        profile=profile.name,
        claims=claims,
        skipped=tuple(skipped),
        gaps=gaps,
        spans=merged([span for c in claims for span in c.spans]),
        flagged=None if error and not flagged else flagged,
        risk=response_risk(claims) if measured else None,
        grounding_ratio=supported / len(checked) if checked else 1.0 if measured else None,
        overall_confidence=_confidence(checked) if measured else None,
        has_critical_gaps=bool(critical),
        should_retry=bool(critical),
        retry_guidance=_guidance(critical),
        error=error,
        extra=_extra(claims, case.response, profile, backend),
    )


def in_response(verdict: ClaimVerification, response: str) -> ClaimVerification:
    """Convert the spans to offsets in the response; a flagged claim without spans becomes one span."""
    if not verdict.is_flagged:
        return verdict
    raw = response[verdict.start : verdict.end]
    placed = place_spans(verdict.claim_text, raw, verdict.spans, verdict.start)
    whole = Span(verdict.start, verdict.end, round(claim_risk(verdict), 4))
    return replace(verdict, spans=placed or (whole,))


def gap_of(claim: ClaimVerification) -> EpistemicGap:
    assert claim.gap_type is not None
    unmeasured = required_bits(EVEN_PRIOR, claim.confidence)
    bits = max(0.0, unmeasured if claim.budget_gap is None else claim.budget_gap)
    return EpistemicGap(claim.claim_id, claim.claim_text, claim.gap_type, bits, ACTIONS[claim.gap_type])


def _is_critical(claim: ClaimVerification, critical_bits: float) -> bool:
    if not claim.is_flagged:
        return False
    certain_kind = claim.gap_type in (GapType.PHANTOM_CITATION, GapType.CONTRADICTED)
    if claim.budget_gap is None:  # p0 was not asked for, because p1 alone is too low for any gap to close
        return certain_kind or claim.p1 is not None
    return certain_kind or claim.budget_gap > critical_bits


def _nothing_to_check(case: Case, claims: Sequence[ClaimVerification], skipped: Sequence[Claim]) -> str | None:
    """An error for text without any assertion: it may contain a claim that was not recognised as one.

    Not without sources, where the detectors alone decide, nor if assertions were skipped on purpose.
    """
    asserted = claims or any(claim.kind is ClaimKind.ASSERTION for claim in skipped)
    says = bool(case.sources) and not asserted and any(map(str.isalnum, case.response))
    return NOTHING_TO_CHECK if says else None


def _confidence(checked: Sequence[ClaimVerification]) -> float:
    """Mean support of the claims, weighted by the confidence that each expresses."""
    weights = [c.confidence for c in checked]
    if not sum(weights):
        return 1.0 if not checked else 0.0
    return sum((c.p1 or 0.0) * w for c, w in zip(checked, weights, strict=True)) / sum(weights)


def _guidance(critical: Sequence[ClaimVerification]) -> str | None:
    if not critical:
        return None
    lines = [f'- "{c.claim_text}": {c.reason}' for c in critical]
    return "Answer again, using only the evidence. It does not support these claims:\n" + "\n".join(lines)


def _extra(claims: Sequence[ClaimVerification], response: str, profile: Profile, backend: str) -> dict[str, object]:
    # More than one verifier may have judged the claims.
    extra: dict[str, object] = {"decided_by": Counter(c.method for c in claims)} if backend == "cascade" else {}
    if profile.name != "rag":
        return extra
    check = hallucination_check(claims, response)
    return {**extra, "hallucination_check": check, "warning": warning(check, response)}


def merged(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Sort and merge overlapping spans; a merged span has the higher score."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, s.end)):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Span(last.start, max(last.end, span.end), max(last.score, span.score))
        else:
            merged.append(span)
    return tuple(merged)


# ---- findings of the detectors, and what a response may rest on besides its sources


# Flags for things missing in the knowledge base; a source that supports the claim overrules them.
_ABSENCE = (
    HallucinationType.FABRICATED_FACT,
    HallucinationType.NONEXISTENT_ENTITY,
    HallucinationType.UNSUPPORTED_CLAIM,
)
KB = "kb"
_NUMBER = re.compile(r"[$€£¥]?\d[\d.,]*(?<![.,])%?")
_NOTHING = re.compile(r"(?!)")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DATE = re.compile(rf"(?:\d{{1,2}}\s+)?{_MONTH}\s+(?:\d{{1,2}},\s+)?\d{{4}}|\b\d{{4}}\b")
_SAYS = re.compile(r"evidence says (?!')(.+)")
_PHANTOM_CONFIDENCE = 0.7  # below the default threshold of corrections: the claim itself may be true


def add_kb_source(case: Case, detection: Detection | None) -> Case:
    """Add the matching facts of the knowledge base to the sources, so that they can support claims."""
    if detection is None or not detection.known or not case.sources:
        return case
    taken = {source.id for source in case.sources}
    name = next(name for name in (f"{KB}{n or ''}" for n in count()) if name not in taken)
    return replace(case, sources=(*case.sources, Source(name, detection.known)))


def user_statements(history: Sequence[Turn]) -> list[Source]:
    """What the user stated in earlier turns, as sources: an answer may repeat it.

    Questions are left out: an answer must not take for true what the user only asks.
    """
    told = ((turn, statements(turn.text)) for turn in history if turn.role == "user")
    return [Source(f"turn {turn.id}", text) for turn, text in told if text]


def add_history_sources(case: Case) -> Case:
    """Add what the user stated before to the sources, unless the caller already did."""
    if not case.sources:
        return case
    given = {source.text for source in case.sources} | {source.id for source in case.sources}
    told = [s for s in user_statements(case.history) if s.id not in given and s.text not in given]
    return replace(case, sources=(*case.sources, *told)) if told else case


def with_detection(report: HallucinationReport, detection: Detection) -> HallucinationReport:
    """Add the detectors' findings to a report; what a source supports is not reported as unknown."""
    supported = [c for c in report.claims if c.status is Status.ENTAILED and not c.is_flagged]
    flags = tuple(
        flag
        for flag in detection.flags
        if flag.type not in _ABSENCE or not any(c.start < flag.end and flag.start < c.end for c in supported)
    )
    spans = [Span(flag.start, flag.end, flag.confidence) for flag in flags]
    error = "; ".join(filter(None, (report.error, *detection.errors))) or None
    unflagged = None if error and not report.flagged else report.flagged
    return replace(
        report,
        detection=replace(detection, flags=flags),
        spans=merged([*report.spans, *spans]),
        flagged=True if flags else unflagged,
        risk=max((r for r in (report.risk, *(f.confidence for f in flags)) if r is not None), default=None),
        error=error,
    )


def budget_flags(report: HallucinationReport) -> list[Flag]:
    """Convert flagged claims into flags, so that they can be repaired too."""
    return [_as_flag(claim, report.response) for claim in report.claims if claim.is_flagged]


def _as_flag(claim: ClaimVerification, response: str) -> Flag:
    contradicted = claim.status is Status.CONTRADICTED
    kind = HallucinationType.CONTRADICTS_FACT if contradicted else HallucinationType.UNSUPPORTED_CLAIM
    confidence = _PHANTOM_CONFIDENCE if claim.gap_type is GapType.PHANTOM_CITATION else 1 - (claim.p1 or 0.0)
    content = response[claim.start : claim.end]
    correction, fix = _correction(claim, response) if contradicted else ("", None)
    evidence = nearest_evidence(claim)
    return Flag(
        kind, claim.start, claim.end, content, confidence,
        evidence=claim.reason, correction=correction, fix=fix, source=evidence.source if evidence else "",
    )  # fmt: skip


def _correction(claim: ClaimVerification, response: str) -> tuple[str, tuple[int, int] | None]:
    """The value in the evidence, if one value of the claim is wrong and the reason names the right one."""
    stated = _SAYS.fullmatch(claim.reason)
    if not stated:
        return "", None
    value = stated.group(1).strip()
    places = [(m.start(), m.end()) for m in _like(value).finditer(response, claim.start, claim.end)]
    if len(places) > 1:
        places = [(a, b) for a, b in places if any(a < span.end and span.start < b for span in claim.spans)]
    return (value, places[0]) if len(places) == 1 else ("", None)


def _like(value: str) -> re.Pattern[str]:
    """The pattern of such values: a number followed by the same number of words, or a date."""
    number = _NUMBER.match(value)
    if number:
        more = len(value[number.end() :].split())
        return re.compile(rf"{_NUMBER.pattern}(?:[\s-]+[^\W\d_]+){{{more}}}")
    return _DATE if _DATE.fullmatch(value) else _NOTHING
