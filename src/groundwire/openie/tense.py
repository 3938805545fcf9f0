"""Verb groups with their tenses, and time expressions resolved against "now". English.

Verb groups: auxiliaries with their verbs ("was launched", "will launch", "has been"), past and some present
forms, and non-finite forms without a tense. Not covered: forms that look like nouns ("costs", "plans") and
inverted word order. Times: dates, years, quarters, weekdays, "last year", "three weeks ago". Clock times are
ignored.

>>> [(t.text, t.first.year, t.tense.value) for t in times("It was sold last year.", 0, datetime(2026, 5, 1))]
[('last year', 2025, 'past')]
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from groundwire.openie.grammar import affirmative, tense_of
from groundwire.openie.lexicon import BE, HAVE, NUMBER_WORDS, Form, Tag, Token, form_of, tokens, verb_forms
from groundwire.text.dates import MONTHS, WEEKDAYS, PartialDate, dates
from groundwire.text.lexicon import expressions, word_set, word_table
from groundwire.text.numbers import numbers
from groundwire.types import Tense, TimeExpression, TimeRelation


class VerbGroup(NamedTuple):
    """`verb` is the last word of the group in lower case: the main verb."""

    start: int
    end: int
    tense: Tense
    verb: str
    finite: bool = True


_WORDS = {name: word_set(words) for name, words in word_table("openie")["tenses"].items()}
_NEW_CLAUSE, CLAUSE_EDGE, _FAR_YEAR, _RANGE_END = expressions("openie", "new_clause clause_edge far_year range_end")
_NO_TOKEN = Token("", "", 0, 0, Tag.STOP)


def verb_groups(text: str) -> list[VerbGroup]:
    """All verb groups in order, without overlaps.

    >>> [(g.verb, g.tense.value) for g in verb_groups("It was launched, has been sold and will close.")]
    [('launched', 'past'), ('sold', 'past'), ('close', 'future')]
    """
    words, at = [*tokens(text), _NO_TOKEN, _NO_TOKEN], 0
    found: list[VerbGroup] = []
    while at < len(words) - 2:
        end, tense = _auxiliary(words, at) if words[at].tag in (Tag.AUX, Tag.MODAL) else _single(words, at)
        if end > at and tense is not None:
            found.append(VerbGroup(words[at].start, words[end - 1].end, tense, words[end - 1].low))
        elif end > at:
            found.append(VerbGroup(words[at].start, words[end - 1].end, Tense.NONE, words[end - 1].low, finite=False))
        at = max(end, at + 1)
    return _without_participles(text, found)


def _auxiliary(words: Sequence[Token], at: int) -> tuple[int, Tense]:
    """Auxiliaries with their verb, as (index behind it, tense)."""
    chain, end, last = [], at, at
    while words[end].tag in (Tag.AUX, Tag.MODAL, Tag.NOT, Tag.ADVERB):
        if words[end].tag in (Tag.AUX, Tag.MODAL):
            chain.append(affirmative(words[end].low))
            last = end + 1
        end += 1
    tense, low = tense_of(chain), words[end].low
    if low in _WORDS["intended"] and words[end + 1].low == "to":
        behind = end + 2 + (words[end + 2].low == "be")
        return behind + (words[behind].tag is not Tag.STOP), Tense.FUTURE
    if words[end].tag not in (Tag.VERB, Tag.WORD):
        return last, tense
    if words[last - 1].tag is Tag.MODAL or chain[-1] in ("do", "does", "did"):
        return end + 1, tense
    participle = bool(form_of(low, Form.PARTICIPLE))
    if participle and chain[-1] in HAVE | {"'ve", "been"} and tense is Tense.PRESENT:
        tense = Tense.PAST
    ongoing = low.endswith("ing") and chain[-1] in BE | {"'s", "'re", "'m"}
    return (end + 1 if participle or ongoing else last), tense


def _single(words: Sequence[Token], at: int) -> tuple[int, Tense | None]:
    """A verb without auxiliaries, as (index behind it, tense); the tense of an infinitive or gerund is None."""
    token, before = words[at], words[at - 1] if at else _NO_TOKEN
    if token.tag is Tag.TO and words[at + 1].tag in (Tag.VERB, Tag.AUX):
        return at + 2 + (words[at + 1].low == "be" and words[at + 2].tag is Tag.VERB), None
    noun = before.tag in (Tag.DET, Tag.POSSESSIVE) or before.low in ("of", "very", "most")
    if token.tag not in (Tag.VERB, Tag.WORD) or noun:
        return at, None
    forms = {form for _, form in verb_forms(token.low)}
    past = Form.PAST in forms and Form.BASE not in forms
    regular = not forms and token.low.endswith("ed") and len(token.low) > 4 and token.low not in _WORDS["not_past"]
    if past or regular:
        return at + 1, Tense.PAST
    if token.low in _WORDS["present_forms"]:
        return at + 1, Tense.PRESENT
    gerund = token.low.endswith("ing") and len(token.low) > 4 and token.low not in _WORDS["no_gerund"]
    return at + gerund, None


def _without_participles(text: str, groups: list[VerbGroup]) -> list[VerbGroup]:
    """A bare past form before the finite verb is a participle: "The cars sold in 2040 will be …"."""
    result = list(groups)
    for i, group in enumerate(groups):
        if group.tense is not Tense.PAST or " " in text[group.start : group.end]:
            continue
        for later in groups[i + 1 :]:
            if _NEW_CLAUSE.search(text[group.end : later.start]):
                break
            if later.finite:
                result[i] = group._replace(tense=Tense.NONE, finite=False)
                break
    return result


def clause_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Start and end of the clause that contains `text[start:end]`."""
    left, right = 0, len(text)
    for match in CLAUSE_EDGE.finditer(text):
        if match.start() < start and match.end() <= start:
            left = match.end()
        elif match.start() >= end:
            right = match.start()
            break
    return left, right


def governing(text: str, groups: Iterable[VerbGroup], start: int, end: int) -> VerbGroup | None:
    """The verb group governing `text[start:end]`: the nearest before it in its clause, else after it."""
    left, right = clause_around(text, start, end)
    inside = [group for group in groups if left <= group.start and group.end <= right]
    before = [group for group in inside if group.end <= start]
    return before[-1] if before else next((group for group in inside if group.start >= end and group.finite), None)


_Period = tuple[datetime | None, datetime | None]  # first and last day; None if there is no such day


class _UnresolvedTime(NamedTuple):
    """A time expression, the year written in it, and the function that gives its period."""

    start: int
    end: int
    year: int
    resolve: Callable[[datetime, Tense], _Period]


_WEEKDAY = "|".join(name for name in WEEKDAYS if name.endswith("day"))
_MONTH = "|".join(name for name in MONTHS if name.isascii() and (len(name) > 3 or name == "may"))
_NUMERAL = "|".join(sorted(NUMBER_WORDS))
_DAYS = {"day before yesterday": -2, "yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1, "day after tomorrow": 2}
_RELATIVE = re.compile(
    rf"\b(?:the )?(?P<fixed>{'|'.join(_DAYS)})\b"
    rf"|(?<!\bthe )(?<!\bvery )(?<!['’]s )\b(?P<which>last|this|next)\s+"
    rf"(?P<of>week|month|quarter|year|decade|century|{_WEEKDAY}|{_MONTH})\b(?!\s+of\b)"
    rf"|\b(?P<count>\d{{1,4}}|an?|(?:{_NUMERAL})(?:[- ](?:{_NUMERAL}))?)\s+(?P<unit>day|week|month|year|decade)s?"
    r"\s+(?:(?P<ago>ago)|from\s+now)\b",
    re.IGNORECASE,
)
_BARE_DAY = re.compile(rf"\b(?:{_WEEKDAY})\b", re.IGNORECASE)
_QUARTER = re.compile(
    r"\b(?:Q(?P<q>[1-4])|H(?P<h>[12])|(?P<nth>first|second|third|fourth|last|1st|2nd|3rd|4th)\s+(?P<part>quarter|half))"
    r"(?:\s+of|,)?\s+(?P<year>1\d{3}|20\d\d|21\d\d)\b",
    re.IGNORECASE,
)
_NTH = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": 4}
_ERA = re.compile(r"\s?(?:BC|BCE|B\.C|AH|CE\b)", re.IGNORECASE)
_HINT = re.compile(
    rf"\d|ago\b|day\b|\b(?:last|this|next|tonight|tomorrow|from now|century|{_MONTH})\b|[א-ת]", re.IGNORECASE
)
_MAX_CHARS = 2000
"""Longer "sentences" are lists, code or noise."""


def times(text: str, offset: int, now: datetime) -> list[TimeExpression]:
    """The time expressions of a sentence at `offset` of the response, in order, without overlaps."""
    if len(text) > _MAX_CHARS or not _HINT.search(text):
        return []
    chosen: list[_UnresolvedTime] = []
    for item in _candidates(text):  # the most specific forms come first
        if all(item.end <= other.start or other.end <= item.start for other in chosen):
            chosen.append(item)
    groups = verb_groups(text) if chosen else []
    return [_resolved(text, offset, item, groups, now) for item in sorted(chosen, key=lambda item: item.start)]


def _candidates(text: str) -> Iterator[_UnresolvedTime]:
    for match in _QUARTER.finditer(text):
        yield _UnresolvedTime(*match.span(), int(match["year"]), partial(_quarter, match))
    for match in _RELATIVE.finditer(text):
        yield _UnresolvedTime(*match.span(), 0, partial(_relative, match))
    for date in dates(text):
        if not _ERA.match(text, date.end):
            yield _UnresolvedTime(date.start, date.end, date.year, partial(_explicit, date))
    for match in _FAR_YEAR.finditer(text):
        far = PartialDate(int(match["year"]), 0, 0, *match.span("year"))
        yield _UnresolvedTime(far.start, far.end, far.year, partial(_explicit, far))
    for match in _BARE_DAY.finditer(text):
        yield _UnresolvedTime(*match.span(), 0, partial(_weekday, WEEKDAYS[match[0].lower()]))


def _resolved(
    text: str, offset: int, item: _UnresolvedTime, groups: Sequence[VerbGroup], now: datetime
) -> TimeExpression:
    group = governing(text, groups, item.start, item.end)
    tense = group.tense if group else Tense.NONE
    first, last = item.resolve(now, tense)
    year = (first.year if first else item.year) if item.year else None
    place = offset + item.start, offset + item.end
    relation = _relation(text, item, group.verb if group else "")
    return TimeExpression(text[item.start : item.end], *place, first, last, year, tense, relation)


def _quarter(match: re.Match[str], now: datetime, _: Tense) -> _Period:
    half = bool(match["h"]) or (match["part"] or "").lower() == "half"
    number = int(match["q"] or match["h"] or _NTH[match["nth"].lower()])
    months = 6 if half else 3
    return _months(int(match["year"]) * 12 + (min(number, 12 // months) - 1) * months, months, now)


def _relative(match: re.Match[str], now: datetime, _: Tense) -> _Period:
    if match["fixed"]:
        return _shifted("day", _DAYS[match["fixed"].lower()], now)
    if match["which"]:
        step, unit = {"last": -1, "this": 0, "next": 1}[match["which"].lower()], match["of"].lower()
        if unit in WEEKDAYS:
            return _nearest_weekday(WEEKDAYS[unit], step, now)
        if unit in MONTHS:
            passed = (now.month > MONTHS[unit]) - (now.month < MONTHS[unit])  # 1: it was earlier this year
            other_year = step if step == 0 or passed != -step else 0
            return _months((now.year + other_year) * 12 + MONTHS[unit] - 1, 1, now)
        return _shifted(unit, step, now)
    count = 1 if match["count"].lower() in ("a", "an") else int(numbers(match["count"])[0].value)
    unit = match["unit"].lower()
    count, unit = (10 * count, "year") if unit == "decade" else (count, unit)
    return _shifted(unit, -count if match["ago"] else count, now)


def _weekday(number: int, now: datetime, tense: Tense) -> _Period:
    """A bare weekday is the previous or next one according to the tense, else that of this week."""
    return _nearest_weekday(number, {Tense.PAST: -1, Tense.FUTURE: 1}.get(tense, 0), now)


def _nearest_weekday(number: int, direction: int, now: datetime) -> _Period:
    days = number - now.isoweekday()
    return _shifted("day", days if not direction else direction * (direction * days % 7 or 7), now)


_MONTHS_PER = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}


def _shifted(unit: str, steps: int, now: datetime) -> _Period:
    """The day, week, month, … that is `steps` of them after the current one."""
    if unit in _MONTHS_PER:
        size = _MONTHS_PER[unit]
        return _months(((now.year * 12 + now.month - 1) // size + steps) * size, size, now)
    try:
        day = datetime(now.year, now.month, now.day, tzinfo=now.tzinfo)
        day += timedelta(weeks=steps) if unit == "week" else timedelta(days=steps)
        first = day - timedelta(days=day.weekday()) if unit == "week" else day
        return first, first + timedelta(days=6 if unit == "week" else 0)
    except OverflowError:
        return None, None


def _explicit(date: PartialDate, now: datetime, tense: Tense) -> _Period:
    year = date.year or _year_of(date, now, tense)
    if date.end - date.start <= 8 and year > now.year + 10 and date.day:
        year -= 100  # a two-digit year is in the past
    if not date.month:
        return _months(year * 12, 12 * date.years, now)
    if not date.day:
        return _months(year * 12 + date.month - 1, 1, now)
    day = _day(year, date.month, date.day, now)
    return day, day


def _year_of(date: PartialDate, now: datetime, tense: Tense) -> int:
    """The year of a date without one: this year, or the nearest year that fits the tense."""
    today, then = (now.month, now.day), (date.month, date.day)
    if tense is Tense.PAST and then > today:
        return now.year - 1
    return now.year + 1 if tense is Tense.FUTURE and then < today else now.year


def _months(first: int, count: int, now: datetime) -> _Period:
    """The period of `count` months from the month `first` on, counted from the year 0."""
    year, month = divmod(first + count - 1, 12)
    days = monthrange(year, month + 1)[1] if 1 <= year <= 9999 else 28
    return _day(first // 12, first % 12 + 1, 1, now), _day(year, month + 1, days, now)


def _day(year: int, month: int, day: int, now: datetime) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=now.tzinfo)
    except ValueError:
        return None


_PART = r"\s+(?:early |late |mid-?)?$"
_CUES = tuple(
    (relation, re.compile(pattern, re.IGNORECASE))
    for relation, pattern in (
        (TimeRelation.BEFORE, r"\b(?:before|prior to|ahead of)\s+(?:the\s+)?$"),
        (TimeRelation.AFTER, r"\b(?:after|following|as of)\s+(?:the\s+)?$"),
        (TimeRelation.START, r"\b(?:from|between|since|(?:starting|beginning)(?: in| on)?)" + _PART),
        (TimeRelation.END, r"\b(?:until|till|through|up to|ending(?: in| on)?)" + _PART),
    )
)
_RANGE_START = re.compile(r"\s?[–—-]\s?(?:1\d{3}|20\d\d|21\d\d)\b")


def _relation(text: str, item: _UnresolvedTime, verb: str) -> TimeRelation | None:
    """The relation given by the preposition before it, or else by a governing verb of beginning or ending."""
    before = text[max(0, item.start - 60) : item.start]
    for relation, pattern in _CUES:
        if pattern.search(before):
            return relation
    if _RANGE_END.search(before):
        return TimeRelation.END
    if item.year and _RANGE_START.match(text, item.end):
        return TimeRelation.START
    return TimeRelation.START if verb in _WORDS["starts"] else TimeRelation.END if verb in _WORDS["ends"] else None
