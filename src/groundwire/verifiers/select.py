"""Choose the passages of a context that a claim should be read against, under a word budget."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush

from groundwire.text.lexicon import forms, word_set
from groundwire.verifiers.passages import Passage

_WORD = re.compile(r"\w+")
_CANDIDATES = 100
_KEPT = 4096
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


@lru_cache(maxsize=_KEPT)
def _bag(text: str) -> tuple[frozenset[str], int]:
    """Which stems a passage holds, and how many words they are; contexts share most of their passages."""
    found = terms(text)
    return frozenset(found), len(found)


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
        read = [_bag(passage.text) for passage in self.passages]
        self._bags = [bag for bag, _ in read]
        self._length = [1 + 0.02 * count for _, count in read]
        self._postings: dict[str, list[int]] = {}
        for index, bag in enumerate(self._bags):
            for word in bag:
                self._postings.setdefault(word, []).append(index)
        self._total = max(1, len(self.passages))
        self._size = [len(passage.text.split()) for passage in self.passages]

    def select(self, claim: str, budget: int) -> list[int]:
        """Indices of the passages worth reading, in document order, `budget` words at most.

        Greedy cover: what an earlier choice already matched counts a quarter, so that the parts of a
        compound claim each find their own evidence.
        """
        if sum(self._size) <= budget:
            return list(range(len(self.passages)))
        weights = {word: self._rarity(word) for word in claim_terms(claim)}
        # in the claim's order: a sum over a set would differ from run to run
        shared = {index: [word for word in weights if word in self._bags[index]] for index in self._candidates(weights)}
        heap = [(-self._score(index, words, weights), index) for index, words in shared.items()]
        heapify(heap)
        chosen: list[int] = []
        left = budget
        while heap and left > 0:
            # scores only fall: one that still holds when looked at again is the best there is
            score, best = heappop(heap)
            now = -self._score(best, shared[best], weights)
            if now > score:
                heappush(heap, (now, best))
                continue
            if now >= 0:
                break
            if self._size[best] > left and chosen:
                continue
            chosen.append(best)
            left -= self._size[best]
            for word in shared[best]:
                weights[word] *= 0.25
        return sorted(chosen) if chosen else [0]

    def evidence(self, claim: str, budget: int) -> str:
        """The selected passages as one text."""
        return joined([self.passages[index] for index in self.select(claim, budget)])

    def _rarity(self, word: str) -> float:
        return math.log(1 + self._total / max(1, len(self._postings.get(word, ()))))

    def _candidates(self, weights: dict[str, float]) -> set[int]:
        """The passages that share most with the claim; the rest could not be chosen anyway."""
        first: dict[int, float] = defaultdict(float)
        for word, weight in weights.items():
            for index in self._postings.get(word, ()):
                first[index] += weight / self._length[index]
        return set(sorted(first, key=lambda index: (-first[index], index))[:_CANDIDATES])

    def _score(self, index: int, shared: Sequence[str], weights: dict[str, float]) -> float:
        return sum([weights[word] for word in shared]) / self._length[index]
