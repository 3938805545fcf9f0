"""A sentence with a hole, filled and written as English is; and the two pairs that one change of it gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from training.logic_tables import DOWN, UP
from training.pairs import CONTRADICTED, ENTAILED, NEUTRAL, Pair
from training.scenes import HOLE

OPEN, CLOSE = "\x01", "\x02"
_ARTICLE = re.compile(r"\b([Aa])n?( [\x01\x02]?)(?=([A-Za-z]+))")
_VOWEL = re.compile(r"(?!uni|use|eur|one\b|ewe|ufo)[aeiou]|hour|honest|heir", re.I)

NEGATIVE = re.compile(r"\b(no|not|nobody|none|never|neither|without|fail\w*|false|nothing)\b|n't\b", re.I)
_CUE = re.compile(
    r"\bThere (?:is|are) no\b|\b(?:is|are|has|have) (?:not|never|no longer)\b|\b\w+n't\b"
    r"|\bNot (?:a single|all|every)\b|\bNone of the\b|\bIt is (?:not true|false|not the case)\b"
    r"|\bNobody\b|\bNo\b|\bNever\b",
    re.I,
)


def written(text: str) -> str:
    """a / an, spaces, a capital, a full stop; marks of the hole may stand in it."""
    text = _ARTICLE.sub(lambda m: m[1] + ("n" if _VOWEL.match(m[3]) else "") + m[2], " ".join(text.split()))
    text = re.sub(r" (?=[,.;!?]|n't|'s|'re|'ll)", "", text).replace("can not ", "cannot ")
    at = 1 if text.startswith(OPEN) else 0
    text = text[:at] + text[at : at + 1].upper() + text[at + 1 :]
    return text if text[-1] in ".!?" else text + "."


def bare(pair: Pair) -> Pair:
    """As captions are often written: without the full stop."""
    return replace(pair, evidence=pair.evidence.removesuffix("."), claim=pair.claim.removesuffix("."))


def filled(frame: str, phrase: str) -> tuple[str, int, int]:
    text = written(frame.replace(HOLE, OPEN + phrase + CLOSE))
    start, end = text.index(OPEN), text.index(CLOSE) - 1
    return text.replace(OPEN, "").replace(CLOSE, ""), start, end


def new_words(old: str, text: str, start: int, end: int) -> tuple[int, int]:
    """The part of text[start:end] that `old` lacks; all of it when it only lost words."""
    ours, theirs = text[start:end].lower().split(), old.lower().split()
    head = 0
    while head < min(len(ours), len(theirs)) and ours[head] == theirs[head]:
        head += 1
    tail = 0
    while tail < min(len(ours), len(theirs)) - head and ours[-1 - tail] == theirs[-1 - tail]:
        tail += 1
    if head + tail >= len(ours):
        return start, end
    before = len(" ".join(ours[:head])) + (head > 0)
    after = len(" ".join(ours[len(ours) - tail :])) + (tail > 0)
    return start + before, end - after


def both_ways(frame: str, narrow: str, broad: str, sign: int) -> Iterator[Pair]:
    for old, new, follows in ((narrow, broad, sign == UP), (broad, narrow, sign == DOWN)):
        text, start, end = filled(frame, new)
        span = () if follows else (new_words(old, text, start, end),)
        yield Pair(filled(frame, old)[0], text, ENTAILED if follows else NEUTRAL, span)


def pair(evidence: str, claim: str, target: int, span: tuple[int, int] | None = None) -> Pair:
    """Without a given span: the cue of a denial where it is what is wrong, else unknown."""
    left, right = written(evidence), written(claim)
    spans: tuple[tuple[int, int], ...] | None = (span,) if span else None
    if target == ENTAILED:
        spans = ()
    elif span is None and target == CONTRADICTED and not NEGATIVE.search(left):
        cue = _CUE.search(right)
        spans = (cue.span(),) if cue else None
    return Pair(left, right, target, spans)
