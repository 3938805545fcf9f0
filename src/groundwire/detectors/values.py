"""Compare a known value with the words of a response, and compute the correction.

Handles numbers with units, dates of different precision, weekdays, clock times, addresses, names with
aliases, and text. Values of different kinds cannot be compared: the result is OPEN, neither same nor
different.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from groundwire.detectors.context import KBSnapshot
from groundwire.openie.lexicon import UNIT_NOUNS
from groundwire.openie.parser import bare
from groundwire.openie.tense import times
from groundwire.text.dates import MONTH_NAMES, WEEKDAY_NAMES, PartialDate, dates, weekdays
from groundwire.text.dates import compare as compare_dates
from groundwire.text.lexicon import expressions, forms, word_table
from groundwire.text.names import COUNTRIES, fold, is_place, same_name
from groundwire.text.numbers import CURRENCY_SIGNS, UNITS, Number, numbers
from groundwire.text.numbers import compare as compare_numbers
from groundwire.text.tokens import content_words
from groundwire.types import Value, ValueKind


class Comparison(StrEnum):
    SAME = "same"
    DIFFERENT = "different"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Replacement:
    """`said[start:end]` should be replaced by `text`."""

    start: int
    end: int
    text: str


_TABLES = word_table("detect_kb")["tables"]
_ACRONYMS = forms(_TABLES["acronyms"])
_SYNONYMS = tuple(map(content_words, _TABLES["synonyms"]))
(_ADDRESS,) = expressions("detect_kb", "address")
_DIGITS = re.compile(r"\d[\d.,]*(?<=\d)")


def compare(value: Value, stated: str, known: KBSnapshot, now: datetime) -> Comparison:
    """Compare the words with the known value."""
    if fold(value.text) == fold(bare(stated)):
        return Comparison.SAME
    for judge in (_addresses, _days, _clocks, _amounts):
        verdict = judge(value, stated, now)
        if verdict is not None:
            return verdict
    if value.kind in (ValueKind.NUMBER, ValueKind.DATE):
        return Comparison.OPEN
    return _names(value, stated, known)


def _addresses(value: Value, stated: str, _: datetime) -> Comparison | None:
    """E-mail, web and telephone: exact comparison, ignoring spaces and punctuation."""
    ours, theirs = _ADDRESS.search(value.text), _ADDRESS.search(stated)
    if not ours or not theirs or dates(stated) or ("@" in ours[0]) != ("@" in theirs[0]):
        return None
    return _same(_plain(ours[0]) == _plain(theirs[0]))


def _same(same: bool) -> Comparison:
    return Comparison.SAME if same else Comparison.DIFFERENT


def _plain(address: str) -> str:
    return re.sub(r"[\s()./-]", "", address.casefold())


def _days(value: Value, stated: str, now: datetime) -> Comparison | None:
    """Compare dates on the parts both state, weekdays with dates, and relative dates ("tomorrow")."""
    ours = _known_date(value)
    our_weekday = _weekday_of(value, ours)
    theirs = dates(stated)
    if ours and theirs:
        return _of([compare_dates(theirs[0], ours)])
    spoken = weekdays(stated)
    if spoken and our_weekday and not theirs:
        return _same(spoken[0][0] == our_weekday)
    if theirs and theirs[0].day and our_weekday:
        day = _as_day(theirs[0], now)
        return None if day is None else _same(day.isoweekday() == our_weekday)
    return _relative(ours, our_weekday, stated, now)


def _relative(ours: PartialDate | None, our_weekday: int, stated: str, now: datetime) -> Comparison | None:
    if ours is None and not our_weekday:
        return None
    found = next((t for t in times(stated, 0, now) if t.first and t.last), None)
    if found is None or found.first is None or found.last is None:
        return None
    if ours is not None and ours.year:
        low = date(ours.year, ours.month or 1, ours.day or 1)
        high = date(ours.year, ours.month or 12, ours.day or 28)
        return _same(found.first.date() <= high and low <= found.last.date())
    one_day = found.first.date() == found.last.date()
    return _same(found.first.isoweekday() == our_weekday) if our_weekday and one_day else None


def _known_date(value: Value) -> PartialDate | None:
    """The date as precise as written: "1847" is a year, not 1 January 1847."""
    if value.kind is ValueKind.NUMBER and (value.number is None or value.unit or not _is_year(value.number)):
        return None
    written = dates(value.text)
    if written:
        return written[0]
    if re.fullmatch(r"\d{4}", value.text.strip()) and _is_year(float(value.text)):
        return PartialDate(int(value.text), 0, 0, 0, 4)
    if value.day:
        return PartialDate(value.day.year, value.day.month, value.day.day, 0, 0)
    return None


def _is_year(number: float) -> bool:
    return number == int(number) and 1000 <= number <= 2100


def _weekday_of(value: Value, ours: PartialDate | None) -> int:
    spoken = weekdays(value.text)
    if spoken:
        return spoken[0][0]
    if ours and ours.year and ours.month and ours.day:
        return date(ours.year, ours.month, ours.day).isoweekday()
    return 0


def _as_day(partial: PartialDate, now: datetime) -> date | None:
    try:
        return date(partial.year or now.year, partial.month, partial.day)
    except ValueError:
        return None


def _of(relations: Sequence[str]) -> Comparison:
    if any(relation in ("same", "compatible") for relation in relations):
        return Comparison.SAME
    return Comparison.DIFFERENT if "conflict" in relations else Comparison.OPEN


def _clock(text: str) -> Number | None:
    return next((number for number in numbers(text) if number.unit == "clock"), None)


def _clocks(value: Value, stated: str, _: datetime) -> Comparison | None:
    ours, theirs = _clock(value.text), _clock(stated)
    if ours is None or theirs is None:
        return None
    # "3:00" without am/pm also matches 15:00 (720 minutes later).
    half = re.search(r"[ap]\.?m|1[3-9]:|2\d:", stated, re.IGNORECASE) is None
    return _same(abs(ours.value - theirs.value) in ((0, 720) if half else (0,)))


def _amounts(value: Value, stated: str, _: datetime) -> Comparison | None:
    """Compare numbers of the same unit; if one side has no unit, compare the figures."""
    ours, theirs = _known_number(value), numbers(stated)
    if ours is None or not theirs:
        return None
    same_unit = [n if n.unit and ours.unit else n._replace(unit=ours.unit) for n in theirs]
    return _of([compare_numbers(number, ours) for number in same_unit])


def _known_number(value: Value) -> Number | None:
    if value.kind is ValueKind.NUMBER and value.number is not None:
        unit = UNITS.get(value.unit) or UNITS.get(value.unit.lower())
        scaled = value.number * unit.scale + unit.offset if unit else value.number
        written = numbers(value.text)
        step = written[0].step if written else 1.0
        return Number(scaled, unit.base if unit else "", 0, 0, step=step)
    if value.kind is ValueKind.TEXT and re.match(r"\W*\d", value.text):
        found = numbers(value.text)
        return found[0] if len(found) == 1 else None
    return None


def _names(value: Value, stated: str, known: KBSnapshot) -> Comparison:
    """Compare names and text by entity, alias, partial name, abbreviation and synonym."""
    spoken = strip_unit_noun(stated)
    if not spoken:
        return Comparison.OPEN
    match = known.match(bare(stated)) or known.match(spoken)
    entity = known.entities.get(value.entity)
    if match and value.entity and match.entity.id == value.entity:
        return Comparison.SAME
    ours = [value.text, *((entity.name, *entity.aliases) if entity else ())]
    if any(_alike(strip_unit_noun(name), spoken) for name in ours):
        return Comparison.SAME
    if match and any(_alike(strip_unit_noun(name), strip_unit_noun(match.entity.name)) for name in ours):
        return Comparison.SAME
    return Comparison.OPEN if _incomparable(value.text, spoken) else Comparison.DIFFERENT


def strip_unit_noun(name: str) -> str:
    """Remove the article and trailing nouns such as "team" or "department"."""
    plain = bare(name).strip(" .,;:'\"*_`~")
    parts = plain.split()
    while len(parts) > 1 and parts[-1].lower() in UNIT_NOUNS:
        parts = parts[:-1]
    return " ".join(parts).strip("*_`~")


def _alike(ours: str, spoken: str) -> bool:
    left, right = _expanded(ours), _expanded(spoken)
    if left == right or (len(left) > 2 and same_name(ours, spoken)):
        return True
    a, b = content_words(left), content_words(right)
    if a and b and (a <= b or b <= a):
        return True
    return any(a & group and b & group for group in _SYNONYMS) and len(a | b) <= 3


def _expanded(name: str) -> str:
    folded = fold(name)
    return _ACRONYMS.get(folded.replace(".", ""), folded)


def _incomparable(ours: str, spoken: str) -> bool:
    """A country and one of its cities do not conflict, and long phrases cannot be compared with a value."""
    if (ours.casefold() in COUNTRIES) != (spoken.casefold() in COUNTRIES) and is_place(spoken):
        return True
    return len(spoken.split()) > 6 or len(ours.split()) > 8


def replacement(value: Value, stated: str, known: KBSnapshot) -> Replacement | None:
    """Which words to replace, and by what, to correct the sentence; None if it cannot be done in place."""
    for repair in (_fix_day, _fix_clock, _fix_amount):
        found = repair(value, stated)
        if found is not None:
            return found
    entity = known.entities.get(value.entity)
    text = value.text or (entity.name if entity else "")
    if not text or not stated:
        return None
    start = len(stated) - len(bare(stated)) if stated.endswith(bare(stated)) else 0
    replaced = strip_unit_noun(stated) if strip_unit_noun(text) == bare(text) else bare(stated)
    at = stated.find(replaced, start)
    if at < 0 or not replaced:
        return None
    new = bare(text) if start else text
    if stated.lower().startswith(("a ", "an ")):  # the article must agree with the new word
        return Replacement(0, at + len(replaced), f"{'an' if new[:1].lower() in 'aeiou' else 'a'} {new}")
    return Replacement(at, at + len(replaced), new)


def _fix_day(value: Value, stated: str) -> Replacement | None:
    ours = _known_date(value)
    written = dates(stated)
    if ours and written:
        spoken = written[0]
        return Replacement(
            spoken.start, spoken.end, _dated(ours, spoken, stated[spoken.start : spoken.end], value.text)
        )
    named = weekdays(stated)
    weekday = _weekday_of(value, ours)
    if named and weekday:
        return Replacement(named[0][1], named[0][2], WEEKDAY_NAMES[weekday])
    if weekday or ours:
        return Replacement(0, len(stated), value.text)
    return None


def _dated(ours: PartialDate, spoken: PartialDate, written: str, text: str) -> str:
    """Format the known date with the precision and, if it is a common one, in the form used by the
    response.
    """
    if not spoken.month or not ours.month:
        return str(ours.year) if ours.year else text
    month = MONTH_NAMES[ours.month]
    if re.fullmatch(r"\d{4}-\d\d-\d\d", written) and ours.day:
        return f"{ours.year:04}-{ours.month:02}-{ours.day:02}"
    year = f" {ours.year}" if spoken.year and ours.year else ""
    if not spoken.day or not ours.day:
        return f"{month}{year}"
    if written[:1].isalpha():
        return f"{month} {ours.day}" + (f",{year}" if year else "")
    return f"{ours.day} {month}{year}" if written[:1].isdigit() and re.search(r"[A-Za-z]{3}", written) else text


def _fix_clock(value: Value, stated: str) -> Replacement | None:
    spoken, ours = _clock(stated), _clock(value.text)
    return (
        None
        if spoken is None or ours is None
        else Replacement(spoken.start, spoken.end, value.text[ours.start : ours.end])
    )


def _fix_amount(value: Value, stated: str) -> Replacement | None:
    """Replace the figure and keep the notation: "$49" becomes "$59", "5 kg" becomes "6 kg"."""
    ours, spoken = _known_number(value), numbers(stated)
    if ours is None or not spoken:
        return None
    first = spoken[0]
    sign = stated[first.start : first.start + 1]
    if sign in CURRENCY_SIGNS and UNITS[sign].base == ours.unit:
        return Replacement(first.start, first.end, f"{sign}{ours.value:,.2f}".removesuffix(".00"))
    digits = _DIGITS.match(stated, first.start, first.end)
    if digits and value.unit and value.number is not None:
        unit = stated[digits.end() : first.end].strip()
        if unit in UNITS and UNITS[unit] == UNITS.get(value.unit):  # the word for the unit stays as it was
            return Replacement(first.start, digits.end(), f"{value.number:,.10g}")
    lacks_unit = bool(first.unit and value.unit) and value.unit not in value.text
    return Replacement(first.start, first.end, f"{value.text} {value.unit}" if lacks_unit else value.text)
