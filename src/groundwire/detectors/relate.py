"""Do two utterances speak of the same matter, and do their values agree?

An utterance is a clause taken apart into its values (weekdays, dates, clock times, numbers with their units)
and its frame: the content words that are left, without words of saying and arranging. Similarity is the mean
of two shares, with word forms compared softly: of the smaller frame that the larger one holds, and of both
together (Dice); where subject and predicate agree, it is at least .6 and the rest by the Dice share. It is 0
where the subjects differ on both sides ("the basic plan", "the premium plan").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from groundwire.detectors.exclusive import CATEGORIES
from groundwire.openie.parser import triples
from groundwire.openie.tense import CLAUSE_EDGE
from groundwire.text import dates, numbers
from groundwire.text.lexicon import NEGATIONS, word_set
from groundwire.text.names import names, same_name
from groundwire.text.tokens import similarity as alike
from groundwire.text.tokens import words
from groundwire.types import Triple

_SAYING = word_set(
    """
    mention say said tell told note remind confirm book schedule plan set arrange take place hold held happen
    go let know just sure ok okay please thank thanks also yes make move change reschedule switch actually
    instead correction sorry mean meant earlier previously currently now remember recall get put do will
    great perfect fine good noted done understood right expect total
    """
)
_PRONOUN_SUBJECTS = word_set("i you we it they he she this that there let us")
_SOFT, _AGREED = 0.8, 0.6
CATEGORY = "category"
_MIN_WORDS = 2
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Value:
    """A value at text[start:end] of its utterance. `kind` tells what it can be compared with."""

    kind: str
    text: str
    start: int
    end: int
    choice: int = 0
    """Which of the possible ones: a weekday, a side of a category's axis."""
    date: dates.PartialDate | None = None
    number: numbers.Number | None = None


@dataclass(frozen=True, slots=True)
class Utterance:
    """A clause: `text` as it stands at `start` of its turn or response."""

    text: str
    start: int
    frame: frozenset[str]
    values: tuple[Value, ...]
    claims: tuple[Triple, ...]
    turn: int = 0
    binding: bool = True
    """Whether it establishes something; a question or a request only makes its values possible."""


def utterances(
    text: str, offset: int = 0, *, turn: int = 0, binding: bool = True, by_user: bool = False
) -> Iterator[Utterance]:
    """The clauses of a sentence that stands at `offset`. What a user calls "my" an answer calls "your"."""
    if len(text) > _LONGEST:
        return
    begin = 0
    cuts = [match.start() for match in CLAUSE_EDGE.finditer(text) if _parts(text, match)]
    for cut in (*cuts, len(text)):
        piece = text[begin:cut]
        left = len(piece) - len(piece.lstrip(" ,;:.–—"))
        if len(piece.split()) >= _MIN_WORDS:
            clause = piece[left:].rstrip()
            claims = tuple(triples(clause))
            found = (*_values(clause), *_named(clause, by_user), *_categories(clause, claims))
            yield Utterance(
                clause, offset + begin + left, _frame(clause, found), found, claims, turn, binding
            )
        begin = cut


def _parts(text: str, match: re.Match[str]) -> bool:
    """Whether this edge is one: not the point of a figure or of an abbreviation."""
    rest = text[match.end() :]
    return bool(rest.strip(" .!?)\"”'’")) and not (match[0] in ".:" and rest[:1].strip())


def _values(text: str) -> Iterator[Value]:
    taken: list[tuple[int, int]] = []
    for weekday, start, end in dates.weekdays(text):
        taken.append((start, end))
        yield Value("weekday", text[start:end], start, end, choice=weekday)
    for date in dates.dates(text):
        taken.append((date.start, date.end))
        yield Value("date", text[date.start : date.end], date.start, date.end, date=date)
    for number in numbers.numbers(text):
        if number.kind != "ordinal" and all(number.end <= a or b <= number.start for a, b in taken):
            kind = number.unit or f"count {_counted(text, number.end)}"
            shown = text[number.start : number.end]
            if shown.count(".") == 1:  # the sentence's own point, not that of "a.m."
                shown = shown.removesuffix(".")
            yield Value(kind, shown, number.start, number.start + len(shown), number=number)


def _counted(text: str, end: int) -> str:
    """What a bare number counts: the content word behind it."""
    following = words(text[end : end + 40])
    return next((word.norm for word in following[:2] if not word.is_stop), "")


def _frame(text: str, values: Sequence[Value]) -> frozenset[str]:
    return frozenset(
        word.norm
        for word in words(text)
        if not word.is_stop
        and word.text.lower() not in _SAYING
        and word.norm not in _SAYING
        and word.text.lower() not in NEGATIONS
        and not any(value.start <= word.start < value.end for value in values)
    )


def similarity(a: Utterance, b: Utterance) -> float:
    """0 to 1; see the head of this file.

    >>> one, two = *utterances("I'll book the meeting for Monday."), *utterances("The meeting is on Friday.")
    >>> similarity(one, two)
    1.0
    """
    if a.frame.isdisjoint(b.frame) or _other_subject(a, b):
        return 0.0
    mine, theirs = _held(a.frame, b.frame), _held(b.frame, a.frame)
    smaller = mine if len(a.frame) <= len(b.frame) else theirs
    contained = smaller / min(len(a.frame), len(b.frame))
    shared = (mine + theirs) / (len(a.frame) + len(b.frame))
    lexical = (contained + shared) / 2
    return max(lexical, _AGREED + (1 - _AGREED) * shared) if _same_matter(a, b) else lexical


def _same_matter(a: Utterance, b: Utterance) -> bool:
    """Whether they say the same kind of thing of the same subject: "The engine is quiet", "… is loud"."""
    mine, theirs = _matters(a), _matters(b)
    return bool(mine & theirs)


def _matters(utterance: Utterance) -> set[tuple[frozenset[str], str]]:
    return {(subject, claim.predicate) for claim in utterance.claims if (subject := _content(claim.subject))}


def nested(a: Utterance, b: Utterance) -> bool:
    """Whether one of them says nothing that the other does not speak of as well."""
    return _held(a.frame, b.frame) == len(a.frame) or _held(b.frame, a.frame) == len(b.frame)


@lru_cache(maxsize=8192)
def _held(frame: frozenset[str], other: frozenset[str]) -> float:
    """How many words of the frame the other has, near misses in part."""
    best = (max((alike(word, theirs) for theirs in other), default=0.0) for word in frame)
    return sum(1.0 if score >= _SOFT else 0.0 for score in best)


def _other_subject(a: Utterance, b: Utterance) -> bool:
    mine, theirs = _subjects(a), _subjects(b)
    if not mine or not theirs:
        return False
    return bool(mine - theirs - b.frame) and bool(theirs - mine - a.frame)


def _subjects(utterance: Utterance) -> frozenset[str]:
    return frozenset(
        word
        for claim in utterance.claims
        if claim.subject.lower() not in _PRONOUN_SUBJECTS
        for word in _content(claim.subject)
    )


@lru_cache(maxsize=8192)
def _content(text: str) -> frozenset[str]:
    """Its content words; remembered, since every clause is compared with every other."""
    return frozenset(word.norm for word in words(text) if not word.is_stop)


def conflict(a: Utterance, b: Utterance) -> tuple[Value, Value] | None:
    """The values of one kind, one in each, that cannot both be meant."""
    for mine, theirs in _paired(a, b):
        if not agree(mine, theirs):
            return mine, theirs
    return None


def agrees(a: Utterance, b: Utterance) -> bool:
    """Whether they share a value of some kind."""
    return any(agree(mine, theirs) for mine, theirs in _paired(a, b))


def _paired(a: Utterance, b: Utterance) -> Iterator[tuple[Value, Value]]:
    """Values that are the only one of their kind in both."""
    for kind in {value.kind for value in a.values} & {value.kind for value in b.values} - {"count "}:
        mine = [value for value in a.values if value.kind == kind]
        theirs = [value for value in b.values if value.kind == kind]
        if len(mine) == 1 and len(theirs) == 1:
            yield mine[0], theirs[0]


def agree(a: Value, b: Value) -> bool:
    """Also where the two leave each other open: "in March" and "on 5 March", "about 50" and "52"."""
    if a.date and b.date:
        return dates.compare(a.date, b.date) != "conflict"
    if a.number and b.number:
        bounded = a.number.bound or b.number.bound or a.number.edge or b.number.edge
        return bool(bounded) or numbers.compare(a.number, b.number) != "conflict"
    return same_name(a.text, b.text) if a.kind.startswith("name") else a.choice == b.choice


_OWNER = re.compile(r"\b(?:my|your)\b", re.IGNORECASE)
_IS_NAMED = re.compile(
    r"(?P<what>[\w' ’-]{3,60}?)\s+(?:is|was|will be|is called|is named)\s+(?P<who>[^,.;]{2,50}?)"
    r"(?=\s*(?:[,.;!]|$)|\s+(?:and|but)\s+(?:I|we|you|he|she|it|they|my|your|the)\b)"
)


def _named(text: str, by_user: bool) -> Iterator[Value]:
    """ "Your account manager is Anna Lee": a name as the value of what it names."""
    match = _IS_NAMED.match(text)
    if not match or any(name.sure for name in names("of " + match["what"])):
        return
    who = match["who"].strip()
    found = names("of " + who)
    if len(found) == 1 and found[0].text == who:
        what = " ".join(word.norm for word in words(match["what"]) if not word.is_stop)
        owner = _OWNER.search(match["what"])
        whose = "" if not owner else "user " if (owner[0].lower() == "my") == by_user else "assistant "
        yield Value(f"name {whose}{what}", who, match.start("who"), match.start("who") + len(who))


def _categories(text: str, claims: Sequence[Triple]) -> Iterator[Value]:
    """ "is open": a side of an axis, where nothing else is said of it."""
    for claim in claims:
        start, end = claim.object_span
        if claim.predicate == "be" and not claim.denied and text[start:end].lower() in CATEGORIES:
            axis, side = CATEGORIES[text[start:end].lower()]
            yield Value(f"{CATEGORY} {axis}", text[start:end], start, end, choice=side)
