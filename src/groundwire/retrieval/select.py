"""Units, the smallest pieces of evidence, and the ones relevant to a claim: BM25 with a greedy selection."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from groundwire._loop import check_cancelled
from groundwire.text.structure import TextPiece, pieces
from groundwire.text.tokens import PRONOUN, terms, weighted
from groundwire.types import EvidenceRef, Source, Unit

_DENSE = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_TIGHT = re.compile(r"[!-@\[-`{-~]")


def tokens(text: str) -> int:
    """Estimate the number of tokens for a language model, rather too high than too low.

    Four characters per token for plain text, two for digits and punctuation, one for CJK and the like.

    >>> tokens("The tower is tall."), tokens("巴黎是首都")
    (6, 5)
    """
    tight = len(_TIGHT.findall(text))
    if text.isascii():
        return -(-(len(text) - tight) // 4) + -(-tight // 2)
    dense = len(_DENSE.findall(text))
    plain = len(text.encode("ascii", "ignore")) - tight
    return -(-plain // 4) + -(-tight // 2) + dense + -(-(len(text) - plain - tight - dense) // 2)


def units(source: Source) -> list[Unit]:
    """All units of a source, in order; `source.text[unit.start:unit.end]` is the raw piece.

    >>> [u.text for u in units(Source("S0", '{"WiFi": "free", "Music": false}'))]
    ['WiFi: free', 'Music: no']
    """
    return [unit_of(source.id, piece) for piece in pieces(source.text, rendered=False)]


def unit_of(source: str, piece: TextPiece) -> Unit:
    return Unit(source, piece.start, piece.end, piece.text, piece.kind)


def ref_of(unit: Unit) -> EvidenceRef:
    return EvidenceRef(unit.source, unit.start, unit.end, unit.text)


DEFAULT_K = 8
"""Units per claim: a few sentences for each part of a compound claim."""
MIN_COVERAGE = 0.2
"""Share of a claim's term weight that a unit must contain to be relevant, unless it contains little else."""

# Chosen by hand, except for BM25's usual constants.
_SMALL_COVERAGE = 0.05  # minimum for a unit that contains little besides the claim's terms …
_UNIT_SHARE = 0.4  # … which are at least this share of its weight
_K1 = 1.2  # BM25: saturation of repeated terms; the usual value
_B = 0.5  # BM25: length normalisation; less than the usual 0.75, since units have similar lengths
_PSEUDO_UNITS = 10  # added to the number of units, so that weights are sensible for a few units
_COVERED = 0.5  # weight of a term that an earlier choice contains
_GAIN_SHARE = 0.2  # minimum gain of a unit, relative to the first choice
_HEADING_WEIGHT = 0.6  # of terms in a heading, which names a topic but states nothing
_PREFIX = 5  # letters that a term shares with its variants
_PREFIX_WEIGHT = 0.6  # of such a variant

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Columns = dict[str, tuple[float, Ints, Floats]]


class Index:
    """The units of all sources, and for each term the units that contain it.

    `first[i]` is the number of the first unit of source i; `costs` are the tokens of the units.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = tuple(sources)
        cuts: list[tuple[TextPiece, ...]] = []
        self.units: list[Unit] = []
        self.first: list[int] = []
        for source in self.sources:
            check_cancelled()
            cuts.append(tuple(pieces(source.text, rendered=False)))
            self.first.append(len(self.units))
            self.units.extend(unit_of(source.id, piece) for piece in cuts[-1])
        self.pieces = tuple(cuts)
        self._positions: dict[str, list[int]] = defaultdict(list)
        for at, source in enumerate(self.sources):
            self._positions[source.id].append(at)
        self._source_of = np.repeat(np.arange(len(self.sources)), [len(cut) for cut in self.pieces])
        shown = (f"{piece.under} {piece.text}" for cut in self.pieces for piece in cut)
        self.costs = np.array([tokens(text) + 1 for text in shown], dtype=np.int64)
        self._postings = self._invert()
        self._mass = self._masses()
        self._prefixes: dict[str, list[str]] = defaultdict(list)
        for term in self._postings:
            if len(term) > _PREFIX:
                self._prefixes[term[:_PREFIX]].append(term)

    def _invert(self) -> dict[str, tuple[Ints, Floats]]:
        """Per term: the units that contain it, with BM25's saturated and length-normalised count."""
        lists: dict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
        every = [piece for cut in self.pieces for piece in cut]
        bags: list[Counter[str]] = []
        for piece in every:
            check_cancelled()
            bags.append(Counter(terms(f"{piece.under} {piece.text}")))
        average = sum(sum(bag.values()) for bag in bags) / max(1, len(bags)) or 1.0
        for number, (bag, piece) in enumerate(zip(bags, every, strict=True)):
            norm = _K1 * (1 - _B + _B * sum(bag.values()) / average)
            for term, count in bag.items():
                where, strength = lists[term]
                where.append(number)
                strength.append(count * (_K1 + 1) / (count + norm) * (_HEADING_WEIGHT if piece.heading else 1.0))
        return {
            term: (np.array(where, dtype=np.int32), np.array(strength, dtype=np.float32))
            for term, (where, strength) in lists.items()
        }

    def _masses(self) -> Floats:
        """The total weight of the terms of each unit."""
        mass = np.zeros(len(self.units), dtype=np.float32)
        for where, _ in self._postings.values():
            mass[where] += np.float32(self._rarity(len(where)))
        return mass

    def _rarity(self, holders: int) -> float:
        """The inverse document frequency of a term that `holders` units contain."""
        return math.log(1 + (len(self.units) + _PSEUDO_UNITS - holders + 0.5) / (holders + 0.5))

    def positions(self, ids: Iterable[str]) -> list[int]:
        """The positions of the sources with these ids, in ascending order."""
        return sorted(at for name in set(ids) for at in self._positions.get(name, ()))

    def select(
        self, claim: str, *, k: int = DEFAULT_K, budget: int | None = None, only: Collection[str] | None = None
    ) -> list[Unit]:
        """The units relevant to a claim, best first; empty if there are none.

        Args:
            k: maximum number of choices; the sentence before a pronoun comes in addition.
            budget: maximum number of tokens.
            only: restrict to the sources with these ids.
        """
        return [self.units[number] for number in self.numbers(claim, k=k, budget=budget, only=only)]

    def numbers(
        self,
        claim: str,
        *,
        k: int = DEFAULT_K,
        budget: int | None = None,
        only: Collection[str] | None = None,
        without: Collection[str] = (),
    ) -> list[int]:
        """Like `select`, but returns the numbers of the units; `without` excludes the sources with these ids.

        Greedy: terms covered by an earlier choice count half, so that each part of a compound claim finds its
        own evidence, and a fact that occurs twice is found twice.
        """
        if not self.units:
            return []
        columns = self._columns(claim)
        weights = {term: weight for term, (weight, _, _) in columns.items()}
        allowed = self._allowed(only) & self._relevant(columns)
        if without:
            allowed &= ~self._allowed(without)
        chosen: list[int] = []
        first_gain = 0.0
        left = budget if budget is not None else int(self.costs.sum())
        while len(chosen) < k:
            best, gain = self._best(columns, weights, allowed)
            first_gain = first_gain or gain
            if gain <= 0 or gain < _GAIN_SHARE * first_gain:
                break
            allowed[best] = False
            left = self._accept(best, chosen, left)
            for term, (_, where, _) in columns.items():
                weights[term] *= _COVERED if _contains(where, best) else 1.0
        return chosen if self._covers(columns, chosen) else []

    def _relevant(self, columns: Columns) -> NDArray[np.bool_]:
        """A mask of the units that contain enough of the claim, or little else."""
        shared = np.zeros(len(self.units), dtype=np.float32)
        for weight, where, _ in columns.values():
            shared[where] += np.float32(weight)
        total = sum(weight for weight, _, _ in columns.values())
        about = (shared >= MIN_COVERAGE * total) | (
            (shared >= _SMALL_COVERAGE * total) & (shared >= _UNIT_SHARE * self._mass)
        )
        return about & (shared > 0)

    def _covers(self, columns: Columns, chosen: Collection[int]) -> bool:
        """Return True if the chosen units together contain enough of the claim."""
        total = sum(weight for weight, _, _ in columns.values())
        shared = sum(w for w, where, _ in columns.values() if any(_contains(where, n) for n in chosen))
        return shared >= MIN_COVERAGE * total

    def ranked(self, claim: str, only: Collection[str] | None = None, floor: float = 0.0) -> list[int]:
        """The numbers of all units that share a term with the claim, best first; ties in text order.

        Args:
            only: restrict to the sources with these ids.
            floor: minimum score, as a share of the best.
        """
        if not self.units:
            return []
        columns = self._columns(claim)
        scores = self._scores(columns, {term: weight for term, (weight, _, _) in columns.items()})
        scores[~self._allowed(only)] = 0.0
        order = np.argsort(-scores, kind="stable")
        enough = (scores > 0) & (scores >= np.float32(floor) * scores[order[0]])
        return [int(number) for number in order[: int(enough.sum())]]

    def coverage(self, text: str, k: int = DEFAULT_K) -> tuple[float, list[int]]:
        """The share of a text, by term weight, that its `k` best units contain together; and their numbers.

        Unlike in `select`, terms that are frequent in the sources count fully: they are their topic. A text
        without content words is covered by any source.
        """
        weights, columns, best = weighted(text), self._columns(text), self.ranked(text)[:k]
        shared = sum(weight for term, weight in weights.items() if any(_contains(columns[term][1], n) for n in best))
        total = sum(weights.values())
        return (shared / total if total else float(bool(self.units))), best

    def _accept(self, number: int, chosen: list[int], left: int) -> int:
        for candidate in (number, *self._neighbours(number)):
            cost = int(self.costs[candidate])
            if candidate not in chosen and cost <= left:
                chosen.append(candidate)
                left -= cost
        return left

    def _neighbours(self, number: int) -> Iterator[int]:
        """The sentence before a unit that begins with a pronoun."""
        same = number > 0 and self.units[number - 1].source == self.units[number].source
        if same and PRONOUN.match(self.units[number].text):
            yield number - 1

    def _columns(self, claim: str) -> Columns:
        """For each term of a claim: its weight, and the units that contain it or a variant of it."""
        found: Columns = {}
        for term, weight in weighted(claim).items():
            where, strength = self._postings.get(term, _NOWHERE)
            if not len(where):
                where, strength = self._alike(term)
            found[term] = (weight * self._rarity(len(where)), where, strength)
        return found

    def _alike(self, term: str) -> tuple[Ints, Floats]:
        """The units with terms of the same prefix, for a term that does not occur itself."""
        near = self._prefixes.get(term[:_PREFIX], ()) if len(term) > _PREFIX and term.isalpha() else ()
        if not near:
            return _NOWHERE
        scores = np.zeros(len(self.units), dtype=np.float32)
        for other in near:
            where, strength = self._postings[other]
            scores[where] = np.maximum(scores[where], strength * _PREFIX_WEIGHT)
        where = np.flatnonzero(scores).astype(np.int32)
        return where, scores[where]

    def _scores(self, columns: Columns, weights: dict[str, float]) -> Floats:
        scores = np.zeros(len(self.units), dtype=np.float32)
        for term, (_, where, strength) in columns.items():
            scores[where] += np.float32(weights[term]) * strength
        return scores

    def _best(self, columns: Columns, weights: dict[str, float], allowed: NDArray[np.bool_]) -> tuple[int, float]:
        scores = np.where(allowed, self._scores(columns, weights), np.float32(0))
        best = int(np.argmax(scores))
        return best, float(scores[best])

    def _allowed(self, only: Collection[str] | None) -> NDArray[np.bool_]:
        if only is None:
            return np.ones(len(self.units), dtype=np.bool_)
        return np.isin(self._source_of, self.positions(only))


_NOWHERE: tuple[Ints, Floats] = (np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32))


def _contains(where: Ints, number: int) -> bool:
    at = int(np.searchsorted(where, number))
    return at < len(where) and int(where[at]) == number
