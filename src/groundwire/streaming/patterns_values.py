"""Patterns of values: statistics from nowhere, numbers too exact, dates and names that no source holds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.streaming.pattern import Hit
from groundwire.streaming.state import PART, Seen
from groundwire.text.names import Name
from groundwire.text.numbers import Number

_UP_TO_NINE = r"\d+|one|two|three|four|five|six|seven|eight|nine"
_SHARE = re.compile(
    r"(?<![\d.])\d+(?:\.\d+)?(?:\s?%|\s(?:percent|per cent|percentage points)\b|\sאחוז)"
    rf"|(?<![\w.])(?:{_UP_TO_NINE}) (?:out of|in) (?:every )?(?:{_UP_TO_NINE}|ten|twenty|hundred)\b"
    r"(?! (?:years|days|hours|minutes))"
    r"|\b(?:\d+(?:\.\d+)?|two|three|four|five|ten)(?:x|[ -]times|[ -]fold) "
    r"(?:more|less|higher|lower|greater|faster|slower|as|likelier)\b",
    re.IGNORECASE,
)
_RATED = re.compile(r"\b(?:rat(?:ed|ing|ings)|stars?|scor(?:e|es|ed))\b", re.IGNORECASE)
_EXACT_DIGITS = 4
_EXACT_PLACES = 2
_VERSION = re.compile(r"(?:\bv(?:ersion)?\.?\s?|\d\.)\Z", re.IGNORECASE)
_COMPUTED = re.compile(
    r"[=×+÷*/]|\b(?:total|sum|average|mean|difference|altogether|combined|equals?|convert)", re.I
)
_MIN_NAME_WORDS = 2
RISING = 3
_MANY = 5


def statistics(seen: Seen) -> Iterator[Hit]:
    """Shares, odds and multiples that no source gives, in a sentence that names no source."""
    strange = seen.strange_numbers
    if not strange or seen.cited or seen.supposed or _RATED.search(seen.text):
        return
    for match in _SHARE.finditer(seen.text):
        inside = [n for n in strange if n.start < match.end() and match.start() < n.end]
        if inside and not (inside[0].unit == "%" and inside[0].value in (0, 100)):
            yield Hit(match.start(), match.end(), f"no source gives {match[0]}", match[0].lower())


def sure_of_statistic(seen: Seen, hit: Hit) -> float:
    exact = "." in seen.text[hit.start : hit.end]
    return 0.6 + 0.1 * exact + 0.1 * seen.known.sourced


def exact_numbers(seen: Seen) -> Iterator[Hit]:
    """Numbers with more digits than anyone would round to, which no source writes."""
    if not seen.strange_numbers or seen.supposed or _COMPUTED.search(seen.text):
        return
    for number in seen.strange_numbers:
        raw = seen.text[number.start : number.end]
        before = seen.text[max(0, number.start - 9) : number.start]
        if _exactness(raw) and raw.count(".") < 2 and number.kind != "time" and not _VERSION.search(before):
            yield Hit(number.start, number.end, f"no source has {raw}", raw)


def _exactness(raw: str) -> int:
    """How many digits more than a rounded number has; 0 for "1,200", "3.5" and "40"."""
    digits = re.sub(r"\D", "", raw)
    places = len((re.search(r"\.(\d+)", raw) or ["", ""])[1])
    whole = len(digits.rstrip("0")) if "." not in raw else len(digits)
    return max(0, whole - _EXACT_DIGITS + 1, places - _EXACT_PLACES + 1 if whole > places else 0)


def sure_of_exactness(seen: Seen, hit: Hit) -> float:
    return min(0.85, 0.55 + 0.1 * _exactness(seen.text[hit.start : hit.end]))


def dates(seen: Seen) -> Iterator[Hit]:
    """Years, months and days that no source holds."""
    for date in seen.strange_dates:
        raw = seen.text[date.start : date.end]
        if not seen.supposed and date.years == 1:
            yield Hit(date.start, date.end, f"no source holds the date {raw}", raw.lower())


def sure_of_date(seen: Seen, hit: Hit) -> float:
    return 0.7 if len(seen.text[hit.start : hit.end]) > len("2020") else 0.6


def names(seen: Seen) -> Iterator[Hit]:
    """Names of two words and more with a word that no source knows."""
    for name in seen.strange_names:
        if sum(bool(PART.match(word)) for word in name.text.split()) >= _MIN_NAME_WORDS:
            yield Hit(name.start, name.end, f"no source names {name.text}", name.text.casefold())


def sure_of_name(seen: Seen, hit: Hit) -> float:
    """Surer the more of its words are new."""
    return 0.4 + 0.3 * seen.newness(Name(seen.text[hit.start : hit.end], hit.start, hit.end))


def rising(seen: Seen) -> Iterator[Hit]:
    """More and more particulars from sentence to sentence, and ever fewer of them in the sources."""
    strange = len(seen.strange_names) + len(seen.strange_dates) + _count(seen.strange_numbers)
    total = len(seen.names) + len(seen.dates) + _count(seen.numbers)
    if seen.cited:
        strange = 0
    if not total and len(seen.text.split()) < 4:
        return  # no sentence to speak of
    seen.past.specifics.append((strange, total))
    window = list(seen.past.specifics)
    counts = [new for new, _ in window]
    climbing = len(window) >= 3 and 0 < counts[-2] < counts[-1] and counts[-3] <= counts[-2]
    if (
        climbing
        and counts[-1] >= RISING
        and sum(counts) >= _MANY
        and sum(counts) * 2 > sum(total for _, total in window)
    ):
        told = " → ".join(map(str, counts[-3:]))
        yield Hit(0, len(seen.text), f"particulars no source holds, sentence by sentence: {told}")


def _count(found: list[Number]) -> int:
    """Counting words ("two of them") are no particulars."""
    return sum(number.value >= 10 or number.unit != "" for number in found)


def sure_of_rise(seen: Seen, _: Hit) -> float:
    return min(0.8, 0.4 + 0.1 * seen.past.specifics[-1][0])
