"""Claims that call on evidence which nobody has: unnamed studies, figures, superlatives and causes.

Catches: "Studies show …", "experts agree", "scientifically proven" without a source in reach; and, where
there are sources, figures, superlatives and causes that neither they, known facts nor the conversation carry.
Misses: plain statements (the budget's work), appeals that name somebody, other languages.
An appeal alone is flagged; the other kinds only where sources were given and hold nothing of the sort.
Costs: regular expressions; one query for each candidate where there are sources and a verifier.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.detectors.context import DetectionContext
from groundwire.detectors.scoring import SignalKind, linguistic_signals
from groundwire.text.sentences import sentences
from groundwire.text.tokens import words
from groundwire.types import Estimate, Fact, Flag, HallucinationType, Query, Segment

APPEAL, STATISTIC, SUPERLATIVE, CAUSE = 0.60, 0.45, 0.40, 0.40
_FIGURE, _OVERCONFIDENT, _SILENT, _DENIED = 0.10, 0.05, 0.15, 0.20
_HEDGED, _NAMED = -0.15, -0.20
_CARRIED, _NOT_CARRIED = 0.5, 0.1
_SHARE, _HALF, _LACKING = 0.75, 0.5, 0.25
_MOST = 24

_WHO = (
    r"(?:stud(?:y|ies)|research(?:ers)?|experts?|scientists?|surveys?|statistics|data|evidence|analysts?|reports?|"
    r"experiments?|doctors|economists?|polls?|meta-analys[ie]s|trials?|psychologists?|historians?)"
)
_FINDS = (
    r"(?:shows?|shown|proves?|proved|proven|suggests?|indicates?|indicated|confirms?|confirmed|found|finds?|agrees?|"
    r"says?|believes?|demonstrates?|demonstrated|reveals?|revealed|estimates?|predicts?|warns?|recommends?|establish\w*)"
)
_KIND = (
    r"(?:many|several|some|most|numerous|recent|various|multiple|countless|new|scientific|clinical|"
    r"leading|top|an?)"
)
_MEANT = ["the", "this", "that", "these", "those", "our", "their", "its", "his", "her", "my", "your"]
_INDEFINITE = "".join(rf"(?<!\b{word} )" for word in _MEANT) + r"(?<!['’]s )"
_APPEAL = re.compile(
    rf"{_INDEFINITE}\b(?:{_KIND}\s+)*{_INDEFINITE}{_WHO}\s+"
    rf"(?:(?:have|has|all|clearly|consistently|also|now|repeatedly)\s+)*{_FINDS}\b"
    rf"|\baccording to\s+(?:{_KIND}\s+)+{_WHO}\b|\baccording to {_WHO}\b"
    r"|\b(?:scientifically|clinically|statistically)\s+proven\b",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:not|no|nor|never|without|few|hardly|if|whether)\s+(?:\w+\s+)?$", re.IGNORECASE)
_PERCENT = re.compile(
    r"\d\s?(?:%|percent\b|per cent\b)|\b(?:one|two|three|four|nine) (?:in|out of) (?:\w+)\b", re.I
)
_PRECISE = re.compile(
    r"(?<![\w.$€£])\d+\.\d+\s?(?:million|billion|times|x)\b|\b\d+(?:\.\d+)?\s?times (?:more|less|as)", re.I
)
_SUPERLATIVE = re.compile(
    r"\bthe (?:world['’]s )?(?:most \w+|best|worst|largest|biggest|fastest|leading|number one|only|"
    r"first ever|cheapest|safest|oldest|strongest|highest|lowest)\b",
    re.IGNORECASE,
)
_CAUSE = re.compile(
    r"\b(?:causes?|caused by|leads? to|results? in|prevents?|cures?|guarantees?|ensures?)\b", re.IGNORECASE
)
_PAPER = r"(?:study|survey|report|poll|research|data|statistics|researchers|scientists)"
_SOURCE_NAMED = re.compile(
    r"\[\d+\]|\bhttps?://|\bdoi\b|\bet al\b|\([A-Z][\w.&\s-]{1,40},?\s+(?:19|20)\d\d\)"
    r"|\b(?:published|reported) (?:in|by)\s+[A-Z]"
    r"|\b(?:from|by|at|of) (?:the )?(?:University|Institute|[A-Z]\w+ University|[A-Z]{2,})\b"
    rf"|\b(?:19|20)\d\d\s+(?:\w+\s+)?{_PAPER}|(?<!^)\b[A-Z]\w+(?:['’]s)?\s+{_PAPER}\b"
)


@dataclass(frozen=True, slots=True)
class _Candidate:
    segment: Segment
    base: float
    kind: str


async def detect_unsupported_claims(view: DetectionContext) -> list[Flag]:
    """In the order they stand."""
    grounds, sourced = _grounds(view), bool(view.sources)
    found = [made for segment in view.segments if (made := _candidate(segment, sourced))]
    carried = [_share(made.segment.text, grounds) for made in found]
    estimates = await _estimates(view, [m for m, share in zip(found, carried, strict=True) if share < _SHARE])
    flags = []
    for made, share in zip(found, carried, strict=True):
        estimate = estimates.get(made.segment.index)
        confidence = _confidence(made, share, estimate, sourced)
        if confidence is not None:
            flags.append(_flag(made, confidence))
    return flags


def _candidate(segment: Segment, sourced: bool) -> _Candidate | None:
    """The strongest way in which the sentence calls on evidence."""
    text = segment.text
    if not segment.assertive:
        return None
    appeal = _APPEAL.search(text)
    if appeal and not _DENIES.search(text[: appeal.start()]):
        return _Candidate(segment, APPEAL, "an appeal to evidence")
    if not sourced:
        return None
    if _PERCENT.search(text) or _PRECISE.search(text):
        return _Candidate(segment, STATISTIC, "a figure")
    if _SUPERLATIVE.search(text):
        return _Candidate(segment, SUPERLATIVE, "a superlative")
    return _Candidate(segment, CAUSE, "a cause") if _CAUSE.search(text) else None


def _grounds(view: DetectionContext) -> list[frozenset[str]]:
    """Every sentence that the response could rest on, as its content words."""
    texts = [source.text for source in view.sources]
    texts += [turn.text for turn in view.dialogue.turns]
    facts = view.known.facts.values() if view.known else ()
    told = [_content(_told(fact)) for about in facts for fact in about]
    return told + [_content(text[s.start : s.end]) for text in texts for s in sentences(text)]


def _told(fact: Fact) -> str:
    return fact.text or " ".join((fact.predicate, *(role.value.text for role in fact.roles)))


def _content(text: str) -> frozenset[str]:
    return frozenset(word.norm for word in words(text) if not word.is_stop)


def _share(text: str, grounds: Sequence[frozenset[str]]) -> float:
    """How much of it the nearest sentence holds; nothing where one of its figures stands nowhere."""
    mine = _content(text)
    best = max((len(mine & other) / len(mine) for other in grounds), default=0.0) if mine else 0.0
    held = {word for other in grounds for word in other}
    lacking = any(word not in held for word in mine if any(map(str.isdigit, word)))
    return min(best, _LACKING) if lacking else best


async def _estimates(view: DetectionContext, asked: Sequence[_Candidate]) -> dict[int, Estimate]:
    """What the verifier makes of them in view of sources and conversation, by segment."""
    context = "\n".join((*(s.text for s in view.sources), *(turn.text for turn in view.dialogue.turns)))
    if view.verifier is None or not context.strip() or not asked:
        return {}
    some = asked[:_MOST]
    estimates = await view.verifier.estimate([Query(made.segment.text, context) for made in some])
    return {
        made.segment.index: estimate
        for made, estimate in zip(some, estimates, strict=True)
        if estimate.error is None
    }


def _confidence(made: _Candidate, share: float, estimate: Estimate | None, sourced: bool) -> float | None:
    """None where it is carried, or where nobody could say and it makes no appeal."""
    if share >= _SHARE or (estimate is not None and estimate.p_yes >= _CARRIED):
        return None
    appeal = made.base == APPEAL
    if appeal and sourced and estimate is None and share >= _HALF:
        return None
    if not appeal and (estimate is None or estimate.p_yes >= _NOT_CARRIED or share >= _HALF):
        return None
    text = made.segment.text
    confidence = made.base
    if appeal and (_PERCENT.search(text) or _PRECISE.search(text)):
        confidence += _FIGURE
    if sourced:
        confidence += _SILENT
    if estimate is not None and estimate.p_no >= _CARRIED:
        confidence += _DENIED
    if _SOURCE_NAMED.search(text):
        confidence += _NAMED
    return min(1.0, max(0.0, confidence + _wording(text)))


def _wording(text: str) -> float:
    kinds = {signal.kind for signal in linguistic_signals(text)}
    doubt = _HEDGED if SignalKind.HEDGING in kinds else 0.0
    return doubt + (_OVERCONFIDENT if SignalKind.OVERCONFIDENCE in kinds else 0.0)


def _flag(made: _Candidate, confidence: float) -> Flag:
    segment = made.segment
    return Flag(
        HallucinationType.UNSUPPORTED_CLAIM, segment.start, segment.end, segment.text, confidence,
        suggestion="Could not find support for this claim",
        evidence=f"It makes {made.kind}, and no source, fact or earlier turn carries it",
    )  # fmt: skip
