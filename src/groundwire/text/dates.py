"""Find dates in text as partial dates (a year, a month, a day), and compare them.

>>> [(d.year, d.month, d.day) for d in dates("on March 15, 2023, 15.03.2023 and in 1968")]
[(2023, 3, 15), (2023, 3, 15), (1968, 0, 0)]
>>> compare(dates("March 2023")[0], dates("2023-03-15")[0])
'compatible'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from groundwire.text.lexicon import forms, word_table

Relation = Literal["same", "compatible", "conflict", "unrelated"]


class PartialDate(NamedTuple):
    """A date with missing parts as 0. `years` is the number of years from `year` on (a decade: 10).

    `swappable`: 03/04/2023 may be 3 April or 4 March.
    """

    year: int
    month: int
    day: int
    start: int
    end: int
    years: int = 1
    weekday: int = 0
    swappable: bool = False


MONTHS, WEEKDAYS = (
    {name: int(number) for name, number in forms(word_table("numbers")["calendar"][table]).items()}
    for table in ("months", "weekdays")
)
# The first name of each number is the full English one, so it must be the last to be set.
MONTH_NAMES = {number: name.capitalize() for name, number in reversed(MONTHS.items())}
WEEKDAY_NAMES = {number: name.capitalize() for name, number in reversed(WEEKDAYS.items())}
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_LONG_MONTH = "|".join(m for m in sorted(MONTHS, key=len, reverse=True) if len(m) > 3 or not m.isascii())
_DAY = r"(?P<{}>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_YEAR = r"(?P<{}>1\d{{3}}|20\d\d|21\d\d)"
_FORMS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<![\d./-])(?P<y>\d{4})[-/.](?P<m>1[0-2]|0?[1-9])[-/.](?P<d>3[01]|[12]\d|0?[1-9])(?![\d/-]|\.\d)",
        r"(?<![\d./-])(?P<a>\d{1,2})(?P<sep>[./-])(?P<b>\d{1,2})(?P=sep)(?P<y>\d{4}|\d\d)(?![\d/-]|\.\d)",
        rf"\b(?P<name>{_MONTH})\.?\s+{_DAY.format('d')}(?!\d)(?:\s?,?\s+{_YEAR.format('y')}(?!\d))?",
        rf"(?<![\d.,]){_DAY.format('d')}\s*(?:of\s+|[בל]-?)?(?P<name>{_MONTH})\b\.?(?:\s?,?\s*{_YEAR.format('y')}(?!\d))?",
        rf"\b[בלמ]?-?(?P<name>{_MONTH})\.?,?\s+(?:of\s+)?{_YEAR.format('y')}(?!\d)",
        rf"(?<=\bin )(?P<name>{_LONG_MONTH})\b|(?<![א-ת])[בל](?P<name2>{_LONG_MONTH})\b",
        r"\b(?P<decade>1\d|20)(?P<tens>\d)0['’]?s\b|שנות ה-?(?P<hdecade>\d)0",
        r"\b(?P<century>1?\d|2[01])(?:st|nd|rd|th)[\s-]century\b|המאה ה-?(?P<hcentury>\d\d)",
    )
)
# A cheap test for anything beyond a bare year, since most texts have none.
_MORE_THAN_A_YEAR = re.compile(rf"\d[-/.]\d|(?<![a-z])(?:{_MONTH})|\d0['’]?s\b|century|שנות|המאה", re.IGNORECASE)
_BARE_YEAR = re.compile(r"(?<![\w.,:/$€£₪#-])(?<!\d[–-])(1[0-9]\d\d|20\d\d|21\d\d)(?![\w%°]|[.,:/]\d|\s?[€₪%])")
_RANGE_YEAR = re.compile(r"(?<=\d{4}[–-])(1[0-9]\d\d|20\d\d)(?!\d)|(?<![א-ת])[ובלמ]-?(1[89]\d\d|20\d\d)(?!\d)")
_COUNTED = re.compile(r"\s+(?:[a-z]+s|people|men|women|children|million|percent)\b")
_CUE = re.compile(
    r"(?:\b(?:in|since|by|from|until|till|to|of|year|during|before|after|circa|late|early|mid|born|and|around)|[(–])\s?$",
    re.IGNORECASE,
)
_FUNCTION = re.compile(r"\s+(?:was|is|has|as|this|his|its|s|us|does|days)\b", re.IGNORECASE)
_WEEKDAY = re.compile(r"\b(" + "|".join(w for w in WEEKDAYS if w.endswith("day")) + r")s?\b", re.IGNORECASE)


def dates(text: str) -> list[PartialDate]:
    """All dates of the text in order, without overlaps; the most specific form wins."""
    taken = bytearray(len(text))
    found: list[PartialDate] = []
    for date in _candidates(text):
        if not any(taken[date.start : date.end]):
            taken[date.start : date.end] = b"\1" * (date.end - date.start)
            found.append(date)
    return sorted(found, key=lambda d: d.start)


def _candidates(text: str) -> Iterator[PartialDate]:
    for pattern in _FORMS if _MORE_THAN_A_YEAR.search(text) else ():
        for match in pattern.finditer(text):
            date = _read(match)
            if date is not None:
                yield date
    for match in _BARE_YEAR.finditer(text):
        if _is_year(text, match):
            yield PartialDate(int(match[1]), 0, 0, match.start(), match.end())
    for match in _RANGE_YEAR.finditer(text):
        group = 1 if match[1] else 2
        yield PartialDate(int(match[group]), 0, 0, match.start(group), match.end(group))


def _read(match: re.Match[str]) -> PartialDate | None:
    part = match.groupdict()
    start, end = match.start(), match.end()
    if part.get("decade") or part.get("hdecade"):
        year = int(part["decade"] + part["tens"] + "0") if part["decade"] else 1900 + int(part["hdecade"]) * 10
        return PartialDate(year, 0, 0, start, end, years=10)
    if part.get("century") or part.get("hcentury"):
        return PartialDate((int(part["century"] or part["hcentury"]) - 1) * 100, 0, 0, start, end, years=100)
    if part.get("a"):
        return _numeric(match)
    year, day = int(part.get("y") or 0), int(part.get("d") or 0)
    month = int(part["m"]) if part.get("m") else MONTHS[(part.get("name") or part["name2"]).lower()]
    return PartialDate(year, month, day, start, end)


def _numeric(match: re.Match[str]) -> PartialDate | None:
    """d.m.y with dots; with slashes either order, unless one number is too large for a month."""
    a, b, year = int(match["a"]), int(match["b"]), int(match["y"])
    if len(match["y"]) == 2:
        if match["sep"] == "-":
            return None  # 1-2-34 is a score or a code more often than a date
        year += 2000 if year < 50 else 1900  # by convention: 49 is 2049, 50 is 1950
    if not (1 <= a <= 31 and 1 <= b <= 31) or min(a, b) > 12:
        return None
    day, month = (b, a) if b > 12 else (a, b)
    swappable = match["sep"] == "/" and a <= 12 and b <= 12 and a != b
    return PartialDate(year, month, day, match.start(), match.end(), swappable=swappable)


def _is_year(text: str, match: re.Match[str]) -> bool:
    """Return False for a count: "1990 people", but not "in 1990 people"."""
    if _CUE.search(text[max(0, match.start() - 12) : match.start()]):
        return True
    return not _COUNTED.match(text, match.end()) or bool(_FUNCTION.match(text, match.end()))


def weekdays(text: str) -> list[tuple[int, int, int]]:
    """(weekday, start, end), Monday = 1."""
    return [(WEEKDAYS[m[1].lower()], m.start(), m.end()) for m in _WEEKDAY.finditer(text)]


def compare(claim: PartialDate, evidence: PartialDate) -> Relation:
    """Compare the parts that both dates state; "unrelated" if they share none."""
    if claim.years > 1 or evidence.years > 1:
        return _compare_spans(claim, evidence)
    orders = (False, True) if claim.swappable or evidence.swappable else (False,)
    results = [_compare_parts(claim, evidence, swapped) for swapped in orders]
    return min(results, key=("same", "compatible", "unrelated", "conflict").index)


def _compare_parts(a: PartialDate, b: PartialDate, swapped: bool) -> Relation:
    theirs = (b.year, b.day, b.month) if swapped else (b.year, b.month, b.day)
    mine = (a.year, a.month, a.day)
    shared = [(x, y) for x, y in zip(mine, theirs, strict=True) if x and y]
    if not shared:
        return "unrelated"
    if any(x != y for x, y in shared):
        return "conflict"
    return "same" if mine == theirs else "compatible"


def _compare_spans(a: PartialDate, b: PartialDate) -> Relation:
    if not a.year or not b.year:
        return "unrelated"
    if (a.year, a.years) == (b.year, b.years):
        return "same"
    return "compatible" if a.year < b.year + b.years and b.year < a.year + a.years else "conflict"
