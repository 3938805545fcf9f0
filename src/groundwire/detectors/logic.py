"""Detector for logical inconsistencies: statements of one response that cannot all be true.

Two statements are compared only if everything but the point at issue is the same; another time, place, part,
condition or owner makes them two statements about two things.

Catches: a statement and its negation, one attribute with two values, mutually exclusive categories, "all"
against "not all", sums and shares that do not add up.
Misses: contradictions that need world knowledge or more than two sentences.
Cost: comparisons of the claims that share a subject.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from groundwire.detectors.arithmetic import sum_errors
from groundwire.detectors.context import DetectionContext, logical_flag
from groundwire.detectors.templates import Exclusion, conflict, templates
from groundwire.openie.tense import clause_around
from groundwire.text import dates, names, numbers
from groundwire.text.lexicon import CATEGORIES, NEGATIONS, grammar, word_set
from groundwire.text.numbers import number_words
from groundwire.text.tokens import normalise, words
from groundwire.types import Flag, HallucinationType, Segment, Triple

_GRAMMAR = grammar("detect_logic")

# Predicates, in the normal form of `openie.parser`, that have one object at a time.
SINGLE = word_set(
    """
    capital height length width depth age weight population birthday birthplace spouse headquarters founder
    price cost area diameter radius speed temperature duration distance size salary revenue
    """
) | frozenset(
    {
        "founded in", "founded on", "established in", "born in", "born on", "die in", "die on", "died in",
        "died on", "built in", "launched in", "released in", "released on", "incorporated in", "be born in",
        "headquartered in", "completed in", "cost", "weigh", "be on", "scheduled for", "start at", "end at",
        "open at", "close at", "begin at", "located in", "be in",
    }
)  # fmt: skip
IN_MONTHS = frozenset({"open in", "close in", "start in", "begin in", "end in", "take place in", "held in"})
"""Predicates with one month; they may have several years and places."""
AT_HOURS = frozenset({"be at", "take place at", "depart at"})
"""Predicates with one time of day, if the object is a clock time."""
RECURRING = frozenset(
    map(
        normalise,
        word_set(
            """
            course semester term class intake market fair session season sale exam training programme program
            workshop lesson tour train bus ferry flight show screening service
            """
        ),
    )
)
"""Recurring events, which may have several months and hours."""
CALLED = frozenset({"called", "named", "name"})
PLACES = frozenset({"located in", "be in", "headquartered in", "born in", "be born in", "die in"})


# Words that restrict a statement to a time, place, condition or possibility.
SHIFTS = re.compile(_GRAMMAR["shifts"])
QUOTED = re.compile(r"[\"“”«»]")
_PRONOUNS = word_set(
    """
    i you we it they he she this that these those there who which what one some someone somebody anyone
    something anything everything others many most few several both each such here
    """
)
_PERSONAL = word_set("it he she they")
_LIGHT = word_set("also both currently simultaneously actually really very quite however therefore thus so time same")
_ARTICLES = word_set("the a an this that these those its his her their our your my")
QUANTITIES = word_set(
    """
    all every each no none any some several many most few everyone everybody nobody both of one two three four
    five six seven eight nine ten dozens hundreds
    """
)


@dataclass(frozen=True, slots=True)
class ComparableStatement:
    """A claim in comparable form: `subject` without articles and quantities, `frame` the rest of its
    clause.
    """

    segment: Segment
    claim: Triple
    subject: frozenset[str]
    object: frozenset[str]
    frame: frozenset[str]
    clause: str = ""

    @property
    def predicate(self) -> str:
        return self.claim.predicate


def statements(segments: Sequence[Segment]) -> Iterator[ComparableStatement]:
    """The unconditional claims about a definite subject."""
    for segment in segments:
        if segment.assertive and not QUOTED.search(segment.text) and not SHIFTS.search(segment.text):
            named: set[frozenset[str]] = set()
            for claim in segment.claims:
                made = _statement(segment, claim)
                if made is None:
                    continue
                if claim.subject.lower() not in _PRONOUNS:
                    named.add(made.subject)
                elif len(named) == 1 and claim.subject.lower() in _PERSONAL:
                    made = replace(made, subject=next(iter(named)))  # the only possible antecedent
                yield made


def _statement(segment: Segment, claim: Triple) -> ComparableStatement | None:
    subject = _content(claim.subject)
    low = claim.subject.lower().split()
    if low and low[-1] in _PRONOUNS:
        subject = frozenset({f"{low[-1]} of {segment.index}"})  # a pronoun is unique to its sentence
    if not subject or low[0] in ("a", "an"):
        return None
    at = claim.object_span[0] - segment.start, claim.object_span[1] - segment.start
    start, end = clause_around(segment.text, *at) if 0 <= at[0] < len(segment.text) else (0, 0)
    written = segment.text[max(0, claim.subject_span[0] - segment.start) : claim.subject_span[1] - segment.start]
    value = _content(claim.object)
    frame = _content(segment.text[start:end]) - subject - value - _content(written) - _LIGHT
    return ComparableStatement(segment, claim, subject, value, frame, segment.text[start:end])


def _content(text: str) -> frozenset[str]:
    return frozenset(
        word.norm
        for word in words(text)
        if not word.is_stop and (low := word.text.lower()) not in NEGATIONS and low not in QUANTITIES
    )


_WHY = "Universal and existential claims conflict"
_EXCEPT_ITSELF = re.compile(_GRAMMAR["except_itself"])
_MAX_CHARS = 1000  # longer "sentences" are lists, code or noise


NEGATION, INCOMPATIBLE, EXCLUSIVE, QUANTIFIERS = 0.95, 0.85, 0.80, 0.85
"""Confidence per kind of contradiction."""
_CONTRADICT = "These statements contradict each other"
_MAX_TEMPLATES = 100  # clauses compared in pairs
_BOTH = re.compile(_GRAMMAR["both"])
_IS_BOTH = re.compile(_GRAMMAR["is_both"])
_FURTHER = re.compile(r"\b(?:also|too|as well|both|twice|every|each|without)\b", re.IGNORECASE)
_BY_NAME = re.compile(_GRAMMAR["by_name"])
_HEADING = re.compile(r"^[ \t]*(?:#{1,6}[ \t].*|\*\*[^*\n]+\*\*:?|[^\n.!?:]{1,60}:)[ \t]*$", re.MULTILINE)
_LABEL = re.compile(r"([^.:!?\n]{1,40}):[*_\s]*\Z")
_OWNERS = re.compile(r"(?:my|your|his|her|its|our|their)\b", re.IGNORECASE)


async def detect_logical_inconsistencies(context: DetectionContext) -> list[Flag]:
    """Flags in text order."""
    flags: list[Flag] = []
    for segment in context.segments:
        if segment.assertive and not QUOTED.search(segment.text):
            flags += sum_errors(segment, INCOMPATIBLE)
            flags += _denies_itself(segment)
            flags += _two_categories(segment)
            flags += _exceptions_to_all(segment)
    flags += _templates(context)
    flags += _pairs(context)
    return sorted(dict.fromkeys(flags), key=lambda flag: (flag.start, -flag.confidence))


def _exceptions_to_all(segment: Segment) -> Iterator[Flag]:
    """ "All items were shipped, except for the 3 that weren't"."""
    for match in _EXCEPT_ITSELF.finditer(segment.text[:_MAX_CHARS]):
        yield logical_flag(segment, match.start(), match.end(), QUANTIFIERS, _WHY, "An exception to 'all' is stated")


_EXCLUDED = {
    Exclusion.QUANTITY: (QUANTIFIERS, _WHY),
    Exclusion.NEGATION: (NEGATION, _CONTRADICT),
    Exclusion.VALUE: (INCOMPATIBLE, _CONTRADICT),
    Exclusion.PROPERTY: (EXCLUSIVE, _CONTRADICT),
}


def _templates(context: DetectionContext) -> Iterator[Flag]:
    """Compare every two clauses that are the same but for one point."""
    found = [
        template
        for segment in context.segments
        if segment.assertive and not QUOTED.search(segment.text) and not SHIFTS.search(segment.text)
        for template in templates(segment)
    ][:_MAX_TEMPLATES]
    headings = _headings(context.response)
    for a, b in combinations(found, 2):
        how = conflict(a, b)
        if how and not _in_different_scopes(context.response, headings, a.start, b.start):
            confidence, why = _EXCLUDED[how]
            end = b.start + len(b.text)
            yield Flag(
                HallucinationType.LOGICAL_INCONSISTENCY, a.start, end, context.response[a.start : end],
                confidence, suggestion=why, evidence=f"'{a.text}' vs '{b.text}'",
            )  # fmt: skip


def _denies_itself(segment: Segment) -> Iterator[Flag]:
    """ "both running and not running"."""
    for match in _BOTH.finditer(segment.text):
        if not re.search(r"\b(?:whether|if|or|never|cannot|can['’]t|paradox)\b", segment.text, re.IGNORECASE):
            start = _subject_start(segment, match.start())
            yield logical_flag(
                segment, start, match.end(), NEGATION, _CONTRADICT,
                "Direct logical negation",
            )  # fmt: skip


def _two_categories(segment: Segment) -> Iterator[Flag]:
    """ "is alive and dead", "is married and a bachelor"."""
    for match in _IS_BOTH.finditer(segment.text) if not SHIFTS.search(segment.text) else ():
        one, two = CATEGORIES.get(match[1].lower()), CATEGORIES.get(match[2].lower())
        if one and two and one[0] == two[0] and one[1] != two[1]:
            why = f"{match[1]} and {match[2]} are mutually exclusive categories"
            start = _subject_start(segment, match.start())
            yield logical_flag(segment, start, match.end(2), EXCLUSIVE, _CONTRADICT, why)


def _subject_start(segment: Segment, at: int) -> int:
    spans = [claim.subject_span[0] - segment.start for claim in segment.claims]
    return max((start for start in spans if 0 <= start < at), default=at)


def _pairs(context: DetectionContext) -> Iterator[Flag]:
    """Compare every two statements about the same subject."""
    about: defaultdict[frozenset[str], list[ComparableStatement]] = defaultdict(list)
    for statement in statements(context.segments):
        about[statement.subject].append(statement)
    headings = _headings(context.response)
    for group in about.values():
        for a, b in combinations(group[:50], 2):
            at = a.claim.start, b.claim.start
            if _other_owner(a, b) or _in_different_scopes(context.response, headings, *at):
                continue
            found = _negation(a, b) or _values(a, b)
            if found is not None:
                yield _flag(context, a, b, *found)


def _in_different_scopes(response: str, headings: list[tuple[int, str]], one: int, two: int) -> bool:
    """True if the offsets are under different headings or labels ("Winter:")."""
    above, over = _heading(headings, one), _heading(headings, two)
    return _label(response, one) != _label(response, two) or bool(above and over and above != over)


def _other_owner(a: ComparableStatement, b: ComparableStatement) -> bool:
    his, hers = (_OWNERS.match(s.claim.subject) for s in (a, b))
    return bool(his and hers and his[0].lower() != hers[0].lower())


def _headings(response: str) -> list[tuple[int, str]]:
    return [(found.start(), found[0].strip()) for found in _HEADING.finditer(response)]


def _label(response: str, at: int) -> str:
    found = _LABEL.search(response[max(0, at - 60) : at].rpartition("\n")[2])
    return found[1].strip("-*_• \t").lower() if found else ""


def _heading(headings: list[tuple[int, str]], at: int) -> str:
    before = bisect_left(headings, (at, ""))
    return headings[before - 1][1] if before else ""


def _flag(
    context: DetectionContext, a: ComparableStatement, b: ComparableStatement, confidence: float, why: str
) -> Flag:
    start, end = min(a.claim.start, b.claim.start), max(a.claim.end, b.claim.end)
    return Flag(
        HallucinationType.LOGICAL_INCONSISTENCY, start, end, context.response[start:end], confidence,
        suggestion=_CONTRADICT, evidence=f"'{a.claim}' vs '{b.claim}': {why}",
    )  # fmt: skip


def _negation(a: ComparableStatement, b: ComparableStatement) -> tuple[float, str] | None:
    if _denied_by_never(a, b) or _denied_by_never(b, a):
        return NEGATION, "'never' excludes any occurrence"
    same = a.predicate == b.predicate and a.object == b.object and a.frame == b.frame
    if not same or a.claim.denied == b.claim.denied or a.segment is b.segment:
        return None
    if {a.claim.quantifier, b.claim.quantifier} - {""}:
        return None  # some do and some do not
    return NEGATION, "Direct logical negation"


def _denied_by_never(a: ComparableStatement, b: ComparableStatement) -> bool:
    """ "is never closed" and "is closed on Sundays"."""
    never = a.claim.denied and re.search(r"\bnever\b", a.clause, re.IGNORECASE)
    if not never or b.claim.denied or a.frame or b.claim.quantifier:
        return False
    if a.predicate == b.predicate:
        return a.object == b.object
    return a.predicate == "be" and a.object == {normalise(b.predicate.split()[0])}


def _values(a: ComparableStatement, b: ComparableStatement) -> tuple[float, str] | None:
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


def _is_single(predicate: str, *both: ComparableStatement) -> bool:
    """True if the predicate has one value at a time."""
    again = any(RECURRING & s.subject for s in both)
    return (
        predicate in SINGLE
        or (predicate == "be" and all(map(_is_measure, both)))
        or (predicate in IN_MONTHS and not again and all(_month(s.claim.object) for s in both))
        or (predicate in AT_HOURS and not again and all(_is_hour(s.claim.object) for s in both))
        or all(map(_tells_name, both))
    )


def _month(value: str) -> int:
    """The month number if the value is nothing but a month, else 0."""
    return dates.MONTHS.get(value.lower(), 0) if value.istitle() else 0


def _is_hour(value: str) -> bool:
    return any(number.unit == "clock" for number in numbers.numbers(value))


def _tells_name(statement: ComparableStatement) -> bool:
    """ "is called Rex": the current name, not an earlier one or a title."""
    of_name = statement.predicate == "be" and "name" in statement.subject
    return (of_name or statement.predicate in CALLED) and bool(_BY_NAME.search(statement.clause))


def _is_measure(statement: ComparableStatement) -> bool:
    """True for a number with its unit and nothing else: "$50", "5 km", "300"."""
    found = numbers.numbers(statement.claim.object)
    return len(found) == 1 and len(statement.claim.object) - (found[0].end - found[0].start) <= 12


def _incompatible(a: ComparableStatement, b: ComparableStatement) -> bool:
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


def _rest(statement: ComparableStatement) -> frozenset[str]:
    """The words of the value without its figures and clock times: what is counted."""
    value = statement.claim.object
    places = [(start, end) for _, start, end, _ in number_words(value)]
    places += [(n.start, n.end) for n in numbers.numbers(value) if n.unit == "clock"]
    written = {word.lower() for start, end in places for word in value[start:end].split()}
    return frozenset(word for word in statement.object if not any(map(str.isdigit, word)) and word not in written)


def _other_names(one: str, two: str) -> bool:
    mine, theirs = names.names(f"of {one}"), names.names(f"of {two}")
    return (
        len(mine) == 1
        and len(theirs) == 1
        and mine[0].text == one.strip()
        and theirs[0].text == two.strip()
        and not names.same_name(mine[0].text, theirs[0].text)
    )
