"""Choose the passages of a context that a claim should be read against, under a word budget."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from groundwire.text.lexicon import forms, word_set
from groundwire.verify.passages import Passage

_WORD = re.compile(r"\w+")
_STOP = word_set(
    """
    a an the of in on at to for and or but is are was were be been by with from as it its this that
    these those he she they his her their which who not no has have had will would can could may
    also than then there so if you your we our i do does did more most into over about after before
    during while such
    """
)


def stem(word: str) -> str:
    """A crude stem: enough to match plural and tense, cheap enough for every word of a long context."""
    for ending in ("ings", "ing", "ies", "ied", "edly", "ed", "es", "ly", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def terms(text: str) -> list[str]:
    """Content stems of a text, in order."""
    return [stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP]


# What a record calls a thing is not what a sentence calls it.
_ALSO = forms(
    """
    wi fi: wifi internet;
    take out: takeout takeaway;
    address city state: locat nestl situat;
    address city: heart;
    hour: open close operat daily weekday weekend week late am pm;
    ambience: atmosphere ambiance vibe sett cozy romantic casual intimate;
    star: rat rate;
    parking: park valet;
    categories: cuisine;
    outdoor seating: patio;
    music: band;
    reservation: reserv book
    """
)


def claim_terms(claim: str) -> list[str]:
    """The claim's own terms and the names that records use for them."""
    found = terms(claim)
    also = [stem(word) for term in found if term in _ALSO for word in _ALSO[term].split()]
    return [*found, *also]


def joined(pieces: Sequence[Passage]) -> str:
    """Pieces as one text; those that end in no full stop are kept apart by a semicolon."""
    text = ""
    for piece in pieces:
        if text:
            text += " " if text[-1] in '.!?"”' else "; "
        text += piece.text
    return text


class Selector:
    """Scores the passages of one context against many claims."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = list(passages)
        self._bags = [Counter(terms(unit.text)) for unit in self.passages]
        frequency: Counter[str] = Counter()
        for bag in self._bags:
            frequency.update(bag.keys())
        total = max(1, len(self.passages))
        self._idf = {word: math.log(1 + total / count) for word, count in frequency.items()}
        self._default = math.log(1 + total)

    def select(self, claim: str, budget: int) -> list[int]:
        """Indices of the passages worth reading, in document order, `budget` words at most.

        Greedy cover: what an earlier choice already matched counts a quarter, so that the parts of a
        compound claim each find their own evidence.
        """
        open_terms = {word: self._idf.get(word, self._default) for word in claim_terms(claim)}
        chosen: list[int] = []
        left = budget
        candidates = set(range(len(self.passages)))
        while candidates and left > 0:
            best, value = -1, 0.0
            for index in sorted(candidates):
                score = self._score(index, open_terms)
                if score > value:
                    best, value = index, score
            if best < 0:
                break
            candidates.discard(best)
            size = len(self.passages[best].text.split())
            if size > left and chosen:
                continue
            chosen.append(best)
            left -= size
            for word in self._bags[best]:
                if word in open_terms:
                    open_terms[word] *= 0.25
        return sorted(chosen) if chosen else list(range(min(1, len(self.passages))))

    def evidence(self, claim: str, budget: int) -> str:
        """The selected pieces as one text."""
        return joined([self.passages[index] for index in self.select(claim, budget)])

    def _score(self, index: int, weights: dict[str, float]) -> float:
        bag = self._bags[index]
        if not bag:
            return 0.0
        gained = sum(weight for word, weight in weights.items() if word in bag)
        return gained / (1 + 0.02 * sum(bag.values()))
