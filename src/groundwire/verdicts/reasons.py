"""The reason of a verdict: one statement that agrees with the status and adds to the claim's own words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from groundwire.text.tokens import words
from groundwire.types import Claim, Estimate, EvidenceRef, GapType, Span

SUPPORTED = "supported by the sources"
LITTLE = "little evidence is needed, and the sources add little"
VAGUE = "too vague to judge"
WORDS = {
    GapType.UNSUPPORTED: "the sources do not mention this",
    GapType.PARTIAL_SUPPORT: "the sources support only part of this",
    GapType.OVER_EXTRAPOLATION: "the sources are about this but do not say it",
    GapType.CONTRADICTED: "the sources say otherwise",
    GapType.EVIDENCE_INDEPENDENT: "holds without this evidence as well",
    GapType.KNOWN_NOT_IN_SOURCES: "may be true, but no source says it",
}
QUOTES = "the source says “"
"""How a reason begins that quotes the evidence."""
_MAX_PARTS = 2
"""Unsupported parts quoted in one reason; more would repeat the claim."""
_WHOLE = 0.8
"""Share of the claim's content words from which a quotation counts as the whole claim."""
_MOST = 0.5
"""Share from which what is left of the claim is too little to be called supported."""
_AFFIRMS = re.compile(
    r"\b(?:support(?:s|ed)?|cover(?:s|ed)?|confirm(?:s|ed)?|entail(?:s|ed)?|consistent with|match(?:es)?)\b", re.I
)
_DENIES = re.compile(r"\b(?:not|no|never|nothing|neither|none|only|part(?:ly|ial)?|cannot|without|but)\b|n't", re.I)
_NAMED = re.compile(r"(?:evidence says|the sources say) '?(.+?)'?(?: here|, not .*)?\Z")
_AGAINST = re.compile(r"\bagainst\b|\bdenie[sd]\b|\bcontradict|\bsay otherwise\b", re.I)
_UNSAID = re.compile(r"the evidence does not carry\b", re.I)


def reason_for(gap_type: GapType, claim: Claim, p1: Estimate, evidence: Sequence[EvidenceRef]) -> str:
    """The reason why a claim is flagged: the verifier's own where it explains something, else ours."""
    given = p1.reason if _explains(p1.reason, claim.text, evidence) and _fits(p1.reason, gap_type) else ""
    part = _unsupported_part(claim.text, p1.spans, evidence)
    if gap_type is GapType.PARTIAL_SUPPORT:
        if part and word_share(claim.text, part) <= _MOST:
            return f"supported except for {part}"
        return f"the sources do not say {part}" if part else given or WORDS[GapType.OVER_EXTRAPOLATION]
    if given or gap_type is GapType.CONTRADICTED or not p1.spans or not part:
        return given or WORDS[gap_type]
    return f"the sources do not say {part}"


def _explains(reason: str, claim: str, evidence: Sequence[EvidenceRef]) -> bool:
    """False for a reason that is empty, repeats the claim, denies the verdict or names a cut-off value."""
    if reason.startswith(QUOTES):
        return True  # the sentence that decides may well share most of its words with the claim
    if not reason or (_AFFIRMS.search(reason) and not _DENIES.search(reason)):
        return False
    named = _NAMED.search(reason)
    if named:
        return not _is_fragment(named[1], [ref.text for ref in evidence])
    return word_share(claim, reason) < _WHOLE


def _fits(reason: str, gap_type: GapType) -> bool:
    """False for "the evidence speaks against it" where the verdict is that the sources do not say it, and back."""
    if gap_type is GapType.CONTRADICTED:
        return not _UNSAID.match(reason)
    return not (_AGAINST.search(reason) or _UNSAID.match(reason))  # the spans say better what is missing


def _is_fragment(value: str, texts: Sequence[str]) -> bool:
    """True for a value cut out of a longer one.

    >>> _is_fragment("00", ["open until 17:00"]), _is_fragment("330 m", ["It is 330 m tall."])
    (True, False)
    """
    whole = re.compile(rf"(?<![\w.,:]){re.escape(value)}(?!\w|[.,:]\d)", re.I)
    if any(whole.search(text) for text in texts):
        return False
    # A value that stands nowhere was converted from another unit or date, unless it is bare digits.
    return value.isdigit() or any(value.casefold() in text.casefold() for text in texts)


def _unsupported_part(claim: str, spans: Sequence[Span], evidence: Sequence[EvidenceRef]) -> str:
    """The parts of the claim that nothing supports, quoted; empty if they are all of it or unknown.

    Without spans from the verifier, these are the words that no piece of evidence has.
    """
    found = [claim[span.start : span.end] for span in spans]
    if not found:
        known = {word.norm for ref in evidence for word in words(ref.text)}
        found = [word.text for word in words(claim) if not word.is_stop and word.norm not in known]
    if not found or len(found) > _MAX_PARTS or word_share(claim, " ".join(found)) >= _WHOLE:
        return ""
    return " and ".join(f"“{part}”" for part in found)


def word_share(claim: str, text: str) -> float:
    """The share of the claim's content words that the text has.

    >>> round(word_share("The tower is red.", "the sources do not say “The tower is red”"), 1)
    1.0
    """
    own = {word.norm for word in words(claim) if not word.is_stop}
    return len(own & {word.norm for word in words(text)}) / len(own) if own else 0.0
