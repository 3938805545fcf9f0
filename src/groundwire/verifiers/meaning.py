"""Compare the meaning of two answers: by their words, and if these do not decide, by a verifier both ways.

The core of an answer is what remains without the words of its question: "3", "Three." and "There are 3 of
them" have the same core, "Paris" and "Lyon" have not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isclose, sqrt
from typing import TypeVar

from groundwire.errors import GroundwireError
from groundwire.text import dates
from groundwire.text.lexicon import NEGATIONS, expressions
from groundwire.text.names import names, same_name
from groundwire.text.numbers import Number, compare, numbers
from groundwire.text.tokens import Word, words
from groundwire.types import Estimate, Query, Verifier

# Lexical similarity of two texts: the cheap test before a verifier is asked.

T = TypeVar("T")

AT_ODDS = 0.2
"""Upper bound of the similarity of texts whose numbers, dates, names or negations disagree; by convention."""
_STEMS = 0.75  # share of word stems in the similarity; the rest is trigrams. Chosen by hand
_STOP_WEIGHT = 0.2  # of a function word, relative to other words
_SILENT, _FRAME, _ASKS_WHETHER = expressions("meaning", "silent frame asks_whether")


def is_silent(text: str) -> bool:
    """Return True if a model's reply is UNKNOWN or says that the context does not mention the matter."""
    return bool(_SILENT.match(text))


def shared_words(a: str, b: str) -> float:
    """Weighted share of common words, 0 to 1: a test for the same topic."""
    return _overlap(_weights(words(a)), _weights(words(b)))


def semantic_similarity(a: str, b: str) -> float:
    """Similarity in meaning, judged by words: symmetric, 1 for equal texts.

    Words are compared by their stems, and by character trigrams for spelling variants; function words count
    little. Different numbers, dates or names, or a negation in one text only, limit the result to `AT_ODDS`.
    Misses: exchanged roles (the same words in another order), synonyms, quantifiers.

    >>> semantic_similarity("Paris has 2 million people.", "2 million people live in Paris.") > 0.6
    True
    >>> semantic_similarity("The drug is approved.", "The drug is not approved.") <= 0.2
    True
    """
    left, right = words(a), words(b)
    if [w.norm for w in left] == [w.norm for w in right]:
        return 1.0
    if not left or not right:
        return 0.0
    stems = _overlap(_weights(left), _weights(right))
    alike = _STEMS * stems + (1 - _STEMS) * _overlap(_grams(left), _grams(right))
    return min(alike, AT_ODDS) if at_odds(a, b) else alike


def _weights(found: Sequence[Word]) -> dict[str, float]:
    return {word.norm: _STOP_WEIGHT if word.is_stop else 1.0 for word in found}


def _grams(found: Sequence[Word]) -> dict[str, float]:
    text = " ".join(word.text.casefold() for word in found)
    return dict.fromkeys((text[i : i + 3] for i in range(max(1, len(text) - 2))), 1.0)


def _overlap(left: dict[str, float], right: dict[str, float]) -> float:
    """F1 over weighted sets."""
    shared = sum(min(weight, right[key]) for key, weight in left.items() if key in right)
    whole = (sum(left.values()) + sum(right.values())) / 2
    return shared / whole if whole else 0.0


def at_odds(a: str, b: str) -> bool:
    """Return True if numbers, dates or names differ, or only one text is negated."""
    return (
        negated(words(a)) != negated(words(b))
        or swapped(numbers(a), numbers(b), same_number)
        or swapped(dates.dates(a), dates.dates(b), same_date)
        or swapped(_names(a), _names(b), same_name)
    )


def negated(found: Sequence[Word]) -> bool:
    """Return True for an odd number of negations: two cancel out."""
    return sum(word.text.casefold().replace("’", "'") in NEGATIONS for word in found) % 2 == 1


def swapped(left: Sequence[T], right: Sequence[T], same: Callable[[T, T], bool]) -> bool:
    """Return True if each side has an item that the other lacks: replaced, not merely left out."""
    return any(not any(same(a, b) for b in right) for a in left) and any(
        not any(same(a, b) for a in left) for b in right
    )


def same_number(a: Number, b: Number) -> bool:
    return "same" in (compare(a, b), compare(b, a))


def same_date(a: dates.PartialDate, b: dates.PartialDate) -> bool:
    return not {"same", "compatible"}.isdisjoint((dates.compare(a, b), dates.compare(b, a)))


def _names(text: str) -> list[str]:
    return [name.text for name in names(text)]


SAME = 0.5
"""Agreement from which two answers count as the same: more likely than not."""
WITH_MORE = 0.9
"""Agreement of two answers of which one says a little more than the other; by convention."""
_SHORT = 3
"""Content words up to which a core is short enough to be compared by its words, numbers or name alone."""
_BRIEF = 8
"""Words up to which an answer is unclear without its question, which is then put before it."""
_LONG = 2000
"""Characters; longer answers are compared by the verifier only."""
_YES_NO = re.compile(r"^\W*(yes|yeah|correct|true|no|nope|false|incorrect)\b", re.IGNORECASE)
_HOW_MANY = re.compile(r"\bhow (?:many|much|often|long|tall|old|far|big|high)\b|\bnumber of\b", re.IGNORECASE)
_LETTERS = re.compile(r"\b[A-Za-z]['’]s\b")


@dataclass(frozen=True, slots=True)
class Core:
    """The part of an answer that is not in its question."""

    text: str
    words: frozenset[str]
    values: tuple[Number, ...]
    days: tuple[dates.PartialDate, ...]
    named: tuple[str, ...]
    polarity: bool

    @property
    def is_value(self) -> bool:
        """The core consists of numbers alone."""
        return bool(self.values) and not self.words

    @property
    def is_day(self) -> bool:
        """The core consists of one date alone."""
        return len(self.days) == 1 and self.text.strip(" .!") == self.text[self.days[0].start : self.days[0].end]

    @property
    def is_name(self) -> bool:
        return bool(self.named) and not self.values and len(self.words) <= _SHORT


async def agreement(verifier: Verifier, pairs: Sequence[tuple[str, str]], question: str = "") -> list[float | None]:
    """Agreement in meaning of each pair of answers, 0 to 1; None if the verifier failed.

    Args:
        verifier: called once, for all pairs that words do not decide.
        question: the question that the answers answer.
    """
    looks = [first_look(a, b, question) for a, b in pairs]
    undecided = list(dict.fromkeys(pair for pair, look in zip(pairs, looks, strict=True) if look is None))
    queries = [query for a, b in undecided for query in both_ways(a, b, question)]
    estimates = await _estimates(verifier, queries)
    found = {pair: mutual(estimates[2 * i], estimates[2 * i + 1]) for i, pair in enumerate(undecided)}
    return [found[pair] if look is None else look for pair, look in zip(pairs, looks, strict=True)]


def both_ways(a: str, b: str, question: str = "") -> tuple[Query, Query]:
    """The queries whether `b` supports `a` and whether `a` supports `b`."""
    one, two = framed(a, question), framed(b, question)
    return Query(one, two, question), Query(two, one, question)


def mutual(forward: Estimate, backward: Estimate) -> float | None:
    """The geometric mean of both directions; if either is contradicted, the lower one."""
    if forward.error or backward.error:
        return None
    low = min(forward.p_yes, backward.p_yes)
    denied = any(e.p_no > max(e.p_yes, e.p_unsure) for e in (forward, backward))
    return low if denied else sqrt(forward.p_yes * backward.p_yes)


async def _estimates(verifier: Verifier, queries: Sequence[Query]) -> list[Estimate]:
    if not queries:
        return []
    try:
        return await verifier.estimate(queries)
    except GroundwireError as error:
        return [Estimate.failed(str(error))] * len(queries)


def framed(text: str, question: str) -> str:
    """Put the question before a short answer, which is unclear without it."""
    brief = len(words(text)) <= _BRIEF
    return f"{question.strip()} {text.strip()}" if question.strip() and brief else text.strip()


def first_look(a: str, b: str, question: str = "") -> float | None:
    """Agreement decided by words alone; None if they do not decide.

    >>> first_look("3", "There are three.", "How many are there?"), first_look("3", "2 of them")
    (1.0, 0.0)
    >>> first_look("Paris", "Lyon"), first_look("Paris", "It is Paris, on the Seine.")
    (0.0, 0.9)
    >>> first_look("Demand was weak.", "Nobody wanted to buy.") is None
    True
    """
    if [w.norm for w in words(a)] == [w.norm for w in words(b)]:
        return 1.0
    if not words(a) or not words(b):
        return 0.0
    if is_silent(a) or is_silent(b):
        return float(is_silent(a) and is_silent(b))
    if max(len(a), len(b)) > _LONG:
        return None
    one, two = core(a, question), core(b, question)
    if _is_whether(a, b, question) and one.polarity != two.polarity:
        return 0.0
    return _by_value(one, two, question) if one.values and two.values else _by_words(one, two, a, b, question)


def core(text: str, question: str = "") -> Core:
    """The core of an answer: its words, numbers, dates and names that are not in the question."""
    tail = text.rpartition("=")[2]
    result = tail if numbers(tail) else text  # of a calculation
    content = _FRAME.sub("", result, count=1)
    asked = {w.norm for w in words(question)}
    found = dates.dates(content)
    values = [n for n in counted(content) if not any(d.start <= n.start < d.end for d in found)]
    given = counted(question)
    # A number repeated from the question is ignored if the answer has another one.
    own = [n for n in values if not any(_repeats(n, other) for other in given)] or values
    left = [
        w
        for w in words(content)
        if not (w.is_stop or w.norm in asked or _YES_NO.match(w.text))
        and not any(n.start <= w.start < n.end for n in own)
    ]
    names_of_it = [n.text for n in names(content) if not {w.norm for w in words(n.text)} <= asked]
    return Core(
        content, frozenset(w.norm for w in left), tuple(own), tuple(found), tuple(names_of_it), polarity(result)
    )


def counted(text: str) -> list[Number]:
    """The numbers of a text; "3 l's" counts letters, not litres."""
    return numbers(_LETTERS.sub(lambda found: "~" * len(found[0]), text))


def same_value(a: Number, b: Number) -> bool:
    """Return True for equal numbers; one of them may lack its unit, as in a short answer."""
    if same_number(a, b):
        return True
    if a.unit and b.unit:
        return False
    # Values are in base units; value / step is the number as written: 150 in "150 minutes".
    return a.value == b.value or isclose(a.value / a.step, b.value / b.step, rel_tol=1e-9)


def _repeats(a: Number, b: Number) -> bool:
    """Return True for the same number as written: "21 days" does not repeat "three weeks"."""
    return same_value(a, b) and (a.unit != b.unit or a.step == b.step)


def polarity(text: str) -> bool:
    """True for "yes" and for statements, False for "no" and negated statements."""
    lead = _YES_NO.match(text)
    if lead:
        return lead[1].lower() in ("yes", "yeah", "correct", "true")
    return not negated(words(text))


def asks_whether(question: str) -> bool:
    """Return True for a yes/no question."""
    return bool(_ASKS_WHETHER.match(question.strip()))


def _is_whether(a: str, b: str, question: str) -> bool:
    return bool(_YES_NO.match(a) or _YES_NO.match(b)) or asks_whether(question)


def _by_value(one: Core, two: Core, question: str) -> float | None:
    """Compare by numbers, if an answer is little more than a number."""
    brief = max(len(one.words), len(two.words)) <= _SHORT
    if one.polarity != two.polarity or not (one.is_value or two.is_value or brief):
        return None
    left, right = _asked_for(one, question), _asked_for(two, question)
    if swapped(left, right, same_value):
        return 0.0
    settles = one.is_value or two.is_value or one.words == two.words or _HOW_MANY.search(question)
    alone = len(left) == 1 or len(right) == 1
    return 1.0 if settles and alone and any(same_value(a, b) for a in left for b in right) else None


def _asked_for(part: Core, question: str) -> list[Number]:
    """Of several numbers, the one before a word of the question ("3 r's, at 3, 8 and 9")."""
    distinct: list[Number] = []
    for number in part.values:
        if not any(same_value(number, other) for other in distinct):
            distinct.append(number)
    if len(distinct) < 2:
        return distinct
    asked = {w.norm for w in words(question) if not w.is_stop}
    behind = [n for n in distinct if any(w.norm in asked for w in words(part.text[n.end : n.end + 24])[:2])]
    return behind if len(behind) == 1 else distinct


def _by_words(one: Core, two: Core, a: str, b: str, question: str) -> float | None:
    if negated(words(a)) != negated(words(b)) and not _is_whether(a, b, question):
        return None
    if one.days and two.days and swapped(one.days, two.days, same_date):
        return 0.0 if max(len(one.words), len(two.words)) <= 2 * _SHORT else None
    if len(one.days) == len(two.days) == 1 and (one.is_day or two.is_day) and same_date(one.days[0], two.days[0]):
        return WITH_MORE
    if one.words == two.words and not (one.values or two.values):
        return 1.0 if len(one.words) < _SHORT else None  # with more words, their order may matter
    if _is_whether(a, b, question) and not (one.words and two.words):
        return 1.0
    less, more = sorted((one, two), key=lambda part: len(part.words))
    if less.words and less.words < more.words and len(less.words) <= _SHORT and not less.values:
        return WITH_MORE
    if one.is_name and two.is_name and not _one_name(one, two):
        return 0.0
    return None


def _one_name(one: Core, two: Core) -> bool:
    left, right = ((*part.named, part.text.strip(" .")) for part in (one, two))
    return any(same_name(a, b) or _initials(a, b) or _initials(b, a) for a in left for b in right)


def _initials(short: str, full: str) -> bool:
    letters = "".join(word[0] for word in full.split() if word[:1].isupper())
    return len(letters) > 1 and short.replace(".", "").upper() == letters.upper()
