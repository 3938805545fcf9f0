"""Which earlier steps a step may rest on, and which it may be at odds with: a few, found by their words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.text.lexicon import NEGATIONS
from groundwire.text.numbers import Number, numbers
from groundwire.text.tokens import Word, words
from groundwire.verifiers.similarity import negated

MOST_PREMISES = 8
MOST_RIVALS = 200
_LEANS = re.compile(
    r"\W*(?:so|thus|hence|therefore|then|this|that|these|those|it|they|he|she|which|consequently|as a result"
    r"|in (?:total|all|conclusion)|adding|combining|the (?:answer|result|total|sum|conclusion))\b",
    re.IGNORECASE,
)
_MOVES_ON = re.compile(
    r"\b(?:so far|now|next|then|again|running|becomes?|became|after|before|position|first|second|third|fourth"
    r"|another|starts?|started|begins?|began|initial(?:ly)?|left|remain\w*|step|in \d{4}|on \w+ \d|at \d"
    r"|suppose|assume|if|case|option)\b",
    re.IGNORECASE,
)

_NAMED_BY_NUMBER = frozenset((
    "item", "room", "page", "chapter", "section", "figure", "table", "part", "level", "line", "case", "floor",
    "question", "day", "week", "year", "student", "group", "box", "player", "team", "version", "route",
    "gate", "test", "order", "number", "step", "row", "column", "house", "bus", "train", "phase", "round",
    "point",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """A step by its words: all of them that mean something, and the numbers."""

    words: frozenset[str]
    values: frozenset[float]
    first: str = ""
    denied: bool = False
    leans: bool = False
    moves_on: bool = False


def said(text: str) -> Said:
    found, values = words(text), numbers(text)
    labels = _labels(found, values)
    values = [n for n in values if n.start not in labels.values()]
    content = [
        f"{w.norm} {text[labels[w.start] :].split(maxsplit=1)[0]}" if w.start in labels else w.norm
        for w in found
        if not w.is_stop
        and w.text.casefold() not in NEGATIONS
        and w.start not in labels.values()
        and not any(n.start <= w.start < n.end for n in values)
    ]
    return Said(
        frozenset(content),
        frozenset(n.value for n in values),
        content[0] if content else "",
        negated(found),
        bool(_LEANS.match(text)),
        bool(_MOVES_ON.search(text)),
    )


def _labels(found: Sequence[Word], values: Sequence[Number]) -> dict[int, int]:
    """Where a number names a thing and counts nothing ("Item 5", "room 12"): the places of both."""
    ends = {word.end + 1: word for word in found if not word.is_stop}
    named = ((ends.get(number.start), number) for number in values if not number.unit)
    return {
        word.start: number.start
        for word, number in named
        if word is not None and (word.text[:1].isupper() or word.text.casefold() in _NAMED_BY_NUMBER)
    }


def premises(about: Sequence[Said]) -> list[list[int]]:
    """For each step the earlier ones that share its words or numbers, the closest first."""
    index: dict[str, list[int]] = defaultdict(list)
    found: list[list[int]] = []
    for n, here in enumerate(about):
        score: Counter[int] = Counter()
        for key in (*here.words, *map(str, here.values)):
            holders = index[key]
            # A word that many steps have says little about any of them.
            weight = max(1, 1000 // (1 + len(holders)))
            for earlier in holders[-50:]:
                score[earlier] += weight
            index[key].append(n)
        if here.leans and n:
            score[n - 1] += 10_000
        ranked = sorted(score, key=lambda earlier: (-score[earlier], -earlier))
        found.append(sorted(ranked[:MOST_PREMISES]))
    return found


@dataclass(frozen=True, slots=True)
class Rivals:
    """Two steps that say the same but for one thing. `sharp`: what differs is a number or a negation."""

    earlier: int
    later: int
    sharp: bool


def rivals(about: Sequence[Said], near: Sequence[Sequence[int]]) -> list[Rivals]:
    """Pairs that speak of one thing and could not both be true, the most of them that are worth asking about.

    What tells of a change ("now", "so far", "in 2019") contradicts nothing it changes, a conclusion no number
    it was calculated from. Steps that differ in two things speak of two things.
    """
    pairs = [
        Rivals(earlier, later, sharp)
        for later, candidates in enumerate(near)
        for earlier in candidates
        if (sharp := _sharp(about[earlier], about[later])) is not None
    ]
    return sorted(pairs, key=lambda pair: not pair.sharp)[:MOST_RIVALS]


def _sharp(a: Said, b: Said) -> bool | None:
    """True where one number or a negation is all that differs, False where one word is, else None."""
    if a.moves_on or b.moves_on or not a.words or not b.words:
        return None
    words_apart = (len(a.words - b.words), len(b.words - a.words))
    values_apart = (len(a.values - b.values), len(b.values - a.values))
    if words_apart == (0, 0) and values_apart == (1, 1) and a.denied == b.denied:
        return None if b.leans else True
    if values_apart != (0, 0):
        return None
    if a.denied != b.denied:
        return True if max(words_apart) == 0 else None
    one_word = words_apart == (1, 1) and a.first == b.first and len(a.words) > 1
    return False if one_word else None
