"""Clauses as comparable statements: the values they state, the words around them, and whether two conflict.

An utterance is a clause split into its values (weekdays, dates, clock times, numbers with units, names,
categories with an opposite) and its frame: the remaining content words, without verbs of saying and
arranging. The similarity of two utterances is the mean of the share of the smaller frame contained in the
larger one and the Dice overlap; if subject and predicate agree it is at least 0.6. It is 0 if the subjects
differ on both sides ("the basic plan", "the premium plan").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from groundwire.openie.parser import triples
from groundwire.openie.tense import CLAUSE_EDGE
from groundwire.text import dates, numbers
from groundwire.text.lexicon import EXCLUSIVE, NEGATIONS, grammar, word_set, word_table
from groundwire.text.names import names, same_name
from groundwire.text.tokens import content_words, letter_pairs, words
from groundwire.types import Triple

_GRAMMAR = grammar("detect_logic")
_SPEECH_AND_SCHEDULING = word_set(word_table("detect_logic")["tables"]["speech_and_scheduling"])
_PRONOUN_SUBJECTS = word_set("i you we it they he she this that there let us")
_SAME_MATTER = 0.6  # least similarity of clauses that share subject and predicate
RELATED = 0.7
"""Similarity from which two clauses are about the same matter."""
CATEGORY = "category"
_MIN_WORDS = 2  # shorter clauses state nothing
_MAX_CHARS = 2000  # longer "sentences" are lists, code or noise
_MAX_FRAME = 60  # words of a frame; those of a longer one, which is a list, are compared as they are
_IN_MAY = re.compile(r"\bin (May)\b(?! \d)")
_OWNER = re.compile(r"\b(?:my|your)\b", re.IGNORECASE)
_IS_NAMED = re.compile(_GRAMMAR["is_named"])


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A value at `text[start:end]` of its utterance; only values of the same `kind` are compared."""

    kind: str
    text: str
    start: int
    end: int
    choice: int = 0
    """The weekday number, or the side of a pair of opposites."""
    date: dates.PartialDate | None = None
    number: numbers.Number | None = None


@dataclass(frozen=True, slots=True)
class Utterance:
    """A clause; `start` is its offset in the turn or response."""

    text: str
    start: int
    frame: frozenset[str]
    values: tuple[StatedValue, ...]
    claims: tuple[Triple, ...]
    turn: int = 0
    binding: bool = True
    """False for questions and requests, which establish nothing but make their values acceptable."""


def utterances(
    text: str, offset: int = 0, *, turn: int = 0, binding: bool = True, by_user: bool = False
) -> Iterator[Utterance]:
    """Split a sentence at `offset` into clauses. The user's "my" corresponds to the assistant's "your"."""
    for start, clause in clauses(text):
        claims = tuple(triples(clause))
        found = (*stated_values(clause), *named_value(clause, by_user), *_categories(clause, claims))
        yield Utterance(clause, offset + start, _frame(clause, found), found, claims, turn, binding)


def clauses(text: str) -> Iterator[tuple[int, str]]:
    """The clauses of a sentence with their offsets."""
    if len(text) > _MAX_CHARS:
        return
    begin = 0
    cuts = []
    for match in CLAUSE_EDGE.finditer(text):
        rest = text[match.end() :]  # the mark may belong to a number or an abbreviation
        if rest.strip(" .!?)\"”'’") and not (match[0] in ".:" and rest[:1].strip()):
            cuts.append(match.start())
    for cut in (*cuts, len(text)):
        piece = text[begin:cut]
        left = len(piece) - len(piece.lstrip(" ,;:.–—"))
        if len(piece.split()) >= _MIN_WORDS:
            yield begin + left, piece[left:].rstrip()
        begin = cut


def stated_values(text: str) -> Iterator[StatedValue]:
    """The weekdays, dates and numbers of a clause."""
    taken: list[tuple[int, int]] = []
    for weekday, start, end in dates.weekdays(text):
        taken.append((start, end))
        yield StatedValue("weekday", text[start:end], start, end, choice=weekday)
    may = (dates.PartialDate(0, 5, 0, *match.span(1)) for match in _IN_MAY.finditer(text))  # else a modal
    for date in (*dates.dates(text), *may):
        taken.append((date.start, date.end))
        yield StatedValue("date", text[date.start : date.end], date.start, date.end, date=date)
    for number in numbers.numbers(text):
        if number.kind != "ordinal" and all(number.end <= a or b <= number.start for a, b in taken):
            following = words(text[number.end : number.end + 40])[:2]  # what a bare number counts
            counted = next((word.norm for word in following if not word.is_stop), "")
            kind = number.unit or f"count {counted}"
            shown = text[number.start : number.end]
            if shown.count(".") == 1:  # the full stop of the sentence, not of "a.m."
                shown = shown.removesuffix(".")
            yield StatedValue(kind, shown, number.start, number.start + len(shown), number=number)


def _frame(text: str, values: Sequence[StatedValue]) -> frozenset[str]:
    return frozenset(
        word.norm
        for word in words(text)
        if not word.is_stop
        and word.text.lower() not in _SPEECH_AND_SCHEDULING
        and word.norm not in _SPEECH_AND_SCHEDULING
        and word.text.lower() not in NEGATIONS
        and not any(value.start <= word.start < value.end for value in values)
    )


def similarity(a: Utterance, b: Utterance) -> float:
    """Similarity of two utterances, 0 to 1; see the module docstring.

    >>> one, two = *utterances("I'll book the meeting for Monday."), *utterances("The meeting is on Friday.")
    >>> similarity(one, two)
    1.0
    """
    one, other = _subjects(a), _subjects(b)
    differ = bool(one - other - b.frame) and bool(other - one - a.frame)
    if a.frame.isdisjoint(b.frame) or (one and other and differ):
        return 0.0
    mine, theirs = _count_shared(a.frame, b.frame)
    smaller = mine if len(a.frame) <= len(b.frame) else theirs
    contained = smaller / min(len(a.frame), len(b.frame))
    shared = (mine + theirs) / (len(a.frame) + len(b.frame))
    lexical = (contained + shared) / 2
    # "The engine is quiet", "The engine is loud": the same subject and predicate
    said, told = ({(content_words(c.subject), c.predicate) for c in u.claims} for u in (a, b))
    same_matter = any(subject for subject, _ in said & told)
    return max(lexical, _SAME_MATTER + (1 - _SAME_MATTER) * shared) if same_matter else lexical


def nested(a: Utterance, b: Utterance) -> bool:
    """True if the words of one frame are all contained in the other."""
    mine, theirs = _count_shared(a.frame, b.frame)
    return mine == len(a.frame) or theirs == len(b.frame)


def _count_shared(one: frozenset[str], other: frozenset[str]) -> tuple[int, int]:
    """How many words of each frame occur in the other one, in this or a similar form."""
    if max(len(one), len(other)) > _MAX_FRAME:
        same = len(one & other)
        return same, same
    return _count_forms(one, other)


@lru_cache(maxsize=1024)
def _count_forms(one: frozenset[str], other: frozenset[str]) -> tuple[int, int]:
    mine, theirs = ([(pairs := letter_pairs(word), 2 * len(pairs)) for word in frame] for frame in (one, other))
    # As `tokens.similarity(…) >= 0.8`, without the cost of a call for each pair of words: there may be millions.
    found = [[5 * len(a & b) >= own + size for b, size in theirs] for a, own in mine]
    return sum(map(any, found)), sum(map(any, zip(*found, strict=True)))


def _subjects(utterance: Utterance) -> frozenset[str]:
    return frozenset(
        word
        for claim in utterance.claims
        if claim.subject.lower() not in _PRONOUN_SUBJECTS
        for word in content_words(claim.subject)
    )


def conflict(a: Utterance, b: Utterance) -> tuple[StatedValue, StatedValue] | None:
    """The first pair of values of the same kind that cannot both be true."""
    for mine, theirs in _paired(a, b):
        if not agree(mine, theirs):
            return mine, theirs
    return None


def agrees(a: Utterance, b: Utterance) -> bool:
    """True if they agree on a value of some kind."""
    return any(agree(mine, theirs) for mine, theirs in _paired(a, b))


def _paired(a: Utterance, b: Utterance) -> Iterator[tuple[StatedValue, StatedValue]]:
    """Pairs of values, each the only one of its kind in its utterance."""
    for kind in {value.kind for value in a.values} & {value.kind for value in b.values} - {"count "}:
        mine = [value for value in a.values if value.kind == kind]
        theirs = [value for value in b.values if value.kind == kind]
        if len(mine) == 1 and len(theirs) == 1:
            yield mine[0], theirs[0]


def agree(a: StatedValue, b: StatedValue) -> bool:
    """True for equal and for compatible values: "in March" and "on 5 March", "about 50" and "52"."""
    if a.date and b.date:
        return dates.compare(a.date, b.date) != "conflict"
    if a.number and b.number:
        bounded = a.number.bound or b.number.bound or a.number.edge or b.number.edge
        return bool(bounded) or numbers.compare(a.number, b.number) != "conflict"
    return same_name(a.text, b.text) if a.kind.startswith("name") else a.choice == b.choice


def named_value(text: str, by_user: bool = False) -> Iterator[StatedValue]:
    """ "Your account manager is Anna Lee": a name as the value of what it names."""
    match = _IS_NAMED.match(text)
    what = [word for word in words(match["what"]) if not word.is_stop] if match else []
    if not match or all(word.text[0].isupper() for word in what):
        return  # "Berlin is German": a name is no attribute
    who = match["who"].strip()
    found = names("of " + who)
    if len(found) == 1 and found[0].text == who:
        owner = _OWNER.search(match["what"])
        whose = "" if not owner else "user " if (owner[0].lower() == "my") == by_user else "assistant "
        kind = f"name {whose}{' '.join(word.norm for word in what)}"
        yield StatedValue(kind, who, match.start("who"), match.start("who") + len(who))


def _categories(text: str, claims: Sequence[Triple]) -> Iterator[StatedValue]:
    """ "is open": a category with an opposite, if it is the whole object."""
    for claim in claims:
        start, end = claim.object_span
        if claim.predicate == "be" and not claim.denied and text[start:end].lower() in EXCLUSIVE:
            axis, side = EXCLUSIVE[text[start:end].lower()]
            yield StatedValue(f"{CATEGORY} {axis}", text[start:end], start, end, choice=side)
