"""Which pieces of a context are nearest to a claim, and how much of the claim they hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise
from math import fsum, log  # sets have no order: fsum does not care for it

from groundwire.text.tokens import similarity
from groundwire.verifiers.lexical.facts import Near
from groundwire.verifiers.lexical.pieces import Analysis, Piece, analyse
from groundwire.verifiers.lexical.tables import LIGHT, LIGHT_WEIGHT

_NEAR = 6
_GREEDY = 5
_FAR = 120
_ALIKE = 0.62
_MIN_ALIKE = 4
_MOST_COMPARED = 200_000
"""Words of a claim with words of the pieces; a claim that needs more is no sentence."""


@dataclass(frozen=True, slots=True)
class LexicalMatch:
    """A claim laid over a context. Coverages are weighted shares of the claim's content words, 0 to 1.

    `any_piece` by the whole context, `best` by the best piece, `few` by the few best together, `alike` as
    `few` with words that merely look alike, `pairs` the share of neighbouring word pairs kept by the few.
    """

    near: tuple[Near, ...]
    far: tuple[Near, ...]
    known: frozenset[str]
    held: frozenset[str]
    any_piece: float
    best: float
    few: float
    alike: float
    pairs: float
    structured: float
    pieces: int


def match(claim: Analysis, context: Sequence[Piece], weights: Mapping[str, float]) -> LexicalMatch:
    wanted = frozenset(word.norm for word in claim.content)
    hits = [(piece, wanted & piece.content) for piece in context]
    hits = [(piece, shared) for piece, shared in hits if shared]
    weight = {norm: LIGHT_WEIGHT if norm in LIGHT else weights.get(norm, 1.0) for norm in wanted}
    total = fsum(weight.values()) or 1.0
    known = frozenset().union(*(shared for _, shared in hits))
    ranked = _ranked(hits, weight, len(context))
    chosen = _greedy(ranked, weight)
    near = list({piece.text: piece for piece, _ in [*ranked[:_NEAR], *chosen]}.values())
    held = frozenset().union(*(shared for _, shared in chosen))
    looks = _alike(wanted - held, near)
    return LexicalMatch(
        near=tuple(Near(analyse(p.text), _share(wanted & p.content, weight, total), p.label) for p in near),
        far=_far(claim, context, ranked, near),
        known=known | looks.keys(),
        held=held | looks.keys(),
        any_piece=_share(known, weight, total),
        best=max((_share(shared, weight, total) for _, shared in ranked[:_NEAR]), default=0.0),
        few=_share(held, weight, total),
        alike=_share(held, weight, total) + fsum(0.8 * weight[norm] for norm in looks) / total,
        pairs=_pairs(claim, near),
        structured=sum(piece.structured for piece in near) / len(near) if near else 0.0,
        pieces=len(context),
    )


def _share(held: Iterable[str], weight: Mapping[str, float], total: float) -> float:
    return fsum(weight[norm] for norm in held) / total


_Hit = tuple[Piece, frozenset[str]]


def _ranked(hits: Sequence[_Hit], weight: Mapping[str, float], pieces: int) -> list[_Hit]:
    """Nearest first. Words that stand in many pieces tell little about which one is meant."""
    seen: dict[str, int] = {}
    for _, shared in hits:
        for norm in shared:
            seen[norm] = seen.get(norm, 0) + 1
    rarity = {norm: weight[norm] * log(1.5 + pieces / count) for norm, count in seen.items()}
    scored = [(fsum(rarity[norm] for norm in shared), -i) for i, (_, shared) in enumerate(hits)]
    return [hits[-i] for _, i in nlargest(_FAR, scored)]


def _greedy(ranked: Sequence[_Hit], weight: Mapping[str, float]) -> list[_Hit]:
    """Up to a few pieces that together hold most of the claim."""
    chosen: list[_Hit] = []
    covered: frozenset[str] = frozenset()
    pool = list(ranked[:40])
    while pool and len(chosen) < _GREEDY:
        gains = [fsum(weight[norm] for norm in shared - covered) for _, shared in pool]
        best = max(range(len(pool)), key=lambda i: gains[i])
        if gains[best] <= 0:
            break
        chosen.append(pool.pop(best))
        covered |= chosen[-1][1]
    return chosen


def _alike(missing: Iterable[str], near: Sequence[Piece]) -> dict[str, str]:
    """Missing words that look like a word of the nearest pieces: other inflections, other spellings."""
    candidates = sorted({norm for piece in near for norm in piece.content if len(norm) >= _MIN_ALIKE})
    found: dict[str, str] = {}
    looked_for = [norm for norm in missing if len(norm) >= _MIN_ALIKE]
    if len(looked_for) * len(candidates) > _MOST_COMPARED:
        looked_for = sorted(looked_for)[: _MOST_COMPARED // len(candidates)]
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
    kept: set[tuple[str, str]] = set()
    for piece in near:
        theirs = [word.norm for word in analyse(piece.text).content]
        kept.update(pairwise(theirs))
        kept.update(zip(theirs, theirs[2:], strict=False))
    return sum(pair in kept for pair in wanted) / len(wanted)


def _far(
    claim: Analysis, context: Sequence[Piece], ranked: Sequence[_Hit], near: Sequence[Piece]
) -> tuple[Near, ...]:
    """Other pieces in which the claim's numbers or dates might stand."""
    if not claim.numbers and not claim.dates:
        return ()
    pool = context if len(context) <= _FAR else [piece for piece, _ in ranked]
    texts = {piece.text for piece in near}
    return tuple(Near(analyse(piece.text), 0.0, piece.label) for piece in pool if piece.text not in texts)
