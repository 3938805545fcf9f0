"""Detector for unsupported claims: unnamed studies, figures, superlatives and causes without evidence.

Catches: "Studies show …", "experts agree", "scientifically proven" without a source; and, if sources are
given, figures, superlatives and causes that neither they, the known facts nor the conversation support.
Misses: plain statements (the verifier checks those), appeals that name their source, other languages.
Cost: regular expressions; one verifier query per candidate if there are sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.claims.markup import marks
from groundwire.detectors.context import DetectionContext
from groundwire.detectors.scoring import SignalKind, linguistic_signals
from groundwire.text.lexicon import expressions
from groundwire.text.sentences import sentences
from groundwire.text.tokens import content_words
from groundwire.types import Estimate, Flag, HallucinationType, Query, Segment

# Base confidence per kind. Only an appeal exceeds the default threshold of 0.5 by itself.
APPEAL, STATISTIC, SUPERLATIVE, CAUSE = 0.60, 0.45, 0.40, 0.40
# Added to the confidence: the appeal contains a figure, the wording is overconfident, the sources do not
# support the claim, the verifier says the sources contradict it, the wording is hedged, a source is named.
_FIGURE, _OVERCONFIDENT, _NO_SUPPORT, _CONTRADICTED = 0.10, 0.05, 0.15, 0.20
_HEDGED, _SOURCE_GIVEN = -0.15, -0.20
_SUPPORTED, _NOT_SUPPORTED = 0.5, 0.1  # P(yes) from which a claim is supported, and below which it is not
# Share of content words found in one sentence of the evidence: supported without asking the verifier; too
# similar to flag without its answer; upper bound if a figure of the claim occurs nowhere.
_SUPPORTING_OVERLAP, _PARTIAL_OVERLAP, _MISSING_FIGURE_OVERLAP = 0.75, 0.5, 0.25
_MAX_QUERIES = 24  # verifier queries per response
_APPEAL, _DENIES, _FIGURES, _SUPERLATIVE, _CAUSE, _SOURCE_NAMED = expressions(
    "detect_wording", "appeal denies figure superlative cause source_named"
)


@dataclass(frozen=True, slots=True)
class _Candidate:
    segment: Segment
    base: float
    kind: str


async def detect_unsupported_claims(context: DetectionContext) -> list[Flag]:
    evidence, has_sources = _evidence(context), bool(context.sources)
    candidates = [found for segment in context.segments if (found := _candidate(segment, has_sources))]
    overlaps = {c.segment.index: _overlap(_unmarked(c.segment.text, context), evidence) for c in candidates}
    unclear = [c for c in candidates if overlaps[c.segment.index] < _SUPPORTING_OVERLAP]
    estimates = await _estimates(context, unclear)
    flags = []
    for candidate in unclear:
        index = candidate.segment.index
        confidence = _confidence(candidate, overlaps[index], estimates.get(index), has_sources)
        if confidence is not None:
            flags.append(_flag(candidate, confidence))
    return flags


def _candidate(segment: Segment, has_sources: bool) -> _Candidate | None:
    """The strongest kind of evidence that the sentence claims to have."""
    text = segment.text
    if not segment.assertive:
        return None
    appeal = _APPEAL.search(text)
    if appeal and not _DENIES.search(text[: appeal.start()]):
        return _Candidate(segment, APPEAL, "an appeal to evidence")
    if not has_sources:
        return None
    if _FIGURES.search(text):
        return _Candidate(segment, STATISTIC, "a figure")
    if _SUPERLATIVE.search(text):
        return _Candidate(segment, SUPERLATIVE, "a superlative")
    return _Candidate(segment, CAUSE, "a cause") if _CAUSE.search(text) else None


def _evidence(context: DetectionContext) -> list[frozenset[str]]:
    """The content words of every sentence the response may be based on."""
    texts = [source.text for source in context.sources]
    texts += [turn.text for turn in context.dialogue.turns]
    facts = context.known.facts.values() if context.known else ()
    stored = [f.text or " ".join((f.predicate, *(r.value.text for r in f.roles))) for about in facts for f in about]
    told = [content_words(text) for text in stored]
    return told + [content_words(text[s.start : s.end]) for text in texts for s in sentences(text)]


def _overlap(text: str, evidence: Sequence[frozenset[str]]) -> float:
    """Largest share of the content words found in one sentence; capped if a figure occurs in none."""
    wanted = content_words(text)
    best = max((len(wanted & other) / len(wanted) for other in evidence), default=0.0) if wanted else 0.0
    available = {word for other in evidence for word in other}
    missing = any(word not in available for word in wanted if any(map(str.isdigit, word)))
    return min(best, _MISSING_FIGURE_OVERLAP) if missing else best


def _unmarked(text: str, context: DetectionContext) -> str:
    """A sentence without its citation marks: the 0 of [S0] is no figure of it."""
    for mark in reversed(marks(text, [source.id for source in context.sources])):
        text = text[: mark.start].rstrip() + text[mark.end :]
    return text


async def _estimates(context: DetectionContext, candidates: Sequence[_Candidate]) -> dict[int, Estimate]:
    """Estimates by segment index, given the sources and the conversation; failed ones are left out."""
    texts = (*(s.text for s in context.sources), *(turn.text for turn in context.dialogue.turns))
    premise = "\n".join(texts)
    if context.verifier is None or not premise.strip() or not candidates:
        return {}
    asked = candidates[:_MAX_QUERIES]
    estimates = await context.verifier.estimate([Query(_unmarked(c.segment.text, context), premise) for c in asked])
    return {
        candidate.segment.index: estimate
        for candidate, estimate in zip(asked, estimates, strict=True)
        if estimate.error is None
    }


def _confidence(candidate: _Candidate, overlap: float, estimate: Estimate | None, has_sources: bool) -> float | None:
    """None if the claim is supported, or if it is not an appeal and the verifier gave no clear answer."""
    if estimate is not None and estimate.p_yes >= _SUPPORTED:
        return None
    appeal = candidate.base == APPEAL
    if appeal and has_sources and estimate is None and overlap >= _PARTIAL_OVERLAP:
        return None
    if not appeal and (estimate is None or estimate.p_yes >= _NOT_SUPPORTED or overlap >= _PARTIAL_OVERLAP):
        return None
    text = candidate.segment.text
    confidence = candidate.base
    if appeal and _FIGURES.search(text):
        confidence += _FIGURE
    if has_sources:
        confidence += _NO_SUPPORT
    if estimate is not None and estimate.p_no >= _SUPPORTED:
        confidence += _CONTRADICTED
    if _SOURCE_NAMED.search(text):
        confidence += _SOURCE_GIVEN
    return min(1.0, max(0.0, confidence + _wording(text)))


def _wording(text: str) -> float:
    kinds = {signal.kind for signal in linguistic_signals(text)}
    doubt = _HEDGED if SignalKind.HEDGING in kinds else 0.0
    return doubt + (_OVERCONFIDENT if SignalKind.OVERCONFIDENCE in kinds else 0.0)


def _flag(candidate: _Candidate, confidence: float) -> Flag:
    segment = candidate.segment
    return Flag(
        HallucinationType.UNSUPPORTED_CLAIM, segment.start, segment.end, segment.text, confidence,
        suggestion="Could not find support for this claim",
        evidence=f"The sentence contains {candidate.kind} that no source, fact or earlier turn supports",
    )  # fmt: skip
