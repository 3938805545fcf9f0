"""Temporal errors: what cannot have been then, or not in that order.

Catches: past tense with a future date, years out of reach, "last year" beside another year, dates that do not
exist, weekdays that do not fit, ranges and lives that end before they begin, "before" and "after" that the
dates deny, ages and durations that do not fit their dates.
Misses: order that only the meaning of events gives away, narration in other languages, years before 1000.
Costs: regular expressions over the sentences that name a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from groundwire.detectors.durations import misfits
from groundwire.detectors.flagging import temporal_flag
from groundwire.detectors.order import disorders
from groundwire.detectors.view import View
from groundwire.openie.tense import clause_around
from groundwire.text.dates import WEEKDAYS, dates
from groundwire.types import Flag, Segment, Tense, TimeExpression

FUTURE_AS_PAST, FAR_YEAR, ORDER, NO_SUCH_DATE = 0.85, 0.90, 0.80, 0.90
_HORIZON, _BEYOND = 10, 500
_LONGEST = 2000

# Words under which a time to come may be spoken of in the past tense: plans, fiction, what may be.
_PLANS = re.compile(
    r"\b(?:plan|schedul|expect|project(?:ed|ion|s to)|forecast|slated|announc|promis|target|predict|estimat|"
    r"propos|budget|intend|supposed|postpon|delay|agree|book|pledg|commit|guarante|award|select|renew|"
    r"extend|designat|decid|want|hop(?:e|ing)|goal|vision|agenda|roadmap|scenario|simulat|model|fiction|novel|"
    r"film|movie|game|stor(?:y|ies)|imagin|hypothe|toward|matur|expir|valid|warrant|lease|contract|bond|reserv|"
    r"nominat|assum|anticipat|outlook|potential|option)\w*"
    r"|\b(?:due|aim(?:s|ed)?|chosen?|"
    r"set (?:in|for|to)|if|would|could|might|may|should|will|going to|until|till"
    r"|through)\b",
    re.IGNORECASE,
)
# Under these even a year centuries ahead is no mistake.
_TALES = re.compile(
    r"\b(?:fiction|novel|film|movie|game|stor(?:y|ies)|imagin|hypothe|scenario|simulat|model|project(?:ed|ion)"
    r"|predict|forecast|estimat|calendar|set in|if|would|could|might)\w*",
    re.IGNORECASE,
)
_ADVERBIAL = re.compile(
    r"(?:(?:^|[,;(]\s*|\b)(?:in|on|during|since|back in|as early as|around|the year|of|early|late|mid)[\s-]+"
    r"(?:the\s+)?(?:year\s+|early |late |mid-?"
    r"|the (?:spring|summer|fall|autumn|winter|middle|beginning|end) of )?)$",
    re.IGNORECASE,
)
_FOLLOWS_YEAR = re.compile(
    r"\s*(?:$|[.,;:!?)\]\"”]|(?:the|a|an|it|he|she|they|we|and|but|when|after|before|by|with|for|as|at|to|because|"
    r"under|where|while|his|her|its|their|this|that|from|in|on|of|or|who|which|until|following|due|thanks)\b)"
)
_APPOSED = re.compile(r"\s*(?:,\s*|\()?\s*(?:in\s+|on\s+|i\.e\.,?\s+|that is,?\s+)?", re.IGNORECASE)
_WEEKDAY_BEFORE = re.compile(
    rf"\b({'|'.join(d for d in WEEKDAYS if d.endswith('day'))}),?\s+(?:the\s+)?$", re.I
)
_AHEAD = re.compile(r"\bnext\b|\btomorrow\b|\bfrom now\b", re.IGNORECASE)
_HINT = re.compile(r"\d|\b(?:minus|negative)\b")
_QUOTES = re.compile(r"\"[^\"]{1,400}\"|“[^”]{1,400}”")
_BAD_ISO = re.compile(r"(?<![\d./-])(\d{4})-(\d\d)-(\d\d)(?![\d-])")
_BAD_SLASH = re.compile(r"(?<![\d./-])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/-])")


async def detect_temporal_errors(view: View) -> list[Flag]:
    """In the order they stand. What a source says in the same words is not the response's mistake."""
    flags: list[Flag] = []
    for segment in view.segments:
        if (
            segment.assertive
            and len(segment.text) <= _LONGEST
            and (segment.times or _HINT.search(segment.text))
        ):
            flags += _in_segment(segment, view.now)
    flags += disorders(view.segments, ORDER)
    return _unquoted(sorted(set(flags), key=lambda flag: flag.start), view)


def _in_segment(segment: Segment, now: datetime) -> Iterator[Flag]:
    yield from _no_such_date(segment)
    yield from _wrong_weekday(segment)
    yield from misfits(segment, now, ORDER)
    for time in segment.times:
        flag = _impossible_year(segment, time, now) or _future_as_past(segment, time, now)
        if flag is not None:
            yield flag
    yield from _relative_against_year(segment)


def _unquoted(flags: list[Flag], view: View) -> list[Flag]:
    quoted = [(m.start(), m.end()) for m in _QUOTES.finditer(view.response)]
    said = " ".join(" ".join(source.text.split()) for source in view.sources)
    return [
        flag
        for flag in flags
        if not any(start <= flag.start and flag.end <= end for start, end in quoted)
        and not (said and " ".join(flag.content.split()) in said)
    ]


def _clause(segment: Segment, time: TimeExpression) -> tuple[int, int]:
    start, end = clause_around(segment.text, time.start - segment.start, time.end - segment.start)
    left = len(segment.text[start:end]) - len(segment.text[start:end].lstrip(" ,"))
    return segment.start + start + left, segment.start + start + len(segment.text[start:end].rstrip())


def _adverbial(segment: Segment, time: TimeExpression) -> bool:
    """ "In 2031 it …", "… on 3 May 2031.": when something was, not the name or number of a thing."""
    at, end = time.start - segment.start, time.end - segment.start
    if any(m.start() < at and end < m.end() for m in _QUOTES.finditer(segment.text)):
        return False
    relative = time.year is None
    before = segment.text[max(0, at - 32) : at]
    return (relative or bool(_ADVERBIAL.search(before))) and bool(_FOLLOWS_YEAR.match(segment.text, end))


def _future_as_past(segment: Segment, time: TimeExpression, now: datetime) -> Flag | None:
    if time.tense is not Tense.PAST or time.first is None or time.first.date() <= now.date():
        return None
    if time.year is None and not _AHEAD.search(time.text):
        return None  # "Sunday", "this week" and a day without a year may always be the one before
    if not _adverbial(segment, time) or _PLANS.search(segment.text):
        return None
    start, end = _clause(segment, time)
    return temporal_flag(
        segment, start, end, FUTURE_AS_PAST,
        f"{time.first:%Y-%m-%d} is in the future but referenced in past tense",
        f"Current date: {now:%Y-%m-%d}",
    )  # fmt: skip


def _impossible_year(segment: Segment, time: TimeExpression, now: datetime) -> Flag | None:
    if time.year is None or time.year <= now.year + _HORIZON or not _adverbial(segment, time):
        return None
    beyond = time.year > now.year + _BEYOND and not _TALES.search(segment.text)
    if not beyond and (time.tense is Tense.FUTURE or _PLANS.search(segment.text)):
        return None
    if time.tense is Tense.NONE and time.year < 2200:
        return None  # without a verb to tell, only what nobody plans for
    start, end = _clause(segment, time)
    return temporal_flag(
        segment, start, end, FAR_YEAR,
        f"Year {time.year} seems too far in the future", f"Current date: {now:%Y-%m-%d}",
    )  # fmt: skip


def _relative_against_year(segment: Segment) -> Iterator[Flag]:
    """ "last year in 2026", when last year was another one."""
    times = sorted(segment.times, key=lambda time: time.start)
    for a, b in pairwise(times):
        between = segment.text[a.end - segment.start : b.start - segment.start]
        relative, explicit = (a, b) if a.year is None else (b, a)
        if (a.year is None) == (b.year is None) or not _APPOSED.fullmatch(between) or not between.strip(" "):
            continue
        if not re.match(r"(?:last|this|next|yesterday|today|tomorrow)\b", relative.text, re.IGNORECASE):
            continue
        if _apart(relative, explicit):
            yield temporal_flag(
                segment, a.start, b.end, FUTURE_AS_PAST,
                f"'{relative.text}' is not {explicit.text}", f"'{relative.text}' is {_range(relative)}",
            )  # fmt: skip


def _apart(a: TimeExpression, b: TimeExpression) -> bool:
    if not (a.first and a.last and b.first and b.last):
        return False
    return a.last < b.first or b.last < a.first


def _range(time: TimeExpression) -> str:
    if not time.first or not time.last:
        return time.text
    if (time.first.month, time.first.day, time.last.month, time.last.day) == (1, 1, 12, 31):
        return str(time.first.year)
    return f"{time.first:%Y-%m-%d}" + ("" if time.first == time.last else f" to {time.last:%Y-%m-%d}")


def _no_such_date(segment: Segment) -> Iterator[Flag]:
    for time in segment.times:
        day = next(iter(dates(time.text)), None)
        if day is None or not day.day or not day.month:
            continue
        if time.first is None or day.day > _DAYS_IN[day.month]:
            yield temporal_flag(segment, time.start, time.end, NO_SUCH_DATE, f"There is no {time.text}")
    for match in _BAD_ISO.finditer(segment.text):
        if not 1 <= int(match[2]) <= 12 and int(match[1]) in range(1000, 2200) and int(match[3]) <= 31:
            yield _no_month(segment, match)
    for match in _BAD_SLASH.finditer(segment.text):
        if min(int(match[1]), int(match[2])) > 12 and max(int(match[1]), int(match[2])) <= 31:
            yield _no_month(segment, match)


_DAYS_IN = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _no_month(segment: Segment, match: re.Match[str]) -> Flag:
    start, end = segment.start + match.start(), segment.start + match.end()
    return temporal_flag(segment, start, end, NO_SUCH_DATE, f"There is no date {match[0]}")


def _wrong_weekday(segment: Segment) -> Iterator[Flag]:
    """ "Monday, March 15, 2023", when that was a Wednesday."""
    for time in segment.times:
        day = next(iter(dates(time.text)), None)
        if day is None or not (day.day and day.year) or day.swappable or time.first is None:
            continue
        at = time.start - segment.start
        before = _WEEKDAY_BEFORE.search(segment.text[max(0, at - 20) : at])
        if before and WEEKDAYS[before[1].lower()] != time.first.isoweekday():
            start = segment.start + max(0, at - 20) + before.start(1)
            suggestion = f"{time.text} is a {time.first:%A}"
            yield temporal_flag(segment, start, time.end, ORDER, suggestion)
