"""Build the two contexts of a claim: with its evidence (for p1) and without (for p0).

- If all sources fit `context_tokens`, with their evidence and without, the context of p1 is all of them, the
  same string for every claim, and that of p0 is this string with the evidence replaced by the marker.
- Otherwise both are an excerpt for the claim: its selected units, their neighbours, then further relevant
  units by score (cited sources first), up to the budget. They appear in the order of the sources, one unit
  per line, with `…` for omissions. p1 is estimated once over the excerpt, not per window, so that a claim
  whose evidence is far apart is judged with all of it.
- The evidence removed for p0 is the cited sources, else the selected units, else everything.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from groundwire._loop import check_cancelled
from groundwire.retrieval.cite import cited_ids
from groundwire.retrieval.render import Neutraliser, excerpt, header, scrub, tokens, whole
from groundwire.retrieval.select import Index, ref_of
from groundwire.text.structure import MARKERS, TextPiece
from groundwire.text.tokens import PRONOUN, names
from groundwire.types import Claim, EvidenceRef, Source

# Chosen by hand.
_CITED_SHARE = 0.75  # of an excerpt for the cited sources; the rest is for the others
_FLOOR = 0.3  # share of the best unit's score below which a unit is not relevant
_LEADING_UNITS = 40  # first units shown if none is relevant
_ELSEWHERE = 3  # units of uncited sources that are reported


@dataclass(frozen=True, slots=True)
class Gathered:
    """The contexts of one claim, and the evidence in them (`refs`), best first.

    `cited_text` contains the cited sources alone (None without citations), `elsewhere` the relevant passages
    of sources that the claim does not cite.
    """

    with_text: str
    without_text: str
    cited_text: str | None
    refs: tuple[EvidenceRef, ...]
    elsewhere: tuple[EvidenceRef, ...] = ()


class Evidence:
    """The sources of one check, indexed and rendered once for all claims.

    Args:
        context_tokens: limit for the context of a claim.
        marker: replaces removed evidence.
        index: an existing index of `sources`.
    """

    def __init__(
        self, sources: Sequence[Source], context_tokens: int, marker: str = MARKERS[0], index: Index | None = None
    ) -> None:
        self.index = index or Index(sources)
        self.context_tokens = context_tokens
        self.marker = marker
        self._neutral = Neutraliser((source.id for source in self.index.sources), marker)
        self._safe = tuple(self._neutral(source.text) for source in self.index.sources)
        self._all = range(len(self.index.sources))
        self._everything = frozenset(range(len(self.index.units)))
        self.full = self._render(self._all, frozenset())
        bare = self._render(self._all, self._everything)
        self.fits = max(tokens(self.full), tokens(bare)) <= context_tokens
        self.bare = bare if self.fits else self._names_only()

    def _names_only(self) -> str:
        """The context without evidence if even the markers are too long: as many source ids as fit."""
        room = self.context_tokens // (tokens(header(self.index.sources[0].id) + self.marker) + 1)
        return whole((source.id, self.marker) for source in self.index.sources[: max(1, room)])

    def gather(self, claim: Claim, about: str = "") -> Gathered:
        """Build the contexts of one claim; `about` is the text before it, to which a pronoun may refer."""
        check_cancelled()
        query = f"{claim.text} {names(about)}" if PRONOUN.match(claim.text) else claim.text
        cited = cited_ids(claim.citations, self.index.sources)
        found = self.index.numbers(query, budget=self.context_tokens, only=cited or None)
        elsewhere = self.index.numbers(query, k=_ELSEWHERE, without=cited) if cited else []
        with_text, without_text = self._contexts(query, cited, found)
        units = self.index.units
        return Gathered(
            with_text,
            without_text,
            self._cited_text(query, cited),
            tuple(ref_of(units[number]) for number in found),
            tuple(ref_of(units[number]) for number in elsewhere),
        )

    def _contexts(self, query: str, cited: Sequence[str], found: Sequence[int]) -> tuple[str, str]:
        cut = self._of(cited) if cited else frozenset(found) or self._everything
        if self.fits:
            gone = self.bare if cut >= self._everything else self._render(self._all, cut)
            return self.full, gone
        shown = self._pick(query, cited, found)
        return self._excerpt(shown, frozenset()), self._excerpt(shown, cut)

    def _cited_text(self, query: str, cited: Sequence[str]) -> str | None:
        if not cited:
            return None
        chosen = self.index.positions(cited)
        text = self.full if len(chosen) == len(self._all) else self._render(chosen, frozenset())
        if tokens(text) <= self.context_tokens:
            return text
        return self._excerpt(self._cited(query, cited, self.context_tokens), frozenset())

    def _cited(self, query: str, cited: Sequence[str], budget: int) -> list[int]:
        """The units of cited sources in an excerpt: the relevant ones, else the first ones."""
        ranked = self.index.ranked(query, cited, _FLOOR)
        leading = sorted(self._of(cited))[:_LEADING_UNITS]
        return self._fill([], self._with_neighbours(ranked) or leading, budget) or (ranked or leading)[:1]

    def _of(self, ids: Collection[str]) -> frozenset[int]:
        starts = ((self.index.first[at], len(self.index.pieces[at])) for at in self.index.positions(ids))
        return frozenset(number for start, length in starts for number in range(start, start + length))

    def _render(self, positions: Iterable[int], cut: frozenset[int]) -> str:
        """The sources at these positions as one text, without the units of `cut`."""
        blocks = []
        for at in positions:
            text, numbered = self._safe[at], enumerate(self.index.pieces[at], self.index.first[at])
            gone = [piece for number, piece in numbered if number in cut] if cut else []
            blocks.append((self.index.sources[at].id, scrub(text, gone, self.marker) if gone else text))
        return whole(blocks)

    def _pick(self, query: str, cited: Sequence[str], found: Sequence[int]) -> list[int]:
        """The units of an excerpt, in the order of the text."""
        picked = self._fill([], self._with_neighbours(found), self.context_tokens)
        if cited:
            budget = int(self.context_tokens * _CITED_SHARE)
            picked = self._fill(picked, self._cited(query, cited, budget), budget)
        picked = self._fill(picked, self.index.ranked(query, floor=_FLOOR), self.context_tokens)
        # The most relevant unit is shown even if it is longer than the budget.
        return picked or self.index.ranked(query)[:1] or self._fill([], self._leading(), self.context_tokens)

    def _leading(self) -> range:
        return range(min(_LEADING_UNITS, len(self.index.units)))

    def _fill(self, picked: Sequence[int], candidates: Sequence[int], budget: int) -> list[int]:
        """Add candidates in their order as far as the budget goes."""
        chosen = dict.fromkeys(picked)
        left = budget - sum(self._cost(number) for number in chosen)
        for number in candidates:
            cost = self._cost(number)
            if number not in chosen and cost <= left:
                chosen[number] = None
                left -= cost
            if left <= 0:
                break
        return sorted(chosen)

    def _with_neighbours(self, found: Sequence[int]) -> list[int]:
        """The units found, then the ones just before and after them in the same source."""
        units = self.index.units
        pairs = [(number, number + step) for number in found for step in (-1, 1)]
        inside = [pair for pair in pairs if 0 <= pair[1] < len(units)]
        return [*found, *(near for number, near in inside if units[near].source == units[number].source)]

    def _cost(self, number: int) -> int:
        """Tokens of a unit, the larger of its text and the marker, and of the `…` or id before it."""
        unit = self.index.units[number]
        return max(int(self.index.costs[number]), tokens(self.marker) + 1) + tokens(header(unit.source)) + 1

    def _excerpt(self, shown: Sequence[int], cut: frozenset[int]) -> str:
        picked: dict[int, list[tuple[int, TextPiece]]] = {}
        removed: set[tuple[str, int]] = set()
        for number in sorted(shown):
            at = bisect_right(self.index.first, number) - 1
            within = number - self.index.first[at]
            picked.setdefault(at, []).append((within, self.index.pieces[at][within]))
            if number in cut:
                removed.add((self.index.sources[at].id, within))
        blocks = [(self.index.sources[at], numbered) for at, numbered in picked.items()]
        return excerpt(blocks, removed, self._neutral, self.marker)
