"""Find the pieces of a context nearest to a claim, and the share of its words that they cover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise
from math import fsum, log  # fsum: the sum over a set must not depend on its order

from groundwire.text.tokens import similarity
from groundwire.verifiers.lexical.facts import Near
from groundwire.verifiers.lexical.pieces import Analysis, Piece, analyse
from groundwire.verifiers.lexical.tables import LIGHT, LIGHT_WEIGHT

# The calibration was fitted with these values: changing one requires a new fit.
_NEAR = 6  # best-ranked pieces that are analysed
_GREEDY = 5  # pieces that together may cover the claim
_POOL = 40  # best-ranked pieces from which those are chosen
_FAR = 120  # pieces searched for the claim's numbers and dates
_ALIKE = 0.62  # string similarity from which two words count as variants of one
_ALIKE_WEIGHT = 0.8  # weight of a variant relative to the word itself
_MIN_ALIKE = 4  # letters; shorter words resemble too many others
_MAX_COMPARISONS = 200_000
"""Limit of word comparisons, which no sentence reaches, against quadratic time for a huge claim."""


@dataclass(frozen=True, slots=True)
class LexicalMatch:
    """A claim compared with a context. Coverages are weighted shares of the claim's content words, 0 to 1.

    `any_piece`: covered by the whole context; `best`: by the best piece; `few`: by the best few together;
    `alike`: like `few`, but similar words count too; `pairs`: the share of neighbouring word pairs that are
    neighbours in a near piece. `known` are the words found in the whole context, `covered` in the best few.
    """

    near: tuple[Near, ...]
    far: tuple[Near, ...]
    known: frozenset[str]
    covered: frozenset[str]
    any_piece: float
    best: float
    few: float
    alike: float
    pairs: float
    structured: float
    pieces: int


def match(claim: Analysis, context: Sequence[Piece], weights: Mapping[str, float]) -> LexicalMatch:
    """Compare a claim with a context; `weights` of words, 1 by default."""
    wanted = frozenset(word.norm for word in claim.content)
    hits = [(piece, wanted & piece.content) for piece in context]
    hits = [(piece, shared) for piece, shared in hits if shared]
    weight = {norm: LIGHT_WEIGHT if norm in LIGHT else weights.get(norm, 1.0) for norm in wanted}
    total = fsum(weight.values()) or 1.0
    known = frozenset().union(*(shared for _, shared in hits))
    ranked = _ranked(hits, weight, len(context))
    chosen = _greedy(ranked, weight)
    near = list({piece.text: piece for piece, _ in [*ranked[:_NEAR], *chosen]}.values())
    covered = frozenset().union(*(shared for _, shared in chosen))
    looks = _alike(wanted - covered, near)
    return LexicalMatch(
        near=tuple(Near(analyse(p.text), _share(wanted & p.content, weight, total), p.label) for p in near),
        far=_far(claim, context, ranked, near),
        known=known | looks.keys(),
        covered=covered | looks.keys(),
        any_piece=_share(known, weight, total),
        best=max((_share(shared, weight, total) for _, shared in ranked[:_NEAR]), default=0.0),
        few=_share(covered, weight, total),
        alike=_share(covered, weight, total) + fsum(_ALIKE_WEIGHT * weight[norm] for norm in looks) / total,
        pairs=_pairs(claim, near),
        structured=sum(piece.structured for piece in near) / len(near) if near else 0.0,
        pieces=len(context),
    )


def _share(found: Iterable[str], weight: Mapping[str, float], total: float) -> float:
    return fsum(weight[norm] for norm in found) / total


_Hit = tuple[Piece, frozenset[str]]


def _ranked(hits: Sequence[_Hit], weight: Mapping[str, float], pieces: int) -> list[_Hit]:
    """Nearest first; a word that occurs in many pieces counts less."""
    seen: dict[str, int] = {}
    for _, shared in hits:
        for norm in shared:
            seen[norm] = seen.get(norm, 0) + 1
    rarity = {norm: weight[norm] * log(1.5 + pieces / count) for norm, count in seen.items()}
    scored = [(fsum(rarity[norm] for norm in shared), -i) for i, (_, shared) in enumerate(hits)]
    return [hits[-i] for _, i in nlargest(_FAR, scored)]


def _greedy(ranked: Sequence[_Hit], weight: Mapping[str, float]) -> list[_Hit]:
    """Choose up to `_GREEDY` pieces that together cover most of the claim."""
    chosen: list[_Hit] = []
    covered: frozenset[str] = frozenset()
    pool = list(ranked[:_POOL])
    while pool and len(chosen) < _GREEDY:
        gains = [fsum(weight[norm] for norm in shared - covered) for _, shared in pool]
        best = max(range(len(pool)), key=lambda i: gains[i])
        if gains[best] <= 0:
            break
        chosen.append(pool.pop(best))
        covered |= chosen[-1][1]
    return chosen


def _alike(missing: Iterable[str], near: Sequence[Piece]) -> dict[str, str]:
    """Map missing words to similar words of the nearest pieces: other inflections and spellings."""
    candidates = sorted({norm for piece in near for norm in piece.content if len(norm) >= _MIN_ALIKE})
    found: dict[str, str] = {}
    looked_for = [norm for norm in missing if len(norm) >= _MIN_ALIKE]
    if len(looked_for) * len(candidates) > _MAX_COMPARISONS:
        looked_for = sorted(looked_for)[: _MAX_COMPARISONS // len(candidates)]
    for norm in looked_for:
        like = max(candidates, key=lambda other: similarity(norm, other), default="")
        if like and similarity(norm, like) >= _ALIKE and like[:2] == norm[:2]:
            found[norm] = like
    return found


def _pairs(claim: Analysis, near: Sequence[Piece]) -> float:
    """Share of the claim's neighbouring content words that are neighbours in a near piece too."""
    norms = [word.norm for word in claim.content]
    wanted = list(pairwise(norms))
    if not wanted:
        return 1.0 if any(norm in piece.content for norm in norms for piece in near) else 0.0
    neighbours: set[tuple[str, str]] = set()
    for piece in near:
        theirs = [word.norm for word in analyse(piece.text).content]
        neighbours.update(pairwise(theirs))
        neighbours.update(zip(theirs, theirs[2:], strict=False))
    return sum(pair in neighbours for pair in wanted) / len(wanted)


def _far(claim: Analysis, context: Sequence[Piece], ranked: Sequence[_Hit], near: Sequence[Piece]) -> tuple[Near, ...]:
    """Other pieces that may contain the claim's numbers or dates."""
    if not claim.numbers and not claim.dates:
        return ()
    pool = context if len(context) <= _FAR else [piece for piece, _ in ranked]
    texts = {piece.text for piece in near}
    return tuple(Near(analyse(piece.text), 0.0, piece.label) for piece in pool if piece.text not in texts)
