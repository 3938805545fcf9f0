"""The reason of a denied claim: the value that the evidence gives instead of the claim's, or the sentence that decides.

A value is named only where claim and evidence speak of the same thing: the same kind and unit, the same counted noun
or dimension ("9 metres wide"), and no other value that fits as well. Where that is not clear, the sentence is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from groundwire.text import dates, numbers
from groundwire.text.lexicon import NEGATIONS
from groundwire.text.structure import TextPiece, pieces
from groundwire.text.tokens import Word, cached, language_hint, normalise, words
from groundwire.types import Estimate, Query, UnitKind, Verifier
from groundwire.verifiers.lexical import antonyms

NAMES_VALUE = "evidence says "
"""How a reason begins that names a value instead of quoting a sentence."""

QUOTES = "the source says “"
"""How a reason begins that quotes the sentence."""

_QUOTE_CHARS = 160
_MAX_CACHED = 400
"""Characters of a piece whose quantities are kept: the claims of one answer read the same pieces."""
_PREFIX = 5
"""Letters that related words share ("employees", "employs"); shorter words must be equal."""
_MIN_SHARE = 0.5
"""Share of the claim's words that stand with a value, at least, for it to be a value of the same thing."""
_BACK = 2
"""Sentences before a pronoun in which the thing that it stands for is looked for, and around a quoted sentence
those that may decide instead of it."""
_DENIAL = 1.5
_PLAINER = 0.5
"""What a negation or an opposite counts beside a shared word, and by how much another sentence must be plainer to
be quoted instead; chosen by hand."""

_RELATED = {"width": "wide", "height": "high", "tall": "high", "length": "long", "depth": "deep", "weight": "weigh"}
_CLAUSE = re.compile(r";|,(?=\s)|\b(?:and|but|while|whereas|or)\b|[()]")
_REFERS = re.compile(r"(?:it|its|he|his|she|her|they|their|this|these|the|there)\b", re.IGNORECASE)
_CALENDAR = frozenset(map(normalise, (*dates.MONTHS, *dates.WEEKDAYS)))
_MARKUP = re.compile(r"[*_]{2,}|`")


class ReasonVerifier:
    """Any verifier, with those reasons replaced that name a value of another thing or quote what the claim repeats."""

    def __init__(self, inner: Verifier) -> None:
        self._inner = inner

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        estimates = await self._inner.estimate(queries)
        return [_explained(query, found) for query, found in zip(queries, estimates, strict=True)]


def _explained(query: Query, found: Estimate) -> Estimate:
    named, quoted = found.reason.startswith(NAMES_VALUE), found.reason.startswith(QUOTES)
    if found.error or not (named or quoted) or language_hint(query.claim) != "en":
        return found
    said = found.reason.removeprefix(QUOTES).removesuffix("”").removesuffix("…")
    if named or _is_said_by(query.claim, said):
        return replace(found, reason=decisive_reason(query.claim, query.context) or found.reason)
    better = _denial_near(query.claim, said, [piece for piece in pieces(query.context) if not piece.heading])
    return replace(found, reason=_quoted(better)) if better else found


def decisive_reason(claim: str, context: str) -> str:
    """Name the value that the context gives instead of the claim's, or quote the sentence closest to the claim.

    A sentence that the claim only repeats does not decide against it.

    >>> decisive_reason("The bridge is 15 metres wide.", "The bridge is 12 metres high. Its deck is 9 metres wide.")
    'evidence says 9 metres'
    >>> decisive_reason("The club has 200 members.", "Founded in 1964, the club has many members.")
    'the source says “Founded in 1964, the club has many members.”'
    """
    read = [piece for piece in pieces(context) if not piece.heading]
    wrong = [found for quantity in quantities(claim) if (found := _instead(claim, quantity, read))]
    if len(wrong) == 1 and wrong[0].value:
        return f"{NAMES_VALUE}{wrong[0].value}"
    at = wrong[0].piece if wrong else _closest(claim, read)
    return _quoted(at) if at else ""


# ---- quantities and what they are about


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number or a date of a text; `about` are the words that say what it is a value of."""

    start: int
    end: int
    number: numbers.Number | None = None
    date: dates.PartialDate | None = None
    about: frozenset[str] = frozenset()

    def relation(self, other: Quantity) -> str:
        """How the evidence's quantity relates to this one of a claim, as `numbers.compare` says it."""
        if self.number and other.number and self.number.kind == other.number.kind:
            return numbers.compare(self.number, other.number)
        if self.date and other.date:
            return dates.compare(self.date, other.date)
        return "unrelated"

    def written_for(self, claim: Quantity, text: str) -> str:
        """This quantity as the text has it; only the year of a date where the claim has no more."""
        if self.date and claim.date and claim.date.year and not claim.date.month:
            return str(self.date.year or "")
        return text[self.start : self.end].strip()


@cached(4096, _MAX_CACHED)
def quantities(text: str) -> list[Quantity]:
    """The dates and numbers of a text, each with the words of its clause."""
    found = [Quantity(date.start, date.end, date=date) for date in dates.dates(text)]
    for number in numbers.numbers(text):
        inside = any(number.start < date.end and date.start < number.end for date in found)
        if number.kind != "ordinal" and not inside:
            found.append(Quantity(number.start, number.end, number=number))
    return _with_clauses(text, sorted(found, key=lambda quantity: quantity.start))


def _with_clauses(text: str, found: list[Quantity]) -> list[Quantity]:
    """Add to each quantity the words of its clause, and those that an earlier clause of the sentence lends it.

    In "12 metres high and 9 metres wide" the second clause has no subject of its own: it takes what stands before
    the first quantity. What stands behind that is its own ("high").
    """
    cuts = [0, *(match.start() for match in _CLAUSE.finditer(text)), len(text)]
    tokens = [word for word in words(text) if not word.is_stop]
    result: list[Quantity] = []
    lent: list[str] = []
    for start, end in pairwise(cuts):
        own = [word for word in tokens if start <= word.start < end]
        inside = [quantity for quantity in found if start <= quantity.start < end]
        if text.startswith(";", start) and ":" not in text[start:end]:
            lent = []
        for quantity in inside:
            near = {word.norm for word in own if _belongs(word, quantity, inside)}
            result.append(replace(quantity, about=frozenset(near.union(lent))))
        stop = inside[0].start if inside else end
        lent += [word.norm for word in own if word.start < stop]
    return result


def _belongs(word: Word, quantity: Quantity, inside: Sequence[Quantity]) -> bool:
    """Whether a word of a clause is about this quantity: no other stands between them, except for a date.

    In "from 8 % in 2020 to 5 % in 2021" each has its own words, and the date that says when it holds.
    """
    if quantity.start <= word.start < quantity.end:
        return False
    first, last = sorted((word.start, quantity.start))
    between = (other for other in inside if other is not quantity and first <= other.start < other.end <= last)
    return all((other.date is None) != (quantity.date is None) for other in between)


# ---- the value in place of another


@dataclass(frozen=True, slots=True)
class ValueInstead:
    """`value` is empty where the piece speaks of the same thing, but of several values."""

    piece: TextPiece
    value: str


def _instead(claim: str, quantity: Quantity, read: Sequence[TextPiece]) -> ValueInstead | None:
    """What the evidence gives in place of a quantity of the claim; None where it confirms it or gives nothing."""
    rivals = list(_rivals(claim, quantity, read)) or list(_only_values(claim, quantity, read))
    if not rivals:
        return None
    best = max(score for score, *_ in rivals)
    top = [(piece, value, relation) for score, piece, value, relation in rivals if score == best]
    if any(relation in ("same", "compatible") for *_, relation in top):
        return None
    values = {value for _, value, _ in top}
    return ValueInstead(top[0][0], values.pop() if len(values) == 1 else "")


def _rivals(claim: str, quantity: Quantity, read: Sequence[TextPiece]) -> Iterator[tuple[int, TextPiece, str, str]]:
    """Values of the same thing: how many of the claim's words stand with each, its piece, the value, the relation."""
    wanted = {_base(norm) for norm in quantity.about}
    counted = _counted(claim, quantity)
    for at, piece in enumerate(read):
        for other in quantities(piece.text):
            relation = quantity.relation(other)
            about = other.about | _labels(piece)
            held = {norm for norm in wanted if _holds(about, norm)}
            if relation == "unrelated" or (counted and not _holds(about, counted)):
                continue
            if len(held) < _MIN_SHARE * len(wanted) or not _same_subject(claim, held - {counted}, read, at):
                continue
            yield len(held), piece, other.written_for(quantity, piece.text), relation


def _only_values(
    claim: str, quantity: Quantity, read: Sequence[TextPiece]
) -> Iterator[tuple[int, TextPiece, str, str]]:
    """The same for sentences with all words of the claim and one value of its kind, wherever in them that stands.

    "The population of France is 67 million" counts nothing by name: only a bare number may lack what the claim counts.
    """
    counted, wanted = _counted(claim, quantity), {_base(norm) for norm in quantity.about}
    for piece in read:
        found = [other for other in quantities(piece.text) if quantity.relation(other) != "unrelated"]
        if len(found) != 1:
            continue
        bare = quantity.number is not None and not quantity.number.unit and not _counted(piece.text, found[0])
        needed = wanted - {counted} if bare else wanted
        there = frozenset(word.norm for word in words(piece.text)) | _labels(piece)
        if needed and all(_holds(there, norm) for norm in needed):
            yield len(needed), piece, found[0].written_for(quantity, piece.text), quantity.relation(found[0])


def _counted(claim: str, quantity: Quantity) -> str:
    """The word directly behind a quantity: what it counts ("40 rooms") or measures ("9 metres wide"); else empty."""
    following = next((word for word in words(claim) if word.start >= quantity.end), None)
    if following is None or following.is_stop or claim[quantity.end : following.start].strip(" -"):
        return ""
    return _base(following.norm)


def _labels(piece: TextPiece) -> frozenset[str]:
    """The words that a line of data or a row stands under, which are about each of its values."""
    if piece.kind is UnitKind.SENTENCE and not piece.under:
        return frozenset()
    return frozenset(word.norm for word in words(f"{piece.under} {piece.label}") if not word.is_stop)


def _same_subject(claim: str, shared: set[str], read: Sequence[TextPiece], at: int) -> bool:
    """False for a sentence about another thing: it names one, or neither it nor those before it name the claim's."""
    text = read[at].text
    mine, theirs = _names(claim), _names(text)
    if mine and theirs and not mine & theirs and not _begins_with(text, mine):
        return False
    own = {word.norm for word in words(claim) if not word.is_stop and not word.text[0].isdigit()}
    if shared or len(own) <= 1:  # "It has 400 employees": whoever is meant is not named
        return True
    if not _REFERS.match(text):
        return False
    before = {word.norm for piece in read[max(0, at - _BACK) : at] for word in words(piece.text)}
    return any(word.norm in before for word in words(claim) if not word.is_stop)


def _names(text: str) -> set[str]:
    """Capitalised words that do not begin the text."""
    found = [word for word in words(text) if word.text[0].isupper() and not word.is_stop]
    return {word.norm for word in found if word.start > 0}


def _begins_with(text: str, names: set[str]) -> bool:
    first = next(iter(words(text)), None)
    return first is not None and first.norm in names


def _base(norm: str) -> str:
    return _RELATED.get(norm, norm)


def _holds(about: frozenset[str], norm: str) -> bool:
    """Whether the words hold this one or a related one."""
    if norm in about or any(_base(other) == norm for other in about):
        return True
    return len(norm) >= _PREFIX and any(other[:_PREFIX] == norm[:_PREFIX] for other in about)


# ---- the sentence to quote


def _closest(claim: str, read: Sequence[TextPiece]) -> TextPiece | None:
    """The piece with most of the claim's words; of equal ones the one with a value that the claim has otherwise.

    What the claim is about mostly comes first, and counts twice.
    """
    own = [word.norm for word in words(claim) if not word.is_stop]
    mine = quantities(claim)
    read = [piece for piece in read if not _is_said_by(claim, piece.text)] or read

    def score(piece: TextPiece) -> tuple[int, bool]:
        there = {word.norm for word in words(f"{piece.under} {piece.text}")}
        other = any(a.relation(b) == "conflict" for a in mine for b in quantities(piece.text))
        return sum(norm in there for norm in [*set(own), *own[:1]]), other

    return max(read, key=score, default=None)


def _denial_near(claim: str, quoted: str, read: Sequence[TextPiece]) -> TextPiece | None:
    """The neighbour of a quoted sentence that speaks against the claim more plainly; None if the quoted one does."""
    plain = [_plain(piece) for piece in read]
    at = next((i for i, text in enumerate(plain) if quoted and text.startswith(quoted)), None)
    if at is None:
        return None
    near = range(max(0, at - _BACK), min(len(read), at + _BACK + 1))
    scores = {i: _against(claim, plain[i]) for i in near}
    best = max(near, key=lambda i: (scores[i], -abs(i - at)))
    return read[best] if scores[best] >= scores[at] + _PLAINER else None


def _against(claim: str, sentence: str) -> float:
    """How plainly a sentence speaks against a claim: what they share, and a negation or an opposite.

    Names count half: a sentence about the same act tells more than one about the same person.
    """
    names, mine = _names(claim) - _CALENDAR, {word.norm: word for word in words(claim) if not word.is_stop}
    found = words(sentence)
    there = frozenset(word.norm for word in found if not word.is_stop)
    shared = sum(0.5 if norm in names else 1.0 for norm in mine if _holds(there, norm))
    negated = _is_negated(found) != _is_negated(words(claim))
    sides = {place for norm in mine for place in antonyms().get(norm, ())}
    opposed = any((row, 1 - side) in sides for norm in there - mine.keys() for row, side in antonyms().get(norm, ()))
    return shared + _DENIAL * (negated or opposed) if shared else 0.0


def _is_negated(found: Sequence[Word]) -> bool:
    return any(word.text.lower() in NEGATIONS or word.text.lower().endswith(("n't", "n’t")) for word in found)


def _is_said_by(claim: str, sentence: str) -> bool:
    """Whether the claim has all words of a sentence, so that the sentence cannot be what denies it."""
    own = {word.norm for word in words(claim)}
    found = words(sentence)
    return not _is_negated(found) and all(word.norm in own for word in found if not word.is_stop)


def _quoted(piece: TextPiece) -> str:
    return f"{QUOTES}{_shorten(_plain(piece))}”"


def _plain(piece: TextPiece) -> str:
    return _MARKUP.sub("", piece.text)


def _shorten(text: str) -> str:
    return text if len(text) <= _QUOTE_CHARS else text[: _QUOTE_CHARS - 1].rsplit(" ", 1)[0] + "…"
