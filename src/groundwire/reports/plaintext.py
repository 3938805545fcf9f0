"""Text helpers shared by the report formats: safe text, marked spans, quotes, one-line summaries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groundwire.text.controls import sanitize
from groundwire.text.tokens import words
from groundwire.types import (
    ActionKind,
    ClaimVerification,
    Derived,
    EvidenceRef,
    Feedback,
    Flag,
    HallucinationReport,
    PostHoc,
    Repair,
    Span,
    StepVerdict,
    TraceAudit,
)

QUOTE_CHARS = 160
"""Length of a quoted text in a table or a list: two lines on a wide terminal."""
_ANSWER_WORDS = {
    Derived.YES: "the answer follows from the steps",
    Derived.NO: "the answer does not follow from the steps",
    Derived.UNCHECKED: "the answer could not be derived again",
    Derived.ABSENT: "",
}
_NAMED_VALUE = re.compile(r"(?:evidence says|the sources say) '?(.+?)'?(?: here|, not .*)?\Z")


def shorten(text: str, limit: int = QUOTE_CHARS) -> str:
    """Sanitized text on one line, cut with an ellipsis after `limit` characters."""
    line = " ".join(sanitize(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def format_number(value: float | None, digits: int) -> str:
    """A number with a true minus sign and no negative zero; a dash for None.

    >>> format_number(-1.25, 1), format_number(-0.01, 1), format_number(None, 1)
    ('−1.2', '0.0', '–')
    """
    return "–" if value is None else f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


@dataclass(frozen=True, slots=True)
class MarkedPiece:
    text: str
    marked: bool


def split_at_spans(text: str, spans: Sequence[Span]) -> Iterator[MarkedPiece]:
    """Cut the text into marked and unmarked pieces. Spans must be sorted and must not overlap.

    >>> [p.text for p in split_at_spans("It is red.", [Span(6, 9)])]
    ['It is ', 'red', '.']
    """
    at = 0
    for span in spans:
        if span.start > at:
            yield MarkedPiece(text[at : span.start], marked=False)
        yield MarkedPiece(text[span.start : span.end], marked=True)
        at = span.end
    if at < len(text):
        yield MarkedPiece(text[at:], marked=False)


def bracket_spans(text: str, spans: Sequence[Span], before: str = "⟦", after: str = "⟧") -> str:
    """The text with its spans in brackets, for output without colour."""
    return "".join(f"{before}{p.text}{after}" if p.marked else p.text for p in split_at_spans(text, spans))


def feedback_line(feedback: Feedback) -> str:
    """A user's feedback on a verdict, in one line."""
    verdict = "right" if feedback.right else "wrong"
    truth = "supported" if feedback.supported else "not supported"
    marked = f"a user marked {feedback.status.value} {verdict} on {feedback.at:%Y-%m-%d}"
    return f"{marked}: the claim is {truth}" + (f" ({feedback.note})" if feedback.note else "")


def nearest_evidence(claim: ClaimVerification) -> EvidenceRef | None:
    """The piece of evidence to show: it has the value that the reason names, or most of the claim's words."""
    named = _NAMED_VALUE.match(claim.reason)
    holding = [ref for ref in claim.evidence if named and named[1].casefold() in ref.text.casefold()]
    own = _content_words(claim.claim_text)
    return max(holding or claim.evidence, key=lambda ref: len(own & _content_words(ref.text)), default=None)


def _content_words(text: str) -> frozenset[str]:
    return frozenset(word.norm for word in words(text) if not word.is_stop)


def flag_counts(report: HallucinationReport) -> list[str]:
    """How many claims and detector flags there are; parts that were not checked are left out."""
    claims = f"{report.flagged_claims} of {report.total_claims} claims flagged"
    if report.detection is None:
        return [claims]
    found = f"{len(report.flags)} detector {'flag' if len(report.flags) == 1 else 'flags'}"
    return [claims, found] if report.claims else [found]


def is_bad_step(step: StepVerdict) -> bool:
    return bool(step.verdict.is_flagged or step.contradicts or step.circular)


def steps_line(audit: TraceAudit) -> str:
    return f"{sum(map(is_bad_step, audit.steps))} of {len(audit.steps)} steps flagged"


def answer_line(found: PostHoc) -> str:
    """One line on whether the answer follows from the steps; empty if the trace has no answer."""
    return _ANSWER_WORDS[found.outcome]


def repair_guidance(repair: Repair) -> list[str]:
    """Instructions for the model or a person if no edit can repair the answer."""
    whole = (a for a in repair.actions if a.kind in (ActionKind.REGENERATE, ActionKind.ESCALATE))
    return [action.guidance or action.reason for action in whole]


def repaired_text(repair: Repair) -> str:
    return repair.text if repair.text.strip() else "(nothing is left of it)"


def ungrounded(report: HallucinationReport) -> tuple[list[ClaimVerification], list[Flag]]:
    """The flagged claims, and the detector flags that do not overlap with any of them."""
    claims = [claim for claim in report.claims if claim.is_flagged]
    flags = [
        flag for flag in report.flags if not any(flag.start < c.end and c.start < flag.end for c in claims)
    ]
    return claims, flags


def explain_failure(report: HallucinationReport, note: str = "") -> str:
    """Describe the problems of an answer in a few lines, for a failed test, an evaluator or a log.

    Each ungrounded claim is listed with its missing bits and nearest evidence. `note` is added to the count.
    """
    claims, flags = ungrounded(report)
    bad = len(claims) + len(flags)
    details = "; ".join(filter(None, (note, f"backend {report.backend}, profile {report.profile}")))
    lines = [f"{bad} of {max(report.total_claims, bad)} claims not grounded ({details})"]
    for claim in claims:
        lines += ["", *_explain_claim(claim)]
    for flag in flags:
        lines += ["", f"  ✗ {shorten(flag.content)}", f"    {flag.type.value}: {shorten(flag.evidence)}"]
    if report.error:
        lines += ["", f"  could not check everything: {shorten(report.error)}"]
    return "\n".join(lines)


def _explain_claim(claim: ClaimVerification) -> Iterator[str]:
    yield f"  ✗ {shorten(claim.claim_text)}"
    yield f"    {claim.status.value}: {shorten(claim.reason)}"
    if claim.budget_gap is not None:
        yield (
            f"    p0 {format_number(claim.p0, 2)} → p1 {format_number(claim.p1, 2)} · "
            f"{format_number(claim.required_bits, 1)} bits required, "
            f"{format_number(claim.observed_bits, 1)} observed: {format_number(claim.budget_gap, 1)} missing"
        )
    ref = nearest_evidence(claim)
    if ref is not None:
        yield f"    nearest evidence [{shorten(ref.source)}]: {shorten(ref.text)}"
