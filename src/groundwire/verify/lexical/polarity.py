"""The same words saying something else: negation, opposites, quantifiers, exchanged roles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from groundwire.text.lexicon import NEGATIONS
from groundwire.text.names import Name
from groundwire.text.words import Word
from groundwire.verify.lexical.pieces import Analysis
from groundwire.verify.lexical.tables import BE, BEFORE_OBJECT, HELPERS, OPPOSITES, QUANTIFIERS


def negation_differs(claim: Analysis, piece: Analysis) -> Word | None:
    """A word of the claim that one of the two negates and the other states."""
    for word in claim.content:
        if word.norm in piece.norms and (word.norm in claim.negated) != (word.norm in piece.negated):
            return word
    return None


def opposite(claim: Analysis, piece: Analysis) -> tuple[Word, str] | None:
    """A word of the claim where the piece has its opposite instead."""
    sides: dict[tuple[int, int], str] = {}
    for word in piece.words:
        for axis, side in OPPOSITES.get(word.norm, ()):
            if word.norm not in claim.norms and word.norm not in piece.negated:
                sides[axis, side] = word.text
    for word in claim.words:
        if word.norm in piece.norms or word.norm in claim.negated:
            continue
        for axis, side in OPPOSITES.get(word.norm, ()):
            if (axis, 1 - side) in sides and (axis, side) not in sides:
                return word, sides[axis, 1 - side]
    return None


def quantifier_differs(claim: Analysis, piece: Analysis) -> tuple[Word, str] | None:
    """The claim says all (or none) of what the piece says for some, or the other way round."""
    theirs = {noun: (rank, text) for rank, noun, text, _ in _quantified(piece)}
    for rank, noun, _, word in _quantified(claim):
        if noun in theirs:
            other, text = theirs[noun]
            if rank != other and (min(rank, other) == 0 or (rank == 5 and other < 5)):
                return word, text
    return None


def _quantified(text: Analysis) -> Iterator[tuple[int, str, str, Word]]:
    content = {word.start for word in text.content}
    for i, word in enumerate(text.words):
        rank = QUANTIFIERS.get(word.text.lower())
        if rank is None:
            continue
        nouns = [w for w in text.words[i + 1 : i + 5] if w.start in content][:2]
        for noun in nouns:
            yield rank, noun.norm, word.text, word


class _Party(NamedTuple):
    """A content word, or all words of a name, in comparable form."""

    norms: frozenset[str]
    first: int
    last: int


def roles_exchanged(claim: Analysis, piece: Analysis) -> bool:
    """'Alice hired Bob' against 'Bob hired Alice' or 'Alice was hired by Bob'."""
    theirs = list(_roles(piece))
    for doer, verb, thing in _roles(claim):
        same = [(x, y) for x, v, y in theirs if v & verb]
        if any(x & doer and y & thing for x, y in same) or doer & thing:
            continue
        if any(x & thing and y & doer for x, y in same):
            return True
    return False


def _roles(text: Analysis) -> Iterator[tuple[frozenset[str], frozenset[str], frozenset[str]]]:
    """(doer, verb, done-to) where the three stand close enough to be sure; a passive is turned round."""
    parties = _parties(text)
    lowered = [word.text.lower() for word in text.words]
    for a, v, b in zip(parties, parties[1:], parties[2:], strict=False):
        before, after = lowered[a.last + 1 : v.first], lowered[v.last + 1 : b.first]
        if len(before) > 3 or len(after) > 2 or not all(w in BEFORE_OBJECT for w in after):
            continue
        copulas = [w for w in before if w not in HELPERS and w not in NEGATIONS]
        turned = after[:1] == ["by"]
        if all(w in BE for w in copulas) and (not copulas or turned or after[:1] == ["than"]):
            yield (b.norms, v.norms, a.norms) if turned else (a.norms, v.norms, b.norms)


def _parties(text: Analysis) -> list[_Party]:
    """Content words in order, the words of one name taken together."""
    content = {word.start for word in text.content}
    found: list[_Party] = []
    previous: Name | None = None
    for i, word in enumerate(text.words):
        if word.start not in content or word.text.lower() in HELPERS:
            continue
        name = next((n for n in text.names if n.start <= word.start < n.end), None)
        if name is not None and name == previous:
            found[-1] = _Party(found[-1].norms | {word.norm}, found[-1].first, i)
        else:
            found.append(_Party(frozenset({word.norm}), i, i))
        previous = name
    return found
