"""Detector for temporal errors: times that cannot be right, and events in an impossible order.

Catches: past tense with a future date, years too far in the future, "last year" next to another year, days
that do not exist, ranges and life spans that end before they begin, "before" and "after" that contradict the
dates.
Misses: order that only the meaning of the events implies, durations, other languages, years before 1000.
Cost: regular expressions over the sentences that mention a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from groundwire.detectors.context import DetectionContext, make_flag
from groundwire.openie.tense import VerbGroup, clause_around, verb_groups
from groundwire.text.dates import dates
from groundwire.text.lexicon import expressions, word_set, word_table
from groundwire.types import Flag, HallucinationType, Segment, Tense, TimeExpression, TimeRelation

# Confidence per kind of error.
FUTURE_AS_PAST, FAR_YEAR, ORDER, NO_SUCH_DATE = 0.85, 0.90, 0.80, 0.90
_HORIZON = 10  # years ahead that need no plan or forecast to be plausible
_BEYOND = 500  # years ahead that not even a plan makes plausible
_MAX_CHARS = 2000  # longer "sentences" are lists, code or noise
_DATED_WORDS = 8  # words between a verb and its time
_WRONG_ORDER = "Temporal ordering is inconsistent"

# Words that begin something, and those that end it. A verb may be in several rows.
_PAIRS = tuple(
    (word_set(first), word_set(last))
    for first, last in (row.split(" / ") for row in word_table("detect_temporal")["tables"]["pairs"])
)
_BORN = next(pair for pair in _PAIRS if "born" in pair[0])
_LINKS, _AGAIN, _CHANGED, _LEADS_OFF, _JOINS, _THEN, _SUBJECT = expressions(
    "detect_temporal", "links again changed leads_off joins then subject"
)
_BEFORE_ITSELF = tuple(expressions("detect_temporal", "self_before self_after built_before"))
_PLANS, _TALES, _ADVERBIAL, _FOLLOWS_YEAR, _APPOSED, _QUOTES = expressions(
    "detect_temporal", "plans tales adverbial follows_year apposed quotes"
)
"""`_PLANS` make a future date in the past tense plausible, `_TALES` even a year centuries ahead."""
_ERA = re.compile(r"\b(?:BC|BCE|B\.C)")
_AHEAD = re.compile(r"\bnext\b|\btomorrow\b|\bfrom now\b", re.IGNORECASE)
_RELATIVE = re.compile(r"(?:last|this|next|yesterday|today|tomorrow)\b", re.IGNORECASE)
_PRONOUN = re.compile(r"\s*(?:it|he|she|they)\b", re.IGNORECASE)


async def detect_temporal_errors(context: DetectionContext) -> list[Flag]:
    """Flags in text order, without what is quoted or copied verbatim from a source."""
    flags: list[Flag] = []
    for segment in context.segments:
        if segment.assertive and len(segment.text) <= _MAX_CHARS:
            flags += _before_itself(segment)
            flags += [flag for time in segment.times if (flag := _impossible_time(segment, time, context.now))]
            flags += _relative_against_year(segment)
            if len(segment.times) > 1 and not _ERA.search(segment.text):
                flags += _wrong_order(segment)
    flags += lives_across(context.segments, ORDER)
    quoted = [match.span() for match in _QUOTES.finditer(context.response)]
    said = " ".join(" ".join(source.text.split()) for source in context.sources)
    return [
        flag
        for flag in sorted(set(flags), key=lambda flag: flag.start)
        if not any(start <= flag.start and flag.end <= end for start, end in quoted)
        and not (said and " ".join(flag.content.split()) in said)
    ]


def _flag(segment: Segment, start: int, end: int, confidence: float, suggestion: str, evidence: str = "") -> Flag:
    return make_flag(HallucinationType.TEMPORAL_ERROR, segment, (start, end), confidence, suggestion, evidence)


def _impossible_time(segment: Segment, time: TimeExpression, now: datetime) -> Flag | None:
    """A day that does not exist, a year too far ahead, or a future date in the past tense."""
    day = next(iter(dates(time.text)), None)
    if time.first is None and day is not None and day.day and day.month:
        return _flag(segment, time.start, time.end, NO_SUCH_DATE, f"There is no {time.text}")
    if not _is_adverbial(segment, time):
        return None
    today, planned = f"Current date: {now:%Y-%m-%d}", _PLANS.search(segment.text)
    if time.year is not None and time.year > now.year + _HORIZON:
        beyond = time.year > now.year + _BEYOND and not _TALES.search(segment.text)
        expected = not beyond and (time.tense is Tense.FUTURE or planned)
        # without a verb, only implausibly distant years count
        if not expected and (time.tense is not Tense.NONE or time.year >= 2200):
            suggestion = f"Year {time.year} seems too far in the future"
            return _flag(segment, *_clause(segment, time), FAR_YEAR, suggestion, today)
    if time.tense is not Tense.PAST or time.first is None or time.first.date() <= now.date() or planned:
        return None
    if time.year is None and not _AHEAD.search(time.text):
        return None  # "Sunday", "this week" and a day without a year may be the previous one
    suggestion = f"{time.first:%Y-%m-%d} is in the future but referenced in past tense"
    return _flag(segment, *_clause(segment, time), FUTURE_AS_PAST, suggestion, today)


def _clause(segment: Segment, time: TimeExpression) -> tuple[int, int]:
    start, end = clause_around(segment.text, time.start - segment.start, time.end - segment.start)
    left = len(segment.text[start:end]) - len(segment.text[start:end].lstrip(" ,"))
    return segment.start + start + left, segment.start + start + len(segment.text[start:end].rstrip())


def _is_adverbial(segment: Segment, time: TimeExpression) -> bool:
    """ "In 2031 it …", "… on 3 May 2031.": an adverbial, not a name or number that looks like a year."""
    at, end = time.start - segment.start, time.end - segment.start
    if any(m.start() < at and end < m.end() for m in _QUOTES.finditer(segment.text)):
        return False
    led = time.year is None or _ADVERBIAL.search(segment.text[max(0, at - 32) : at])
    return bool(led and _FOLLOWS_YEAR.match(segment.text, end))


def _relative_against_year(segment: Segment) -> Iterator[Flag]:
    """ "last year in 2026", if last year was not 2026."""
    for a, b in pairwise(sorted(segment.times, key=lambda time: time.start)):
        between = segment.text[a.end - segment.start : b.start - segment.start]
        relative, explicit = (a, b) if a.year is None else (b, a)
        if (a.year is None) == (b.year is None) or not _APPOSED.fullmatch(between) or not between.strip(" "):
            continue
        if not (_RELATIVE.match(relative.text) and a.first and a.last and b.first and b.last):
            continue
        if a.last < b.first or b.last < a.first:
            first, last = f"{relative.first:%Y-%m-%d}", f"{relative.last:%Y-%m-%d}"
            meant = first if first == last else f"{first} to {last}"
            if (first[4:], last[4:]) == ("-01-01", "-12-31"):
                meant = first[:4]
            suggestion = f"'{relative.text}' is not {explicit.text}"
            yield _flag(segment, a.start, b.end, FUTURE_AS_PAST, suggestion, f"'{relative.text}' is {meant}")


def _before_itself(segment: Segment) -> Iterator[Flag]:
    """ "The project was completed before it started": no date needed."""
    for match in (match for pattern in _BEFORE_ITSELF for match in pattern.finditer(segment.text)):
        if any(match["begun"].lower() in first and match["ended"].lower() in last for first, last in _PAIRS):
            start, end = segment.start + match.start(), segment.start + match.end()
            yield _flag(segment, start, end, ORDER, _WRONG_ORDER, "The end cannot precede the beginning")


def _wrong_order(segment: Segment) -> Iterator[Flag]:
    for a, b in pairwise(segment.times):
        at = a.end - segment.start
        between = segment.text[at : b.start - segment.start]
        if (a.relation, b.relation) == (TimeRelation.START, TimeRelation.END) and _JOINS.fullmatch(between):
            # "from 2021 to 2019", "2021–2019"
            if _after(a, b) and not _CHANGED.search(segment.text[max(0, at - 60) : at] + between):
                yield _out_of_order(segment, a, b)
        elif (match := _THEN.fullmatch(between)) and not _LEADS_OFF.search(match["rest"]):
            # "in 2018, three years after the 2020 election"
            early, late = (a, b) if match["which"].lower() == "before" else (b, a)
            if _after(early, late):
                yield _out_of_order(segment, early, late)
    for (one, first), (two, last) in pairwise(_dated(segment)):
        between = segment.text[first.end - segment.start : two.start]
        if _LINKS.fullmatch(between) and "after" not in between and not _AGAIN.search(segment.text):
            if _begins_and_ends(one, two) and _after(first, last):
                yield _out_of_order(segment, first, last)
            elif one.verb in _BORN[1] and two.verb in _BORN[0] and _after(last, first):
                yield _out_of_order(segment, last, first)


def _after(a: TimeExpression, b: TimeExpression) -> bool:
    """True if `a` lies entirely after `b`; both must have an explicit year."""
    return bool(a.year and b.year and a.first and b.last and a.first > b.last)


def _out_of_order(segment: Segment, a: TimeExpression, b: TimeExpression) -> Flag:
    start, end = min(a.start, b.start), max(a.end, b.end)
    return _flag(segment, start, end, ORDER, _WRONG_ORDER, f"{a.text} is after {b.text}")


def _begins_and_ends(one: VerbGroup, two: VerbGroup) -> bool:
    return any(one.verb in starts and two.verb in stops for starts, stops in _PAIRS)


def _dated(segment: Segment) -> list[tuple[VerbGroup, TimeExpression]]:
    """Verbs with the time expression that follows within a few words."""
    groups = [group for group in verb_groups(segment.text) if group.finite or group.verb == "born"]
    found = []
    for time in segment.times:
        at = time.start - segment.start
        before = [group for group in groups if group.end <= at]
        if before and len(segment.text[before[-1].end : at].split()) <= _DATED_WORDS:
            found.append((before[-1], time))
    return found


def lives_across(segments: Sequence[Segment], confidence: float) -> Iterator[Flag]:
    """A beginning after an end in two sentences: "The café opened in 2020. It closed in 2018." """
    for one, two in pairwise(segments):
        if not (one.assertive and two.assertive and one.times and two.times):
            continue
        a, b = _SUBJECT.match(one.text), _SUBJECT.match(two.text)
        same = _PRONOUN.match(two.text) or (a and b and a[1].casefold() == b[1].casefold())
        if not same or _AGAIN.search(one.text + two.text):
            continue
        for (begins, first), (ends, last) in zip(_dated(one)[:1], _dated(two)[:1], strict=False):
            if _begins_and_ends(begins, ends) and _after(first, last):
                yield _flag(two, two.start, two.end, confidence, _WRONG_ORDER, f"{first.text} is after {last.text}")
