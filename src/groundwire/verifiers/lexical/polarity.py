"""Contradictions in the same words: negation, opposites, quantifiers, exchanged roles."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from groundwire.text.lexicon import NEGATIONS
from groundwire.text.names import Name
from groundwire.text.tokens import Word
from groundwire.verifiers.lexical.pieces import Analysis, Clause
from groundwire.verifiers.lexical.tables import BE, BEFORE_OBJECT, HELPERS, OBJECT_MARK, OPPOSITES, QUANTIFIERS

# The calibration was fitted with these values: changing one requires a new fit.
_SAME_CLAUSE = 0.6  # share of a clause's content words from which another clause says the same
_BOTH_WAYS = 0.3  # minimum share of the other clause's words, so that a very long one does not match
_CLOSEST = 0.9  # clauses with at least this share of the best overlap are compared
_NAME_WORDS = 3  # words of a name next to a Hebrew verb or object marker


def negation_differs(claim: Analysis, near: Sequence[Analysis]) -> bool | None:
    """True if the evidence negates the claim, False if the claim negates the evidence, None if neither.

    Compared clause by clause: a 'not' in another clause of a long sentence is irrelevant.
    """
    theirs = list(dict.fromkeys(clause for piece in near for clause in piece.clauses))
    holders: dict[str, list[int]] = {}
    for at, other in enumerate(theirs):
        for norm in other.content:
            holders.setdefault(norm, []).append(at)
    for clause in dict.fromkeys(claim.clauses):
        alike = sorted({at for norm in clause.content for at in holders.get(norm, ())})
        shares = {at: _shared(clause, theirs[at]) for at in alike}
        best = max(shares.values(), default=0.0)
        if best < _SAME_CLAUSE or len(clause.content) < 2:
            continue
        closest = [theirs[at] for at, share in shares.items() if share >= _CLOSEST * best]
        if all(_denied(clause, other) for other in closest):
            return closest[0].negated
    return None


def _denied(clause: Clause, other: Clause) -> bool:
    """Return True if one of two clauses is negated, next to a word they share."""
    shared = clause.content & other.content
    return clause.negated != other.negated and bool((clause.denied | other.denied) & shared)


def _shared(clause: Clause, other: Clause) -> float:
    """The share of the clause's words in the other; 0 if they are too few of the other's."""
    if not clause.content or not other.content:
        return 0.0
    common = len(clause.content & other.content)
    return common / len(clause.content) if common >= _BOTH_WAYS * len(other.content) else 0.0


def opposite(claim: Analysis, piece: Analysis, near: Sequence[Analysis]) -> tuple[Word, str] | None:
    """A word of the claim that no near piece contains while the nearest contains its opposite."""
    stated = frozenset().union(*(other.norms for other in near))
    sides: dict[tuple[int, int], str] = {}
    for word in piece.words:
        if word.norm not in claim.norms:
            sides.update(((axis, side), word.text) for axis, side in OPPOSITES.get(word.norm, ()))
    for word in claim.words:
        if word.norm in stated:
            continue
        for axis, side in OPPOSITES.get(word.norm, ()):
            if (axis, 1 - side) in sides and (axis, side) not in sides:
                return word, sides[axis, 1 - side]
    return _opposite_of_same(claim, piece)


def _opposite_of_same(claim: Analysis, piece: Analysis) -> tuple[Word, str] | None:
    """'removed support' in the claim against 'added support' in a piece that removes something else."""
    theirs: dict[str, dict[str, Word]] = {}
    for word, following in pairwise(piece.content):
        theirs.setdefault(following.norm, {}).setdefault(word.norm, word)
    for word, following in pairwise(claim.content):
        mine = OPPOSITES.get(word.norm, frozenset())
        leading = theirs.get(following.norm, {})
        if not mine or word.norm in leading:
            continue
        for other in leading.values():
            if any((axis, 1 - side) in mine for axis, side in OPPOSITES.get(other.norm, ())):
                return word, other.text
    return None


def quantifier_differs(claim: Analysis, piece: Analysis) -> tuple[Word, str] | None:
    """The claim says of all (or none) what the piece says of some, or the reverse."""
    theirs: dict[tuple[str, ...], dict[int, str]] = {}
    for rank, key, word in _quantified(piece):
        theirs.setdefault(key, {})[rank] = word.text
    for rank, key, word in _quantified(claim):
        others = theirs.get(key, {})
        if rank in others:
            continue
        for other, text in others.items():
            if min(rank, other) == 0 or (rank == 5 and other < 5):
                return word, text
    return None


def _quantified(text: Analysis) -> Iterator[tuple[int, tuple[str, ...], Word]]:
    """(rank of the quantifier, the two content words after it, the quantifier)."""
    content = {word.start for word in text.content}
    for i, word in enumerate(text.words):
        rank = QUANTIFIERS.get(word.text.lower())
        following = text.words[i + 1 : i + 6]
        if rank is None or (following and following[0].text.lower() in QUANTIFIERS):
            continue
        nouns = tuple(w.norm for w in following if w.start in content)[:2]
        if nouns:
            yield rank, nouns, word


class _Party(NamedTuple):
    """A content word, or all words of a name, normalised; `first` and `last` are word indices."""

    norms: frozenset[str]
    first: int
    last: int


def roles_exchanged(claim: Analysis, piece: Analysis) -> bool:
    """'Alice hired Bob' against 'Bob hired Alice' or 'Alice was hired by Bob'."""
    theirs = set(_roles(piece))
    for doer, verb, thing in set(_roles(claim)):
        same = [(x, y) for x, v, y in theirs if v & verb]
        if any(x & doer and y & thing for x, y in same) or doer & thing:
            continue
        if any(x & thing and y & doer for x, y in same):
            return True
    return False


def _roles(text: Analysis) -> Iterator[tuple[frozenset[str], frozenset[str], frozenset[str]]]:
    """(agent, verb, patient) if the three are close together; a passive is inverted."""
    yield from _marked_objects(text)
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


def _marked_objects(text: Analysis) -> Iterator[tuple[frozenset[str], frozenset[str], frozenset[str]]]:
    """Hebrew has no capitals, but a marker before the object: agent verb את object."""
    content = {word.start for word in text.content}
    for i, word in enumerate(text.words):
        if word.text == OBJECT_MARK and i >= 2 and text.words[i - 1].start in content:
            doer = _run(text.words[max(0, i - 1 - _NAME_WORDS) : i - 1][::-1], content)
            thing = _run(text.words[i + 1 : i + 1 + _NAME_WORDS], content)
            if doer and thing:
                yield doer, frozenset({text.words[i - 1].norm}), thing


def _run(words: Sequence[Word], content: Collection[int]) -> frozenset[str]:
    return frozenset(word.norm for word in takewhile(lambda word: word.start in content, words))


def _parties(text: Analysis) -> list[_Party]:
    """Content words in order; the words of a name are one item."""
    content = {word.start for word in text.content}
    found: list[_Party] = []
    previous: Name | None = None
    for i, word in enumerate(text.words):
        if word.start not in content or word.text.lower() in HELPERS:
            continue
        name = _name_at(text.names, word.start)
        if name is not None and name == previous:
            found[-1] = _Party(found[-1].norms | {word.norm}, found[-1].first, i)
        else:
            found.append(_Party(frozenset({word.norm}), i, i))
        previous = name
    return found


def _name_at(names: Sequence[Name], place: int) -> Name | None:
    """Names are sorted and never overlap, so only the last that begins before a position can contain it."""
    at = bisect_right(names, place, key=lambda name: name.start) - 1
    return names[at] if at >= 0 and place < names[at].end else None
