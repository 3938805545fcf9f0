"""Verb groups with their tenses, and time expressions resolved against "now". English.

Verb groups: auxiliaries with their verbs ("was launched", "will launch", "has been"), regular and common
irregular past forms, and non-finite forms without a tense. Not covered: forms that look like nouns ("costs",
"plans") and inverted word order.

Times: explicit dates, years and quarters by rules; relative expressions ("last year", "three weeks ago",
"next Tuesday") with dateparser, which is imported when the first one is found. Clock times are ignored.

>>> from datetime import datetime
>>> [(t.text, t.first.year, t.tense.value) for t in times("It was sold last year.", 0, datetime(2026, 5, 1))]
[('last year', 2025, 'past')]
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from groundwire.text.dates import MONTHS, WEEKDAYS, PartialDate, dates
from groundwire.text.lexicon import expressions, word_set, word_table
from groundwire.types import Tense, TimeExpression, TimeRelation


class VerbGroup(NamedTuple):
    """`verb` is the last word of the group in lower case: the main verb."""

    start: int
    end: int
    tense: Tense
    verb: str
    passive: bool = False
    finite: bool = True


_ADVERB = (
    r"(?:not|n['’]t|also|already|just|now|still|then|later|only|first|finally|never|always|even|soon"
    r"|(?!only)\w+ly)"
)
_SKIP = rf"(?:\s+{_ADVERB}){{0,3}}"
_PARTICIPLE = (
    r"(?:\w+ed|born|built|bought|brought|begun|broken|chosen|done|drawn|driven|fallen|felt|found|given|gone|"
    r"grown|had|held|hit|kept|known|laid|led|left|lost|made|met|opened|paid|put|read|run|said|seen|sent|set|"
    r"shown|shut|sold|spent|split|stood|taken|taught|told|thought|won|written|become|come|risen|cut|been)"
)
_WORDS = word_table("openie")["tenses"]
_PAST_FORMS = word_set(_WORDS["past_forms"])
_PRESENT_FORMS = word_set(_WORDS["present_forms"])
_NOT_PAST = word_set(_WORDS["not_past"])
_BE_PAST, _BE = r"(?:was|were|wasn['’]t|weren['’]t)", r"(?:is|are|am|isn['’]t|aren['’]t)"
_SHORT_BE = r"(?<=\w)['’](?:re|m)\b"
_SET_TO = r"(?:going|set|due|scheduled|slated|expected|planned|projected|likely|about|poised|bound|forecast) to"
_MODAL = r"(?:would|could|might|may|should|must|can|cannot|can['’]t|couldn['’]t|wouldn['’]t|shouldn['’]t)"
_BEING = rf"(?:\s+have)?(?:\s+be(?:en)?)?{_SKIP}(?:\s+\w+)?"
_DOING = rf"\s+(?:{_PARTICIPLE}|\w+ing)\b"
_FORMS: tuple[tuple[str, Tense], ...] = (
    (rf"(?:\b(?:will|shall|won['’]t)\b|(?<=\w)['’]ll\b){_SKIP}{_BEING}", Tense.FUTURE),
    (rf"(?:\b{_BE}\b|{_SHORT_BE}){_SKIP}\s+{_SET_TO}(?:\s+be)?(?:\s+\w+)?", Tense.FUTURE),
    (rf"(?<!\bin )(?<!\bof )\b{_MODAL}\b(?!\s\d){_SKIP}{_BEING}", Tense.NONE),
    (rf"\b{_BE_PAST}\b{_SKIP}(?:\s+being)?{_SKIP}(?:{_DOING})?", Tense.PAST),
    (rf"(?:\b(?:has|have|hasn['’]t|haven['’]t)|(?<=\w)['’]ve)\b{_SKIP}(?:\s+been)?{_SKIP}{_DOING}", Tense.PAST),
    (rf"\b(?:had|hadn['’]t)\b{_SKIP}(?:\s+been)?{_SKIP}(?:{_DOING})?", Tense.PAST),
    (rf"\b(?:did|didn['’]t)\b{_SKIP}(?:\s+\w+)?", Tense.PAST),
    (rf"(?:\b{_BE}\b|{_SHORT_BE}){_SKIP}(?:\s+being)?{_SKIP}(?:{_DOING})?", Tense.PRESENT),
    (rf"\b(?:has|have|do|does|don['’]t|doesn['’]t|hasn['’]t|haven['’]t)\b{_SKIP}", Tense.PRESENT),
)
_AUXILIARY = tuple((re.compile(pattern, re.IGNORECASE), tense) for pattern, tense in _FORMS)
_INFINITIVE, _NOUN_BEFORE, _NEW_CLAUSE, CLAUSE_EDGE, _FAR_YEAR = expressions(
    "openie", "infinitive noun_before new_clause clause_edge far_year"
)
(_RANGE_END,) = expressions("openie", "range_end")
_GERUND = re.compile(r"\b[a-z]{2,}ing\b")
_SINGLE = re.compile(r"\b[a-z]+(?:ed|s)\b|\b(?:" + "|".join(sorted(_PAST_FORMS)) + r")\b")
_NO_GERUND = word_set(_WORDS["no_gerund"])
_BE_ONLY = word_set("is are am was were be been being re m not")


def verb_groups(text: str) -> list[VerbGroup]:
    """All verb groups in order, without overlaps.

    >>> [(g.verb, g.tense.value) for g in verb_groups("It was launched, has been sold and will close.")]
    [('launched', 'past'), ('sold', 'past'), ('close', 'future')]
    """
    taken = bytearray(len(text))
    found: list[VerbGroup] = []
    for pattern, tense in _AUXILIARY:
        for match in pattern.finditer(text):
            _take(found, taken, _group(match, tense))
    for match in _INFINITIVE.finditer(text):
        verb = match[0].split()[-1]
        _take(found, taken, VerbGroup(match.start(), match.end(), Tense.NONE, verb, finite=False))
    for match in _GERUND.finditer(text):
        if match[0] not in _NO_GERUND and not _is_noun(text, match.start()):
            _take(found, taken, VerbGroup(match.start(), match.end(), Tense.NONE, match[0], finite=False))
    for match in _SINGLE.finditer(text):
        if (single := _single(text, match)) is not None:
            _take(found, taken, VerbGroup(match.start(), match.end(), single, match[0]))
    return _without_participles(text, sorted(found))


def _is_noun(text: str, start: int) -> bool:
    """True if an article or similar word precedes it."""
    return bool(_NOUN_BEFORE.search(text[max(0, start - 12) : start]))


def _take(found: list[VerbGroup], taken: bytearray, group: VerbGroup) -> None:
    if not any(taken[group.start : group.end]):
        taken[group.start : group.end] = b"\1" * (group.end - group.start)
        found.append(group)


def _group(match: re.Match[str], tense: Tense) -> VerbGroup:
    words = re.findall(r"[a-z]+", match[0].lower())
    verb = words[-1] if words else ""
    be = any(word in _BE_ONLY for word in words[:-1])
    passive = be and not verb.endswith("ing") and verb not in _BE_ONLY
    end = match.start() + len(match[0].rstrip())
    return VerbGroup(match.start(), end, tense, verb, passive)


def _single(text: str, match: re.Match[str]) -> Tense | None:
    word = match[0]
    regular = word.endswith("ed") and len(word) > 4 and word not in _NOT_PAST
    past = Tense.PAST if regular or word in _PAST_FORMS else None
    tense = Tense.PRESENT if word in _PRESENT_FORMS else past
    return None if tense is None or _is_noun(text, match.start()) else tense


def _without_participles(text: str, groups: list[VerbGroup]) -> list[VerbGroup]:
    """A bare past form before the finite verb is a participle: "The cars sold in 2040 will be …"."""
    result = list(groups)
    for i, group in enumerate(groups):
        if group.tense is not Tense.PAST or " " in text[group.start : group.end]:
            continue
        for later in groups[i + 1 :]:
            between = text[group.end : later.start]
            if _NEW_CLAUSE.search(between):
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


def governing(text: str, groups: list[VerbGroup], start: int, end: int) -> VerbGroup | None:
    """The verb group governing `text[start:end]`: the nearest before it in its clause, else after it."""
    left, right = clause_around(text, start, end)
    inside = [group for group in groups if left <= group.start and group.end <= right]
    before = [group for group in inside if group.end <= start]
    after = [group for group in inside if group.start >= end]
    return before[-1] if before else next((group for group in after if group.finite), None)


class _RawTime(NamedTuple):
    """An unresolved time expression with its `unit` and the phrase to pass to dateparser."""

    start: int
    end: int
    unit: str
    phrase: str = ""
    date: PartialDate | None = None
    months: tuple[int, int, int] | None = None


_WEEKDAY = "|".join(name for name in WEEKDAYS if name.endswith("day"))
_MONTH = "|".join(name for name in MONTHS if name.isascii() and (len(name) > 3 or name == "may"))
_COUNT = (
    r"(?:\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
    r"sixteen|seventeen|eighteen|nineteen|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)"
    r"(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?)"
)
_UNIT = r"(?P<unit>day|week|month|year|decade)s?"
_RELATIVE = re.compile(
    r"\b(?P<fixed>(?:the )?day (?:before yesterday|after tomorrow)|yesterday|today|tonight|tomorrow)\b"
    rf"|(?<!\bthe )(?<!\bvery )(?<!['’]s )\b(?P<which>last|this|next)\s+"
    rf"(?P<of>week|month|quarter|year|decade|century|{_WEEKDAY}|{_MONTH})\b(?!\s+of\b)"
    rf"|\b(?P<ago>{_COUNT})\s+{_UNIT}\s+ago\b"
    rf"|\b(?P<ahead>{_COUNT})\s+{_UNIT.replace('unit', 'unit2')}\s+from\s+now\b",
    re.IGNORECASE,
)
_BARE_DAY = re.compile(rf"\b(?P<day>{_WEEKDAY})\b", re.IGNORECASE)
_YEAR4 = r"(?P<year>1\d{3}|20\d\d|21\d\d)"
_QUARTER = re.compile(
    rf"\b(?:Q(?P<q>[1-4])|H(?P<h>[12])|(?P<nth>first|second|third|fourth|last|1st|2nd|3rd|4th)\s+(?P<part>quarter|half))"
    rf"(?:\s+of|,)?\s+{_YEAR4}\b",
    re.IGNORECASE,
)
_ERA = re.compile(r"\s?(?:BC|BCE|B\.C|AH|CE\b)", re.IGNORECASE)
_NTH = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": 4}
_HINT = re.compile(
    rf"\d|ago\b|day\b|\b(?:last|this|next|tonight|tomorrow|from now|century|{_MONTH})\b|[א-ת]", re.IGNORECASE
)
_STARTS = word_set("started start starts began begin begins opened founded launched established born created")
_ENDS = word_set("ended end ends closed finished completed concluded died dissolved discontinued stopped")


_MAX_CHARS = 2000
"""Longer "sentences" are lists, code or noise."""


def times(text: str, offset: int, now: datetime) -> list[TimeExpression]:
    """The time expressions of a sentence at `offset` of the response, in order, without overlaps."""
    if len(text) > _MAX_CHARS or not _HINT.search(text):
        return []
    found = _without_overlaps(_find(text))
    groups = verb_groups(text) if found else []
    result = []
    for item in found:
        group = governing(text, groups, item.start, item.end)
        tense = group.tense if group else Tense.NONE
        first, last = _resolve(item, now, tense)
        result.append(
            TimeExpression(
                text[item.start : item.end], offset + item.start, offset + item.end, first, last,
                _written_year(item, first), tense, _relation(text, item, group),
            )
        )  # fmt: skip
    return result


def _written_year(item: _RawTime, first: datetime | None) -> int | None:
    if not item.date or not item.date.year:
        return None
    return first.year if first else item.date.year


def _find(text: str) -> Iterator[_RawTime]:
    """Candidates, the most specific forms first."""
    for match in _QUARTER.finditer(text):
        yield _quarter(match)
    for match in _RELATIVE.finditer(text):
        yield _relative(match)
    for date in dates(text):
        if not _ERA.match(text, date.end):
            yield _RawTime(date.start, date.end, "date", date=date)
    for match in _FAR_YEAR.finditer(text):
        year = PartialDate(int(match["year"]), 0, 0, match.start("year"), match.end("year"))
        yield _RawTime(year.start, year.end, "date", date=year)
    for match in _BARE_DAY.finditer(text):
        yield _RawTime(match.start(), match.end(), "day", match["day"])


def _without_overlaps(found: Iterator[_RawTime]) -> list[_RawTime]:
    chosen: list[_RawTime] = []
    for item in found:
        if all(item.end <= other.start or other.end <= item.start for other in chosen):
            chosen.append(item)
    return sorted(chosen)


def _quarter(match: re.Match[str]) -> _RawTime:
    half = bool(match["h"]) or (match["part"] or "").lower() == "half"
    number = int(match["q"] or match["h"] or _NTH[(match["nth"] or "").lower()])
    number = min(number, 2) if half else number
    months = 6 if half else 3
    year = int(match["year"])
    date = PartialDate(year, 0, 0, match.start(), match.end())
    first = (number - 1) * months + 1
    return _RawTime(match.start(), match.end(), "months", date=date, months=(year, first, first + months - 1))


def _relative(match: re.Match[str]) -> _RawTime:
    phrase = match[0].lower().removeprefix("the ")
    if match["fixed"]:
        return _RawTime(match.start(), match.end(), "day", {"tonight": "today"}.get(phrase, phrase))
    unit = (match["of"] or match["unit"] or match["unit2"]).lower()
    if unit in WEEKDAYS:
        unit = "day"
    elif unit in MONTHS:
        unit = "month"
    counted = "year" if unit == "decade" and not match["of"] else unit
    return _RawTime(match.start(), match.end(), counted, phrase)


def _resolve(item: _RawTime, now: datetime, tense: Tense) -> tuple[datetime | None, datetime | None]:
    """First and last day, in the time zone of `now`; (None, None) if there is no such day."""
    if item.months:
        return _months(*item.months, now)
    if item.date:
        return _explicit(item.date, now, tense)
    if item.unit in ("quarter", "century") or any(name in item.phrase for name in MONTHS if len(name) > 3):
        return _calendar_period(item, now)
    prefers = "future" if tense is Tense.FUTURE else "past" if tense is Tense.PAST else "current_period"
    point = _parsed(item.phrase, now.replace(tzinfo=None, hour=12, minute=0, second=0, microsecond=0), prefers)
    return _period(point, item.unit, now) if point else (None, None)


@lru_cache(maxsize=4096)
def _parsed(phrase: str, base: datetime, prefers: str) -> datetime | None:
    import dateparser  # takes 250 ms to import, so load it only for texts with relative dates

    settings = {"RELATIVE_BASE": base, "PREFER_DATES_FROM": prefers}
    try:
        point: datetime | None = dateparser.parse(phrase, languages=["en"], settings=settings)
    except (ValueError, OverflowError):
        return None
    return point


def _period(point: datetime, unit: str, now: datetime) -> tuple[datetime | None, datetime | None]:
    """The day, week, month, year or decade that contains the point."""
    year, month = point.year, point.month
    if unit == "week":
        monday = point - timedelta(days=point.weekday())
        return _on(monday, now), _on(monday + timedelta(days=6), now)
    if unit == "month":
        return _months(year, month, month, now)
    if unit in ("year", "decade"):
        first = year if unit == "year" else year - year % 10
        return _years(first, first + (unit == "decade") * 9, now)
    return _on(point, now), _on(point, now)


def _calendar_period(item: _RawTime, now: datetime) -> tuple[datetime | None, datetime | None]:
    """Expressions that dateparser does not handle: last quarter, next century, last March."""
    step = {"last": -1, "this": 0, "next": 1}[item.phrase.split()[0]]
    if item.unit == "century":
        year = (now.year // 100 + step) * 100
        return _years(year, year + 99, now)
    if item.unit == "quarter":
        index = now.year * 4 + (now.month - 1) // 3 + step
        year, first = index // 4, index % 4 * 3 + 1
        return _months(year, first, first + 2, now)
    month = MONTHS[item.phrase.split()[-1]]
    past, future = month < now.month, month > now.month
    year = now.year + (step if step == 0 or (step < 0 and not past) or (step > 0 and not future) else 0)
    return _months(year, month, month, now)


def _explicit(date: PartialDate, now: datetime, tense: Tense) -> tuple[datetime | None, datetime | None]:
    year = date.year or _year_of(date, now, tense)
    if date.end - date.start <= 8 and year > now.year + 10 and date.day:
        year -= 100  # a two-digit year is in the past
    if not date.month:
        return _years(year, year + date.years - 1, now)
    if not date.day:
        return _months(year, date.month, date.month, now)
    day = _day(year, date.month, date.day, now)
    return day, day


def _year_of(date: PartialDate, now: datetime, tense: Tense) -> int:
    """The year of a date without one: this year, or the nearest year that fits the tense."""
    today, then = (now.month, now.day), (date.month, date.day)
    if tense is Tense.PAST and then > today:
        return now.year - 1
    return now.year + 1 if tense is Tense.FUTURE and then < today else now.year


def _years(first: int, last: int, now: datetime) -> tuple[datetime | None, datetime | None]:
    return _day(first, 1, 1, now), _day(last, 12, 31, now)


def _months(year: int, first: int, last: int, now: datetime) -> tuple[datetime | None, datetime | None]:
    days = monthrange(year, last)[1] if 1 <= year <= 9999 else 28
    return _day(year, first, 1, now), _day(year, last, days, now)


def _on(point: datetime, now: datetime) -> datetime | None:
    return _day(point.year, point.month, point.day, now)


def _day(year: int, month: int, day: int, now: datetime) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=now.tzinfo)
    except ValueError:
        return None


_PART = r"\s+(?:early |late |mid-?)?$"
_CUES = (
    (TimeRelation.BEFORE, r"\b(?:before|prior to|ahead of)\s+(?:the\s+)?$"),
    (TimeRelation.AFTER, r"\b(?:after|following|as of)\s+(?:the\s+)?$"),
    (TimeRelation.START, r"\b(?:from|between|since|(?:starting|beginning)(?: in| on)?)" + _PART),
    (TimeRelation.END, r"\b(?:until|till|through|up to|ending(?: in| on)?)" + _PART),
)
_BEFORE_CUES = tuple((relation, re.compile(pattern, re.IGNORECASE)) for relation, pattern in _CUES)
_RANGE_START = re.compile(r"\s?[–—-]\s?(?:1\d{3}|20\d\d|21\d\d)\b")


def _relation(text: str, item: _RawTime, group: VerbGroup | None) -> TimeRelation | None:
    """The relation given by the preposition before it, or else by a governing verb of beginning or ending."""
    before = text[max(0, item.start - 60) : item.start]
    for relation, pattern in _BEFORE_CUES:
        if pattern.search(before):
            return relation
    if _RANGE_END.search(before):
        return TimeRelation.END
    if item.date and _RANGE_START.match(text, item.end):
        return TimeRelation.START
    verb = group.verb if group else ""
    return TimeRelation.START if verb in _STARTS else TimeRelation.END if verb in _ENDS else None
