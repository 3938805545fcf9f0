"""Ages and durations that do not fit the dates they stand beside, and durations below nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from groundwire.detectors.flagging import temporal_flag
from groundwire.text.numbers import numbers
from groundwire.types import Flag, Segment

_YEAR = r"(?:1\d{3}|20\d\d)"
_COUNT = r"(?:\d{1,3}|[a-z]+(?:-[a-z]+)?)"
_ABOUT = (
    r"(?:over|more than|at least|nearly|almost|about|around|some|roughly|approximately|under|less than)\s+"
)
_BOUND = rf"(?P<bound>(?:just |well )?{_ABOUT})?"
_AT_AGE = r"(?:aged?|at (?:the age of|age))\s+"
_AGO = re.compile(
    rf"\bin\s+(?P<year>{_YEAR})\b\s*[,(–—-]+\s*{_BOUND}(?P<count>{_COUNT})\s+years\s+ago\b"
    rf"|(?P<bound2>{_ABOUT})?\b(?P<count2>{_COUNT})\s+years\s+ago,?\s*[(,]?\s*in\s+(?P<year2>{_YEAR})\b",
    re.IGNORECASE,
)
_LASTED = re.compile(
    rf"\bfrom\s+(?P<first>{_YEAR})\s+(?:to|until)\s+(?P<last>{_YEAR})\s*"
    r"(?:,|\(|,?\s+for|,?\s+a (?:period|total|span) of)\s*"
    rf"{_BOUND}(?P<count>{_COUNT})\s+years\b(?!\s+(?:after|before|later|ago|earlier|old))"
    rf"|\bfor\s+(?P<count2>{_COUNT})\s+years,?\s+\(?from\s+(?P<first2>{_YEAR})\s+(?:to|until)\s+(?P<last2>{_YEAR})\b",
    re.IGNORECASE,
)
_DIED = re.compile(
    rf"\bborn\b[^.;]{{0,60}}?\b(?P<born>{_YEAR})\b[^.;]{{0,80}}?\bdied\b[^.;]{{0,60}}?\b(?P<died>{_YEAR})\b"
    rf"[^.;]{{0,30}}?\b{_AT_AGE}(?P<age>\d{{1,3}})\b"
    rf"|\bborn\b[^.;]{{0,60}}?\b(?P<born2>{_YEAR})\b[^.;]{{0,80}}?"
    rf"\bdied\s+{_AT_AGE}(?P<age2>\d{{1,3}})\s+in\s+(?P<died2>{_YEAR})\b",
    re.IGNORECASE,
)
_IS_OLD = re.compile(
    rf"\bborn\s+(?:on\s+[\w ,]{{3,20}}|in\s+(?:\w+\s+)?)(?P<year>{_YEAR})\b[^.;]{{0,20}}?"
    r"\b(?:is(?: now| currently)?|now|currently)\s+(?P<age>\d{1,3})\s+years\s+old\b",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"\b(?:last(?:s|ed)?|took|takes?|spent|duration of|period of|waited|for)\s+"
    r"(?:(?:minus|negative)\s+|[-−](?=\d))"
    r"[\w.,]+\s+(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)
_OVER, _UNDER = ("over", "more than", "at least"), ("under", "less than", "nearly", "almost")


def misfits(segment: Segment, now: datetime, confidence: float) -> Iterator[Flag]:
    """`now` is what "ago" and "is … years old" are counted from."""
    text = segment.text
    for match in _NEGATIVE.finditer(text):
        yield _flag(segment, match, confidence, "Nothing lasts less than no time", "")
    for match in _AGO.finditer(text):
        part = _named(match)
        yield from _check(segment, match, part, now.year - int(part["year"]), confidence)
    for match in _LASTED.finditer(text):
        part = _named(match)
        yield from _check(segment, match, part, int(part["last"]) - int(part["first"]), confidence)
    for match in _DIED.finditer(text):
        part = _named(match)
        yield from _check(
            segment, match, {"count": part["age"]}, int(part["died"]) - int(part["born"]), confidence, 1
        )
    for match in _IS_OLD.finditer(text):
        yield from _check(
            segment, match, {"count": match["age"]}, now.year - int(match["year"]), confidence, 1
        )


def _named(match: re.Match[str]) -> dict[str, str]:
    """The groups of whichever form it is, under the plain names."""
    return {name.rstrip("2"): value for name, value in match.groupdict().items() if value is not None}


def _check(
    segment: Segment,
    match: re.Match[str],
    part: dict[str, str],
    years: int,
    confidence: float,
    slack: float = 0,
) -> Iterator[Flag]:
    """Whether `years`, by the dates, are the years that are stated; round figures may be a tenth off."""
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
        yield _flag(
            segment, match, confidence, f"By these dates it is {years} years", f"Stated: {stated:g} years"
        )


def _flag(segment: Segment, match: re.Match[str], confidence: float, suggestion: str, evidence: str) -> Flag:
    start, end = segment.start + match.start(), segment.start + match.end()
    return temporal_flag(segment, start, end, confidence, suggestion, evidence)
