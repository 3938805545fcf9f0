"""Detector for temporal errors: impossible dates, wrong order, durations that do not fit.

Catches: past tense with a future date, years too far in the future, "last year" next to another year, dates
that do not exist, wrong weekdays, ranges and life spans that end before they begin, "before" and "after" that
contradict the dates, ages and durations that do not match their dates.
Misses: order that only the meaning of the events implies, other languages, years before 1000.
Cost: regular expressions over the sentences that mention a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from groundwire.detectors.context import DetectionContext, temporal_flag
from groundwire.openie.tense import VerbGroup, clause_around, verb_groups
from groundwire.text.dates import WEEKDAYS, dates
from groundwire.text.lexicon import grammar, word_set
from groundwire.text.numbers import numbers
from groundwire.types import Flag, Segment, Tense, TimeExpression, TimeRelation

_GRAMMAR = grammar("detect_temporal")

# Verbs that begin something, and the verbs that end it. A verb may be in several rows.
_PAIRS: tuple[tuple[frozenset[str], frozenset[str]], ...] = tuple(
    (word_set(first), word_set(last))
    for first, last in (
        ("started began begun commenced start begin", "ended finished completed concluded stopped end finish"),
        ("opened inaugurated open", "closed shuttered demolished close"),
        ("founded established created formed incorporated", "dissolved disbanded abolished closed bankrupt"),
        ("launched introduced released", "discontinued retired withdrawn cancelled canceled"),
        ("born", "died killed assassinated executed die"),
        ("hired joined appointed elected", "fired resigned retired left quit dismissed"),
        ("married", "divorced separated"),
        ("enrolled", "graduated"),
        ("built constructed", "demolished destroyed razed"),
        ("signed", "expired terminated"),
    )
)
_BORN = _PAIRS[4]
_MAX_CHARS = 2000
"""Longer "sentences" are lists, code or noise."""
_LINKS = re.compile(_GRAMMAR["links"])
_AGAIN = re.compile(_GRAMMAR["again"])
_CHANGED = re.compile(_GRAMMAR["changed"])
_LEADS_OFF = re.compile(r"\b(?:and|or|of|the day|another|more|plan|schedul)|\w+ed\b", re.IGNORECASE)
_JOINS = re.compile(r"\s+(?:to|and|until|till|through)\s+(?:early |late |mid-?)?|\s?[–—]\s?|-", re.IGNORECASE)
_ERA = re.compile(r"\b(?:BC|BCE|B\.C)")
_SELF_BEFORE = re.compile(_GRAMMAR["self_before"])
_SELF_AFTER = re.compile(_GRAMMAR["self_after"])
_BUILT_BEFORE = re.compile(_GRAMMAR["built_before"])
_THEN = re.compile(_GRAMMAR["then"])


_CLOCK = r"\d{1,2}(?::[0-5]\d)?\s?(?P<{0}>[ap])\.?m\b\.?"
_HOURS = re.compile(
    rf"\b(?:starts?|begins?|opens?|started|began|opened)\s+at\s+(?P<first>{_CLOCK.replace('{0}', 'half')})"
    r"\s*(?:,|,?\s*(?:and|but))\s*(?:it\s+)?(?:then\s+)?"
    r"(?:ends?|finish(?:es)?|closes?|concludes?|ended|finished|closed|concluded)\s+at\s+"
    rf"(?P<last>{_CLOCK.replace('{0}', 'half2')})(?!\s*(?:the\s+)?(?:next|following|tomorrow|\w+day))",
    re.IGNORECASE,
)


def _hours(segment: Segment, confidence: float) -> Iterator[Flag]:
    """ "It starts at 3 pm and ends at 2 pm"; from pm to am is an ordinary night."""
    for match in _HOURS.finditer(segment.text):
        first, last = numbers(match["first"]), numbers(match["last"])
        if not first or not last or match["half"].lower() != match["half2"].lower():
            continue
        if first[0].value > last[0].value:
            start, end = segment.start + match.start(), segment.start + match.end()
            why = f"{match['first']} is after {match['last']}"
            yield temporal_flag(segment, start, end, confidence, "Temporal ordering is inconsistent", why)


def wrong_order(segments: Sequence[Segment], confidence: float) -> Iterator[Flag]:
    for segment in segments:
        if segment.assertive and len(segment.text) <= _MAX_CHARS:
            yield from _before_itself(segment, confidence)
            yield from _hours(segment, confidence)
            if len(segment.times) > 1 and not _ERA.search(segment.text):
                yield from _ranges(segment, confidence)
                yield from _before_after(segment, confidence)
                yield from _lives(segment, confidence)
    yield from lives_across(segments, confidence)


def _before_itself(segment: Segment, confidence: float) -> Iterator[Flag]:
    """ "The project was completed before it started": no date needed."""
    for pattern in (_SELF_BEFORE, _SELF_AFTER, _BUILT_BEFORE):
        for match in pattern.finditer(segment.text):
            if any(match["begun"].lower() in first and match["ended"].lower() in last for first, last in _WIDE):
                start = segment.start + match.start()
                yield temporal_flag(
                    segment, start, segment.start + match.end(), confidence,
                    "Temporal ordering is inconsistent", "The end cannot precede the beginning",
                )  # fmt: skip


_GENERIC = word_set("started began begun opened launched commenced created founded established")
_GENERIC_END = word_set("completed finished ended closed concluded dissolved cancelled canceled")
_WIDE = (*_PAIRS, (_GENERIC, _GENERIC_END), (word_set("built"), word_set("completed finished closed")))


def _ranges(segment: Segment, confidence: float) -> Iterator[Flag]:
    """ "from 2021 to 2019", "between 2021 and 2019", "2021–2019"."""
    for a, b in pairwise(segment.times):
        if (a.relation, b.relation) != (TimeRelation.START, TimeRelation.END) or not _after(a, b):
            continue
        between = segment.text[a.end - segment.start : b.start - segment.start]
        before = segment.text[max(0, a.start - segment.start - 60) : a.start - segment.start]
        joined = _JOINS.fullmatch(between)
        if joined and not _CHANGED.search(before + between):
            yield _out_of_order(segment, a, b, confidence)


def _after(a: TimeExpression, b: TimeExpression) -> bool:
    """True if `a` lies entirely after `b`; both must have an explicit year."""
    return bool(a.year and b.year and a.first and b.last and a.first > b.last)


def _out_of_order(segment: Segment, a: TimeExpression, b: TimeExpression, confidence: float) -> Flag:
    start, end = min(a.start, b.start), max(a.end, b.end)
    return temporal_flag(
        segment, start, end, confidence, "Temporal ordering is inconsistent", f"{a.text} is after {b.text}"
    )


def _before_after(segment: Segment, confidence: float) -> Iterator[Flag]:
    """ "in 2018, three years after the 2020 election": the dates contradict `before` or `after`."""
    for a, b in pairwise(segment.times):
        at = a.end - segment.start
        match = _THEN.match(segment.text, at, b.start - segment.start)
        if not match or match.end() != b.start - segment.start or "," in match["rest"]:
            continue
        early, late = (a, b) if match["which"].lower() == "before" else (b, a)
        if _after(early, late) and not _LEADS_OFF.search(match["rest"]):
            yield _out_of_order(segment, early, late, confidence)


def _dated(segment: Segment) -> list[tuple[VerbGroup, TimeExpression]]:
    """Verbs with the time expression that follows within eight words."""
    groups = [group for group in verb_groups(segment.text) if group.finite or group.verb == "born"]
    found = []
    for time in segment.times:
        at = time.start - segment.start
        before = [group for group in groups if group.end <= at]
        if before and len(segment.text[before[-1].end : at].split()) <= 8:
            found.append((before[-1], time))
    return found


def _lives(segment: Segment, confidence: float) -> Iterator[Flag]:
    """ "It opened in 2020 and closed in 2018": a beginning and an end of the same subject."""
    dated = _dated(segment)
    for (begins, first), (ends, last) in pairwise(dated):
        between = segment.text[first.end - segment.start : ends.start]
        same = _LINKS.fullmatch(between) is not None and "after" not in between
        paired = any(begins.verb in starts and ends.verb in stops for starts, stops in _PAIRS)
        if same and paired and _after(first, last) and not _AGAIN.search(segment.text):
            yield _out_of_order(segment, first, last, confidence)
        elif same and (ends.verb in _BORN[0] and begins.verb in _BORN[1]) and _after(last, first):
            yield _out_of_order(segment, last, first, confidence)


_SUBJECT = re.compile(_GRAMMAR["subject"])


def lives_across(segments: Sequence[Segment], confidence: float) -> Iterator[Flag]:
    """The same across two sentences: "The café opened in 2020. It closed in 2018." """
    for one, two in pairwise(segments):
        if not (one.assertive and two.assertive and one.times and two.times):
            continue
        if not _same_subject(one.text, two.text) or _AGAIN.search(one.text + two.text):
            continue
        for begins, first in _dated(one)[:1]:
            for ends, last in _dated(two)[:1]:
                paired = any(begins.verb in starts and ends.verb in stops for starts, stops in _PAIRS)
                if paired and _after(first, last):
                    yield temporal_flag(
                        two, two.start, two.end, confidence,
                        "Temporal ordering is inconsistent", f"{first.text} is after {last.text}",
                    )  # fmt: skip


def _same_subject(one: str, two: str) -> bool:
    if re.match(r"\s*(?:it|he|she|they)\b", two, re.IGNORECASE):
        return True
    a, b = _SUBJECT.match(one), _SUBJECT.match(two)
    return bool(a and b and a[1].casefold() == b[1].casefold())


_COUNT = r"(?:\d{1,3}|[a-z]+(?:-[a-z]+)?)"
_ABOUT = r"(?:over|more than|at least|nearly|almost|about|around|some|roughly|approximately|under|less than)\s+"
_BOUND = rf"(?P<bound>(?:just |well )?{_ABOUT})?"
_AT_AGE = r"(?:aged?|at (?:the age of|age))\s+"
_AGO = re.compile(_GRAMMAR["ago"])
_LASTED = re.compile(_GRAMMAR["lasted"])
_DIED = re.compile(_GRAMMAR["died"])
_IS_OLD = re.compile(_GRAMMAR["is_old"])
_NEGATIVE = re.compile(_GRAMMAR["negative"])
_OVER, _UNDER = ("over", "more than", "at least"), ("under", "less than", "nearly", "almost")


def wrong_durations(segment: Segment, now: datetime, confidence: float) -> Iterator[Flag]:
    """Ages and durations that do not match their dates, and negative durations."""
    text = segment.text
    for match in _NEGATIVE.finditer(text):
        yield _flag(segment, match, confidence, "A duration cannot be negative", "")
    for match in _AGO.finditer(text):
        part = _named(match)
        yield from _check(segment, match, part, now.year - int(part["year"]), confidence)
    for match in _LASTED.finditer(text):
        part = _named(match)
        yield from _check(segment, match, part, int(part["last"]) - int(part["first"]), confidence)
    for match in _DIED.finditer(text):
        part = _named(match)
        yield from _check(segment, match, {"count": part["age"]}, int(part["died"]) - int(part["born"]), confidence, 1)
    for match in _IS_OLD.finditer(text):
        yield from _check(segment, match, {"count": match["age"]}, now.year - int(match["year"]), confidence, 1)


def _named(match: re.Match[str]) -> dict[str, str]:
    """The groups of the alternative that matched, without the suffix 2."""
    return {name.rstrip("2"): value for name, value in match.groupdict().items() if value is not None}


def _check(
    segment: Segment, match: re.Match[str], part: dict[str, str], years: int, confidence: float, slack: float = 0
) -> Iterator[Flag]:
    """Compare the stated number of years with `years`, computed from the dates.

    The slack is 10 % (at least one year), 20 % for "about", and one-sided for "over" and "nearly".
    """
    found = numbers(part["count"])
    if not found or years < 0:
        return
    stated, bound = found[0].value, part.get("bound", "").strip().lower()
    slack = slack or max(1.0, 0.1 * stated)
    wrong = abs(years - stated) > slack
    if bound.endswith(_OVER):
        wrong = years < stated - 1
    elif bound.endswith(_UNDER):
        wrong = not 0.8 * stated - 1 <= years <= stated + 1
    elif bound:
        wrong = abs(years - stated) > max(2.0, 0.2 * stated)
    if wrong:
        yield _flag(segment, match, confidence, f"By these dates it is {years} years", f"Stated: {stated:g} years")


def _flag(segment: Segment, match: re.Match[str], confidence: float, suggestion: str, evidence: str) -> Flag:
    start, end = segment.start + match.start(), segment.start + match.end()
    return temporal_flag(segment, start, end, confidence, suggestion, evidence)


# Confidence per kind of error.
FUTURE_AS_PAST, FAR_YEAR, ORDER, NO_SUCH_DATE = 0.85, 0.90, 0.80, 0.90
_HORIZON = 10  # years ahead that need no plan or forecast to be plausible
_BEYOND = 500  # years ahead that not even a plan makes plausible
_MAX_CHARS = 2000

# Words that make a future date in the past tense plausible: plans, fiction, possibilities.
_PLANS = re.compile(_GRAMMAR["plans"])
# Words that make even a year centuries ahead plausible.
_TALES = re.compile(_GRAMMAR["tales"])
_ADVERBIAL = re.compile(_GRAMMAR["adverbial"])
_FOLLOWS_YEAR = re.compile(_GRAMMAR["follows_year"])
_APPOSED = re.compile(r"\s*(?:,\s*|\()?\s*(?:in\s+|on\s+|i\.e\.,?\s+|that is,?\s+)?", re.IGNORECASE)
_WEEKDAY_BEFORE = re.compile(rf"\b({'|'.join(d for d in WEEKDAYS if d.endswith('day'))}),?\s+(?:the\s+)?$", re.I)
_AHEAD = re.compile(r"\bnext\b|\btomorrow\b|\bfrom now\b", re.IGNORECASE)
_HINT = re.compile(r"\d|\b(?:minus|negative)\b")
_QUOTES = re.compile(r"\"[^\"]{1,400}\"|“[^”]{1,400}”")
_BAD_ISO = re.compile(r"(?<![\d./-])(\d{4})-(\d\d)-(\d\d)(?![\d-])")
_BAD_SLASH = re.compile(r"(?<![\d./-])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/-])")


async def detect_temporal_errors(context: DetectionContext) -> list[Flag]:
    """Flags in text order, without what is quoted or copied verbatim from a source."""
    flags: list[Flag] = []
    for segment in context.segments:
        if segment.assertive and len(segment.text) <= _MAX_CHARS and (segment.times or _HINT.search(segment.text)):
            flags += _in_segment(segment, context.now)
    flags += wrong_order(context.segments, ORDER)
    return _without_quotations(sorted(set(flags), key=lambda flag: flag.start), context)


def _in_segment(segment: Segment, now: datetime) -> Iterator[Flag]:
    yield from _no_such_date(segment)
    yield from _wrong_weekday(segment)
    yield from wrong_durations(segment, now, ORDER)
    for time in segment.times:
        flag = _impossible_year(segment, time, now) or _future_as_past(segment, time, now)
        if flag is not None:
            yield flag
    yield from _relative_against_year(segment)


def _without_quotations(flags: list[Flag], context: DetectionContext) -> list[Flag]:
    quoted = [(m.start(), m.end()) for m in _QUOTES.finditer(context.response)]
    said = " ".join(" ".join(source.text.split()) for source in context.sources)
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
    """ "In 2031 it …", "… on 3 May 2031.": an adverbial, not a name or number that looks like a year."""
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
        return None  # "Sunday", "this week" and a day without a year may be the previous one
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
        return None  # without a verb, only implausibly distant years count
    start, end = _clause(segment, time)
    return temporal_flag(
        segment, start, end, FAR_YEAR,
        f"Year {time.year} seems too far in the future", f"Current date: {now:%Y-%m-%d}",
    )  # fmt: skip


def _relative_against_year(segment: Segment) -> Iterator[Flag]:
    """ "last year in 2026", if last year was not 2026."""
    times = sorted(segment.times, key=lambda time: time.start)
    for a, b in pairwise(times):
        between = segment.text[a.end - segment.start : b.start - segment.start]
        relative, explicit = (a, b) if a.year is None else (b, a)
        if (a.year is None) == (b.year is None) or not _APPOSED.fullmatch(between) or not between.strip(" "):
            continue
        if not re.match(r"(?:last|this|next|yesterday|today|tomorrow)\b", relative.text, re.IGNORECASE):
            continue
        if _disjoint(relative, explicit):
            yield temporal_flag(
                segment, a.start, b.end, FUTURE_AS_PAST,
                f"'{relative.text}' is not {explicit.text}", f"'{relative.text}' is {_range(relative)}",
            )  # fmt: skip


def _disjoint(a: TimeExpression, b: TimeExpression) -> bool:
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
    """ "Monday, March 15, 2023", if that was a Wednesday."""
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
