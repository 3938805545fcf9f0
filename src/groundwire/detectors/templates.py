"""Sentences of one response that are the same but for one point, on which they exclude each other.

A template is a clause without its quantity ("all tests"), negation and stated values; the words that remain
must be equal in order. Two templates conflict if their quantities exclude each other and all values agree, or
if exactly one value differs: a number, or one of several exclusive properties ("red", "blue"). Dates, names
and values before the verb ("Room 4 is …") say which thing is meant, so a difference there does not count.
Another number conflicts only in a statement about a state: events ("scored 3 goals") may happen twice.

>>> def read(text): return next(templates(Segment(0, text, 0, len(text))))
>>> conflict(read("All tests pass."), read("No test passes."))
<Exclusion.QUANTITY: 'quantity'>
>>> conflict(read("Acme has 40 employees."), read("Acme has 50 employees."))
<Exclusion.VALUE: 'value'>
>>> conflict(read("Acme has 40 employees."), read("Acme has 50 customers."))
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from groundwire.detectors.history import UtteranceValue, agree, clauses, stated_values
from groundwire.openie.lexicon import BE, DO, HAVE, Form, Tag, Token, tokens, verb_forms
from groundwire.text.lexicon import EXCLUSIVE, OPPOSED_VERBS, word_set
from groundwire.text.tokens import normalise
from groundwire.types import Segment

_MAX_TOKENS = 25  # longer clauses never recur word for word
_MIN_WORDS = 2  # words that identify a statement
_LEADS = word_set("however therefore thus so also overall moreover additionally furthermore and but")
_SKIPPED = word_set("the also both currently actually really very quite of do does did don't doesn't didn't")
_SAME_FORM = {"are": "is", "were": "was", "have": "has"}
_EVERY, _NONE = word_set("all every each both"), word_set("no none")
_SOME = word_set("some several many most few")
_OPPOSED = {normalise(verb): frozenset(map(normalise, opposites)) for verb, opposites in OPPOSED_VERBS.items()}
_PLACING = word_set("at on in by from to until")
_PROPERTY = "property"
_UNCLEAR = word_set("i you we this that these those who which what one someone anyone they a an")
_FURTHER = re.compile(r"\b(?:also|too|as well|twice|per|another|more|additional)\b", re.IGNORECASE)
_NAME = re.compile(r"\s[A-Z]")


class Exclusion(StrEnum):
    QUANTITY = "quantity"
    NEGATION = "negation"
    VALUE = "value"
    PROPERTY = "property"


@dataclass(frozen=True, slots=True)
class Template:
    """A clause at `start` of the response; `quantity` is "every", "none", "some" or ""."""

    segment: Segment
    start: int
    text: str
    words: tuple[str, ...]
    quantity: str
    denied: bool
    values: tuple[UtteranceValue, ...]
    standing: bool
    """True for a state; a past event may have happened several times."""


def templates(segment: Segment) -> Iterator[Template]:
    """The clauses of a sentence that state something about a definite subject."""
    for start, text in clauses(segment.text):
        found = _template(segment, start, text)
        if found is not None:
            yield found


def _template(segment: Segment, start: int, text: str) -> Template | None:
    parts = [token for token in tokens(text) if token.tag is not Tag.STOP]
    while parts and parts[0].low in _LEADS:
        parts = parts[1:]
    quantity, parts = _quantified(parts)
    verb = _verb(parts)
    if not parts or len(parts) > _MAX_TOKENS or _FURTHER.search(text) or text.startswith("("):
        return None
    if not quantity and parts[0].low in _UNCLEAR:
        return None
    values = tuple(value for value in _values(text, parts) if verb and value.start >= verb.end)
    words = tuple(
        _form(token)
        for token in parts
        if token.low not in _SKIPPED
        and token.tag is not Tag.NOT
        and not any(value.start <= token.start < value.end for value in values)
    )
    named = _antecedent(segment, start, parts)
    words = (*named, *words[1:]) if named else words
    if len(words) < _MIN_WORDS:
        return None
    denied = any(token.tag is Tag.NOT or token.low.endswith("n't") for token in parts)
    at = segment.start + start
    return Template(segment, at, text, words, quantity, denied, values, _is_standing(verb, parts))


def _quantified(parts: list[Token]) -> tuple[str, list[Token]]:
    """The quantity at the beginning of a clause, and the clause without it."""
    first = parts[0].low if parts else ""
    kinds = (("every", _EVERY), ("none", _NONE), ("some", _SOME))
    kind = next((name for name, members in kinds if first in members), "")
    if first in ("a", "not") and len(parts) > 1 and parts[1].low in ("few", "one"):
        return "some" if first == "a" else "none", parts[2:]
    if not kind and parts and (parts[0].tag is Tag.NUMBER or first == "one"):
        kind = "some"
    return kind, parts[1:] if kind else parts


def _verb(parts: Sequence[Token]) -> Token | None:
    """The first verb; after an article or quantity, what looks like one is a noun ("tests")."""
    for before, token in pairwise(parts):
        noun = before.tag in (Tag.WORD, Tag.NAME, Tag.PRONOUN, Tag.ADVERB, Tag.NUMBER, Tag.VERB)
        if token.tag is Tag.AUX or (token.tag is Tag.VERB and noun):
            return token
    return None


def _is_standing(verb: Token | None, parts: Sequence[Token]) -> bool:
    if verb is None:
        return False
    if verb.low in DO:
        return not verb.low.startswith("did")
    if verb.low not in BE | HAVE:
        forms = {form for _, form in verb_forms(verb.low)}
        return Form.THIRD in forms or (Form.BASE in forms and Form.PAST not in forms)
    following = next((token for token in parts if token.start > verb.end), None)
    participle = following is not None and following.tag is Tag.VERB and following.low not in EXCLUSIVE
    return verb.low in ("is", "are", "isn't", "aren't") or not participle


def _values(text: str, parts: Sequence[Token]) -> Iterator[UtteranceValue]:
    for value in stated_values(text):
        before = [token for token in parts if token.end <= value.start]
        if not value.number or (before and _measures(before[-1]) and not _NAME.match(text, value.end)):
            yield value
    said = [token for token in parts if token.tag not in (Tag.NOT, Tag.ADVERB)]
    if len(said) > 2 and parts[-1].low in EXCLUSIVE and said[-2].low in BE:
        axis, side = EXCLUSIVE[parts[-1].low]
        yield UtteranceValue(f"{_PROPERTY} {axis}", parts[-1].text, parts[-1].start, parts[-1].end, choice=side)


def _measures(before: Token) -> bool:
    """False for a number that identifies something: "at 5 Main Street", "on page 5"."""
    nouns = (Tag.WORD, Tag.NAME, Tag.NUMBER, Tag.POSSESSIVE)
    return before.tag not in nouns and before.low not in _PLACING


def _form(token: Token) -> str:
    low = token.low.removesuffix("n't")
    return _SAME_FORM.get(low, low) if token.tag is Tag.AUX else normalise(low)


def _antecedent(segment: Segment, start: int, parts: Sequence[Token]) -> tuple[str, ...]:
    """The words of the name that a pronoun at the beginning means, if it could be resolved."""
    at = segment.start + start + parts[0].start
    for claim in segment.claims:
        if claim.subject_span[0] == at and claim.subject.lower() != parts[0].low == "it":
            return tuple(_form(token) for token in tokens(claim.subject) if token.low not in _SKIPPED)
    return ()


def conflict(a: Template, b: Template) -> Exclusion | None:
    """How two clauses exclude each other; None if they do not."""
    if _quantities_exclude(a, b) or _quantities_exclude(b, a):
        return Exclusion.QUANTITY
    if a.words != b.words or [v.kind for v in a.values] != [v.kind for v in b.values]:
        return None
    differing = [x for x, y in zip(a.values, b.values, strict=True) if not agree(x, y)]
    standing = a.standing or b.standing  # "pass" alone is not recognised as a verb, "do not pass" is
    if not differing and not a.quantity + b.quantity and a.denied != b.denied and standing:
        return Exclusion.NEGATION
    same = a.quantity == b.quantity and not a.denied and not b.denied and a.standing and b.standing
    if not same or len(differing) != 1:
        return None
    if differing[0].number:
        return Exclusion.VALUE
    return Exclusion.PROPERTY if differing[0].kind.startswith(_PROPERTY) else None


def _quantities_exclude(a: Template, b: Template) -> bool:
    """ "All tests passed" and "Two tests failed"; "No pump worked" and "One pump worked all night"."""
    if a.denied or a.quantity not in ("every", "none"):
        return False
    if len(a.values) != len(b.values) or not all(map(agree, a.values, b.values)):
        return False
    if a.quantity == "none":
        return b.quantity == "some" and not b.denied and b.words[: len(a.words)] == a.words
    if b.quantity == "none" and not b.denied:
        return a.words == b.words
    denied = b.denied != _is_opposed(a.words, b.words)
    return denied and (b.quantity in ("", "some") or not b.denied) and _words_meet(a.words, b.words)


def _words_meet(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    return a == b or _is_opposed(a, b)


def _is_opposed(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """True if the words are equal but for one verb and its opposite."""
    if len(a) != len(b):
        return False
    differing = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
    return len(differing) == 1 and differing[0][1] in _OPPOSED.get(differing[0][0], ())
