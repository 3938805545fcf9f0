"""Text helpers shared by the report formats: safe text, marked spans, quotes, one-line summaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from groundwire.text.controls import sanitize
from groundwire.text.sentences import BlockKind, blocks
from groundwire.text.tokens import words
from groundwire.types import (
    NOTHING_TO_CHECK,
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
    Status,
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
_WRAPPED_CHARS = 50
"""A line of at least this length was broken by a text width; a shorter one ends where it should."""
_LLM_METHOD = re.compile(r"/(?:logprob|sampling|direct)")
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


def percent(share: float | None) -> str:
    """
    >>> percent(0.075), percent(0.004), percent(None)
    ('8 %', '0 %', '–')
    """
    return "–" if share is None else f"{100 * share:.0f} %"


def measures_bits(claims: Sequence[ClaimVerification]) -> bool:
    """True if p0 was measured: an LLM also judged a claim without its evidence.

    The embedded verifier gives nearly every claim the same p0, so its bits say no more than p1 does.
    """
    return any(_LLM_METHOD.search(claim.method) for claim in claims)


def reason_line(claim: ClaimVerification) -> str:
    """The reason without what the verdict says already; empty if that is all it says."""
    if claim.status is Status.ENTAILED and claim.reason.startswith("supported"):
        return claim.reason.partition("; ")[2]
    return claim.reason.removeprefix(f"{Status.UNCHECKED.words}: ")


def shares_line(claim: ClaimVerification) -> str:
    """What each source adds to a claim drawn from several; empty for other claims."""
    shares = (f"{share.source} {format_number(share.bits, 1)} bits" for share in claim.shares)
    return f"lost without each source: {', '.join(shares)}" if claim.shares else ""


def is_wrapped(line: str) -> bool:
    """True if the text of a line continues on the next one."""
    return len(line) >= _WRAPPED_CHARS


def reflow(text: str, spans: Sequence[Span]) -> list[MarkedPiece]:
    """Marked and unmarked pieces of a text, with the line breaks inside paragraphs and items removed.

    >>> line = "It is the tallest building of the city and was built"
    >>> pieces = reflow(f"- {line}\\n  in 1889.\\n- red", [])
    >>> "".join(piece.text for piece in pieces) == f"- {line} in 1889.\\n- red"
    True
    """
    letters = list(text)
    for block in blocks(text):
        if block.kind in (BlockKind.PARAGRAPH, BlockKind.ITEM):
            for line, following in pairwise(block.lines):
                if is_wrapped(text[line.start : line.end]):
                    letters[line.end : following.start] = [" ", *[""] * (following.start - line.end - 1)]
    return [
        MarkedPiece("".join(letters[piece.start : piece.end]), piece.score > 0) for piece in _ranges(len(text), spans)
    ]


@dataclass(frozen=True, slots=True)
class MarkedPiece:
    text: str
    marked: bool


def split_at_spans(text: str, spans: Sequence[Span]) -> Iterator[MarkedPiece]:
    """Cut the text into marked and unmarked pieces. Spans must be sorted and must not overlap.

    >>> [p.text for p in split_at_spans("It is red.", [Span(6, 9)])]
    ['It is ', 'red', '.']
    """
    for piece in _ranges(len(text), spans):
        yield MarkedPiece(text[piece.start : piece.end], piece.score > 0)


def _ranges(length: int, spans: Sequence[Span]) -> Iterator[Span]:
    """The spans, and the ranges between them with a score of 0."""
    at = 0
    for span in spans:
        if span.start > at:
            yield Span(at, span.start, 0.0)
        yield Span(span.start, span.end)
        at = span.end
    if at < length:
        yield Span(at, length, 0.0)


def bracketed(pieces: Iterable[MarkedPiece]) -> str:
    """The text with its marked pieces in brackets, for output without colour."""
    return "".join(f"⟦{piece.text}⟧" if piece.marked else piece.text for piece in pieces)


def feedback_line(feedback: Feedback) -> str:
    """A user's feedback on a verdict, in one line."""
    verdict = "right" if feedback.right else "wrong"
    truth = "supported" if feedback.supported else "not supported"
    marked = f"a user marked “{feedback.status.words}” {verdict} on {feedback.at:%Y-%m-%d}"
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
    claims = f"{len(report.flagged_claims)} of {report.total_claims} claims flagged"
    if report.detection is None:
        return [claims]
    found = counted(len(report.flags), "detector flag")
    return [claims, found] if report.claims else [found]


def headline(report: HallucinationReport) -> str:
    """The verdict on the whole answer in a few words; the page (`view.js`) uses the same."""
    total, flagged = report.total_claims, len(report.flagged_claims)
    unchecked = sum(claim.status in (Status.UNCHECKED, Status.UNVERIFIABLE) for claim in report.claims)
    if not total:
        silent = report.error in (None, NOTHING_TO_CHECK)
        return "The answer makes no claims" if silent else "Nothing could be checked"
    if flagged:
        many = f"{flagged} of {total} claims {'is' if flagged == 1 else 'are'} not supported"
        return "The claim is not supported" if total == 1 else many
    if report.flagged is None:
        return "Could not be checked"
    if report.flags:
        return f"{counted(len(report.flags), 'finding')} of the detectors"
    if unchecked:
        return f"Nothing flagged, but {counted(unchecked, 'claim')} could not be checked"
    if any(claim.status is not Status.ENTAILED for claim in report.claims):
        return "Nothing flagged"
    return "The claim is supported" if total == 1 else f"All {total} claims are supported"


def counted(number: int, noun: str, plural: str = "") -> str:
    """
    >>> counted(1, "claim"), counted(1200, "claim"), counted(2, "retry", "retries")
    ('1 claim', '1,200 claims', '2 retries')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def report_facts(report: HallucinationReport) -> list[str]:
    """How much of the answer is grounded, its risk, and what judged it."""
    grounded = [] if report.grounding_ratio is None else [f"{percent(report.grounding_ratio)} grounded"]
    risk = "unknown" if report.risk is None else f"{report.risk:.2f}"
    deciders = report.extra.get("decided_by") or {}  # of a cascade: claims by who decided them
    who = ", ".join(f"{count} by {method}" for method, count in deciders.items())
    backend = f"backend {report.backend}" + (f" ({who})" if who else "")
    return [*grounded, f"risk {risk}", backend, f"profile {report.profile}"]


def is_bad_step(step: StepVerdict) -> bool:
    return bool(step.verdict.is_flagged or step.contradicts or step.circular)


def steps_line(audit: TraceAudit) -> str:
    line = f"{sum(map(is_bad_step, audit.steps))} of {len(audit.steps)} steps flagged"
    flagged = sum(action.is_flagged for action in audit.actions)
    return f"{line}, {flagged} of {len(audit.actions)} stated actions" if audit.actions else line


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
    flags = [flag for flag in report.flags if not any(flag.start < c.end and c.start < flag.end for c in claims)]
    return claims, flags


def explain_failure(report: HallucinationReport, note: str = "") -> str:
    """Describe the problems of an answer in a few lines, for a failed test, an evaluator or a log.

    Each ungrounded claim is listed with its support and nearest evidence. `note` is added to the count.
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
    support = "" if claim.p1 is None else f", support {percent(claim.p1)}"
    yield f"    {claim.status.words}{support}: {shorten(claim.reason)}"
    ref = nearest_evidence(claim)
    if ref is not None:
        yield f"    nearest evidence [{shorten(ref.source)}]: {shorten(ref.text)}"
