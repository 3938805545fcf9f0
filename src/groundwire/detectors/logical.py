"""Logical inconsistencies: statements of one response that cannot hold together.

Catches: a statement and its denial, one attribute with two values, categories that exclude each other, "all"
against "not all", sums and shares that do not add up, things that cannot exist.
Misses: contradictions that need knowledge of the world or more than two sentences. Different times, places,
parts, conditions, questions and quotations are no contradiction.
Costs: comparisons of the claims that share a subject.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

from groundwire.detectors.arithmetic import sum_errors
from groundwire.detectors.exclusive import (
    AT_HOURS,
    CALLED,
    CATEGORIES,
    CONTENTS,
    HOLDS,
    IMPOSSIBLE,
    IN_MONTHS,
    PLACES,
    RECURRING,
    SIDES,
    SINGLE,
    SUBSTITUTE,
)  # fmt: skip
from groundwire.detectors.flagging import logical_flag
from groundwire.detectors.quantifiers import quantifier_conflicts
from groundwire.detectors.statements import QUOTED, SHIFTS, Statement, head, statements
from groundwire.detectors.view import View
from groundwire.text import dates, names, numbers
from groundwire.text.numbers import number_words
from groundwire.text.tokens import normalise
from groundwire.types import Flag, HallucinationType, Segment

NEGATION, INCOMPATIBLE, EXCLUSIVE, QUANTIFIERS, IMPOSSIBLE_THING = 0.95, 0.85, 0.80, 0.85, 0.90
_BOTH = re.compile(
    r"\b(?:is|are|was|were|be)\s+(?:both\s+|simultaneously\s+)?(?P<what>[\w-]+)\s+and\s+(?:(?:is|are|was|were)\s+)?"
    r"(?:also\s+|simultaneously\s+)?not\s+(?P=what)\b(?=\s*(?:[.,;!?]|$|at\b))",
    re.IGNORECASE,
)
_IS_BOTH = re.compile(
    r"\b(?:is|are|was|were)\s+(?:both\s+|an?\s+)*([\w-]+)\s+and\s+(?:also\s+|an?\s+)*([\w-]+)(?=\s*(?:[.!;]|$))",
    re.I,
)
_COORDINATED = re.compile(
    r"\s*,?\s*(?:and|yet)\s+(?:also\s+|simultaneously\s+|(?:is|are|was|were)\s+|an?\s+)*", re.I
)
_FURTHER = re.compile(r"\b(?:also|too|as well|both|twice|every|each)\b", re.IGNORECASE)
_BY_NAME = re.compile(
    r"\b(?:is|are)\s+(?:called|named)\b|\bname\b[\w\s'’]{0,40}?\s(?:is|are)\b", re.IGNORECASE
)
_HEADING = re.compile(r"^[ \t]*(?:#{1,6}[ \t].*|\*\*[^*\n]+\*\*:?|[^\n.!?:]{1,60}:)[ \t]*$", re.MULTILINE)
_LABEL = re.compile(r"([^.:!?\n]{1,40}):[*_\s]*\Z")
_OWNERS = re.compile(r"(?:my|your|his|her|its|our|their)\b", re.IGNORECASE)
_IMPOSSIBLE = tuple(
    re.compile(rf"\b(?:{quality})\s+(?:{thing})\b", re.IGNORECASE) for quality, thing in IMPOSSIBLE
)
_SIDED = re.compile(rf"\b({'|'.join(SIDES)})s?\s+(?:with|has|have|had)\s+(\w+)\s+(?:equal\s+)?sides\b", re.I)


async def detect_logical_inconsistencies(view: View) -> list[Flag]:
    """In the order they stand."""
    flags: list[Flag] = []
    for segment in view.segments:
        if segment.assertive and not QUOTED.search(segment.text):
            flags += _impossible(segment)
            flags += sum_errors(segment, INCOMPATIBLE)
            flags += _denies_itself(segment)
            flags += _two_categories(segment)
    flags += quantifier_conflicts(view, QUANTIFIERS)
    flags += _pairs(view)
    return sorted(dict.fromkeys(flags), key=lambda flag: (flag.start, -flag.confidence))


def _denies_itself(segment: Segment) -> Iterator[Flag]:
    """ "both running and not running"."""
    for match in _BOTH.finditer(segment.text):
        if not re.search(r"\b(?:whether|if|or|never|cannot|can['’]t|paradox)\b", segment.text, re.IGNORECASE):
            start = _subject_start(segment, match.start())
            yield logical_flag(
                segment, start, match.end(), NEGATION, "These statements contradict each other",
                "Direct logical negation",
            )  # fmt: skip


def _two_categories(segment: Segment) -> Iterator[Flag]:
    """ "is alive and dead", "is married and a bachelor"."""
    for match in _IS_BOTH.finditer(segment.text) if not SHIFTS.search(segment.text) else ():
        one, two = CATEGORIES.get(match[1].lower()), CATEGORIES.get(match[2].lower())
        if one and two and one[0] == two[0] and one[1] != two[1]:
            why = f"{match[1]} and {match[2]} are mutually exclusive categories"
            start = _subject_start(segment, match.start())
            yield logical_flag(
                segment, start, match.end(2), EXCLUSIVE, "These statements contradict each other", why
            )


def _subject_start(segment: Segment, at: int) -> int:
    spans = [claim.subject_span[0] - segment.start for claim in segment.claims]
    return max((start for start in spans if 0 <= start < at), default=at)


def _impossible(segment: Segment) -> Iterator[Flag]:
    if re.search(
        r"\b(?:no|not|cannot|impossible|there is no|like|such as)\b|n['’]t\b", segment.text, re.IGNORECASE
    ):
        return
    for pattern in _IMPOSSIBLE:
        for match in pattern.finditer(segment.text):
            yield logical_flag(
                segment, match.start(), match.end(), IMPOSSIBLE_THING, f"There is no {match[0].lower()}"
            )
    for match in _SIDED.finditer(segment.text):
        sides, thing = numbers.numbers(match[2]), match[1].lower()
        if sides and sides[0].value != SIDES[thing]:
            yield logical_flag(
                segment, match.start(), match.end(), IMPOSSIBLE_THING, f"A {thing} has {SIDES[thing]} sides"
            )


def _pairs(view: View) -> Iterator[Flag]:
    """Every two statements about the same subject."""
    about: defaultdict[frozenset[str], list[Statement]] = defaultdict(list)
    for statement in statements(view.segments):
        about[statement.subject].append(statement)
    headings = [(found.start(), found[0].strip()) for found in _HEADING.finditer(view.response)]
    for group in about.values():
        for a, b in combinations(group[:50], 2):
            if _set_apart(view.response, headings, a, b):
                continue
            found = (
                _negation(a, b) or _values(a, b) or _categories(a, b) or _contents(a, b) or _contents(b, a)
            )
            if found is not None:
                yield _flag(view, a, b, *found)


def _set_apart(response: str, headings: list[tuple[int, str]], a: Statement, b: Statement) -> bool:
    """Whether each stands under a heading or label of its own ("Winter:"), or is of someone else's thing."""
    one, two = (_label(response, s.claim.start) for s in (a, b))
    above, over = (_heading(headings, s.claim.start) for s in (a, b))
    his, hers = (_OWNERS.match(s.claim.subject) for s in (a, b))
    whose = his and hers and his[0].lower() != hers[0].lower()
    return one != two or bool(above and over and above != over) or bool(whose)


def _label(response: str, at: int) -> str:
    found = _LABEL.search(response[max(0, at - 60) : at].rpartition("\n")[2])
    return found[1].strip("-*_• \t").lower() if found else ""


def _heading(headings: list[tuple[int, str]], at: int) -> str:
    before = bisect_left(headings, (at, ""))
    return headings[before - 1][1] if before else ""


def _flag(view: View, a: Statement, b: Statement, confidence: float, why: str) -> Flag:
    start, end = min(a.claim.start, b.claim.start), max(a.claim.end, b.claim.end)
    return Flag(
        HallucinationType.LOGICAL_INCONSISTENCY, start, end, view.response[start:end], confidence,
        suggestion="These statements contradict each other", evidence=f"'{a.claim}' vs '{b.claim}': {why}",
    )  # fmt: skip


def _negation(a: Statement, b: Statement) -> tuple[float, str] | None:
    if _never(a, b) or _never(b, a):
        return NEGATION, "What never is cannot be at times"
    same = a.predicate == b.predicate and a.object == b.object and a.frame == b.frame
    if not same or a.claim.denied == b.claim.denied or a.segment is b.segment:
        return None
    if {a.claim.quantifier, b.claim.quantifier} - {""}:
        return None  # some do and some do not
    return NEGATION, "Direct logical negation"


def _never(a: Statement, b: Statement) -> bool:
    """ "is never closed" and "is closed on Sundays"."""
    never = a.claim.denied and re.search(r"\bnever\b", a.clause, re.IGNORECASE)
    if not never or b.claim.denied or a.frame or b.claim.quantifier:
        return False
    if a.predicate == b.predicate:
        return a.object == b.object
    return a.predicate == "be" and a.object == {normalise(b.predicate.split()[0])}


def _values(a: Statement, b: Statement) -> tuple[float, str] | None:
    """One attribute, two values."""
    if a.predicate != b.predicate or a.claim.denied or b.claim.denied or a.segment is b.segment:
        return None
    if a.claim.quantifier or b.claim.quantifier or a.frame != b.frame:
        return None
    if _FURTHER.search(a.clause) or _FURTHER.search(b.clause):
        return None
    if not _is_single(a.predicate, a, b) or not _incompatible(a, b):
        return None
    return INCOMPATIBLE, f"{a.claim.subject} cannot be both {a.claim.object} and {b.claim.object}"


def _is_single(predicate: str, *both: Statement) -> bool:
    """Whether what they say of a thing has one value at a time."""
    again = any(RECURRING & s.subject for s in both)
    return (
        predicate in SINGLE
        or (predicate == "be" and all(map(_is_measure, both)))
        or (predicate in IN_MONTHS and not again and all(_month(s.claim.object) for s in both))
        or (predicate in AT_HOURS and not again and all(_is_hour(s.claim.object) for s in both))
        or all(map(_tells_name, both))
    )


def _month(value: str) -> int:
    """1 to 12 where a month is all that is said."""
    return dates.MONTHS.get(value.lower(), 0) if value.istitle() else 0


def _is_hour(value: str) -> bool:
    return any(number.unit == "clock" for number in numbers.numbers(value))


def _tells_name(statement: Statement) -> bool:
    """ "is called Rex": what it is called now, not what it was or was made."""
    of_name = statement.predicate == "be" and "name" in statement.subject
    return (of_name or statement.predicate in CALLED) and bool(_BY_NAME.search(statement.clause))


def _is_measure(statement: Statement) -> bool:
    """Nothing but a number with its unit: "$50", "5 km", "300"."""
    found = numbers.numbers(statement.claim.object)
    return len(found) == 1 and len(statement.claim.object) - (found[0].end - found[0].start) <= 12


def _incompatible(a: Statement, b: Statement) -> bool:
    one, two = a.claim.object, b.claim.object
    days, other = dates.dates(one), dates.dates(two)
    if days and other:
        return all(dates.compare(x, y) == "conflict" for x in days for y in other)
    weekday, another = dates.weekdays(one), dates.weekdays(two)
    if weekday and another:
        return not {day for day, *_ in weekday} & {day for day, *_ in another}
    month, other_month = _month(one), _month(two)
    if month and other_month:
        return month != other_month
    count, counts = numbers.numbers(one), numbers.numbers(two)
    if count and counts:
        return all(
            numbers.compare(x, y) == "conflict" and not (x.bound or y.bound or x.edge or y.edge)
            for x in count for y in counts
        ) and _rest(a) == _rest(b)  # fmt: skip
    return a.predicate not in PLACES and _other_names(one, two)


def _rest(statement: Statement) -> frozenset[str]:
    """What the value counts: its words without figures and without what makes figures a time of the day."""
    value = statement.claim.object
    places = [(start, end) for _, start, end, _ in number_words(value)]
    places += [(n.start, n.end) for n in numbers.numbers(value) if n.unit == "clock"]
    written = {word.lower() for start, end in places for word in value[start:end].split()}
    return frozenset(
        word for word in statement.object if not any(map(str.isdigit, word)) and word not in written
    )


def _other_names(one: str, two: str) -> bool:
    mine, theirs = names.names(f"of {one}"), names.names(f"of {two}")
    return (
        len(mine) == 1
        and len(theirs) == 1
        and mine[0].text == one.strip()
        and theirs[0].text == two.strip()
        and not names.same_name(mine[0].text, theirs[0].text)
    )


def _categories(a: Statement, b: Statement) -> tuple[float, str] | None:
    if a.predicate != "be" or b.predicate != "be" or a.claim.denied or b.claim.denied:
        return None
    one, two = head(a.claim.object), head(b.claim.object)
    if one not in CATEGORIES or two not in CATEGORIES or a.claim.quantifier or b.claim.quantifier:
        return None
    (axis, side), (other, another) = CATEGORIES[one], CATEGORIES[two]
    if axis != other or side == another or not _alone(a, b):
        return None
    return EXCLUSIVE, f"{one} and {two} are mutually exclusive categories"


def _alone(a: Statement, b: Statement) -> bool:
    """Nothing else is said: neither where, nor when, nor which part."""
    if a.segment is not b.segment:
        return not a.frame and not b.frame and len(a.object) == 1 and len(b.object) == 1
    first, last = sorted((a.claim.object_span, b.claim.object_span))
    text, at = a.segment.text, a.segment.start
    between, tail = text[first[1] - at : last[0] - at], text[last[1] - at :]
    return (
        _COORDINATED.fullmatch(between) is not None
        and re.match(r"\s*(?:[.!]|$|at the same)", tail) is not None
    )


def _contents(a: Statement, b: Statement) -> tuple[float, str] | None:
    """ "is vegetarian" and "contains chicken"."""
    kind = head(a.claim.object)
    if a.predicate != "be" or kind not in CONTENTS or b.predicate.split()[0] not in HOLDS:
        return None
    held = re.findall(r"[\w-]+", b.claim.object.lower())
    found = CONTENTS[kind].intersection(held)
    if not found or a.claim.denied or b.claim.denied or SUBSTITUTE.intersection(held):
        return None
    if a.segment is not b.segment and a.frame:
        return None
    return EXCLUSIVE, f"what is {kind} contains no {min(found)}"
