"""Numbers with their units, in digits or words, and whether two of them agree.

>>> [(n.value, n.unit) for n in numbers("67 million people, 3.5 km, $1.2bn, twenty-two percent")]
[(67000000.0, ''), (3500.0, 'm'), (1200000000.0, 'USD'), (22.0, '%')]
>>> claim, evidence = numbers("about 67 million")[0], numbers("67,391,582")[0]
>>> compare(claim, evidence)
'same'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from groundwire.text import numberwords
from groundwire.text.units import CURRENCIES, CURRENCY_SIGNS, SCALES, TIGHT_SCALES, UNITS, UnitOf

Kind = Literal["number", "percent", "currency", "ordinal", "fraction", "time"]
Bound = Literal["", "about", "almost", "over", "under"]
Edge = Literal["", "low", "high"]
Relation = Literal["same", "compatible", "conflict", "unrelated"]


class Number(NamedTuple):
    """`value` in the base `unit` ('' for a bare count; 'clock' is minutes after midnight).

    `step` is the last written place (67 million: 1e6), `bound` what was said about exactness,
    `edge` which end of a range this is.
    """

    value: float
    unit: str
    start: int
    end: int
    kind: Kind = "number"
    bound: Bound = ""
    step: float = 1.0
    edge: Edge = ""


_DIGITS = (
    r"\d{1,3}(?:[,\u00a0\u202f’]\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}\.\d{3},\d+"
    r"|\d+(?:[.,]\d+)?"
)
_UNIT_NAMES = "|".join(sorted((re.escape(u) for u in UNITS), key=len, reverse=True))
_SCALE_NAMES = "|".join(sorted((re.escape(s) for s in SCALES), key=len, reverse=True))
_AM_PM = r"(?P<half>[aApP]\.?\s?[mM]\b\.?)"
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w.,\-−])[-−](?=\d|(?:US)?[{CURRENCY_SIGNS}]))?(?P<money>(?:US)?[{CURRENCY_SIGNS}])?\s?"
    rf"(?<![\w./])(?<![A-Za-z]-)(?P<digits>{_DIGITS})(?![\d]|[.,:/]\d)"
    r"(?P<ordinal>st|nd|rd|th)?(?![A-Za-z]{4,}\d)"
    r"(?P<mixed>\s?[½¼¾⅓⅔⅛]|\s\d/\d\b)?"
    rf"(?:(?P<gap>[\s-]?)(?P<scale>{_SCALE_NAMES})(?![\w'\"״]))?"
    rf"(?:[\s-]?(?P<unit>{_UNIT_NAMES})(?![\w\"״]))?(?P<plus>\+)?"
)
_TIME_RANGE = re.compile(r"(?<![\d:])(\d{1,2}):(\d{1,2})\s?[-–]\s?(\d{1,2}):(\d{1,2})(?![\d:])")
_TIME = re.compile(
    rf"(?<![\d:.,/-])(?:(?P<hour>\d{{1,2}}):(?P<minute>[0-5]\d)(?::[0-5]\d)?(?![\d:])(?:\s?{_AM_PM})?"
    rf"|(?P<hour2>\d{{1,2}})\s?{_AM_PM.replace('half', 'half2')}|(?P<word>\b(?:noon|midday|midnight)\b|חצות))"
)
_FRACTION = re.compile(r"(?<![\w/.])(\d{1,2})/(\d{1,2})(?![\w/.]\d|/)|[½¼¾⅓⅔⅛]")
_VULGAR = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3, "⅛": 0.125}
_DATE_LIKE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}")
_BOUND_WORDS: dict[Bound, str] = {
    "almost": r"\b(?:nearly|almost|close to|just under|just below|approaching)|כמעט|קרוב ל-?",
    "under": r"\b(?:less than|fewer than|under|below|up to|at most|no more than|a maximum of)"
    r"|פחות מ-?|מתחת ל-?|לכל היותר",
    "over": r"\b(?:over|more than|at least|above|exceed(?:s|ed|ing)?|upwards? of|no (?:less|fewer) than"
    r"|a minimum of|surpass(?:es|ed|ing)?)|מעל(?: ל)?-?|יותר מ-?|לפחות|למעלה מ-?",
    "about": r"\b(?:about|around|approximately|approx\.?|roughly|some|circa|c\.|an estimated|estimated at)"
    r"|[~≈]|בערך|בסביבות|(?<!\w)כ-?",
}
_BOUNDS = {
    bound: re.compile(rf"(?:{words})[\s-]*(?:the |a |an |כ-?)?$", re.IGNORECASE)
    for bound, words in _BOUND_WORDS.items()
}
_JOIN = re.compile(r"\s?[-–—]\s?|\s(?:to|and|through|until|till|עד)\s|\sל-?")
_BEFORE = 24


def numbers(text: str) -> list[Number]:
    """All numbers of the text in order; digits inside dates, codes and words are not numbers."""
    taken = bytearray(len(text))
    for match in _DATE_LIKE.finditer(text):
        if _looks_like_date(match[0]):
            taken[match.start() : match.end()] = b"\1" * len(match[0])
    found: list[Number] = []
    for reader in (_times, _fractions, _in_digits, _in_words):
        for number in reader(text):
            if not any(taken[number.start : number.end]):
                taken[number.start : number.end] = b"\1" * (number.end - number.start)
                found.append(number)
    return _with_ranges(text, sorted(found, key=lambda n: n.start))


def _looks_like_date(text: str) -> bool:
    parts = [int(p) for p in re.split(r"[./-]", text)]
    if len(str(parts[0])) == 4 or parts[0] > 31:
        return parts[1] <= 12 and parts[2] <= 31
    return parts[0] <= 31 and parts[1] <= 31 and min(parts[0], parts[1]) <= 12


def _times(text: str) -> Iterator[Number]:
    for m in _TIME_RANGE.finditer(text):
        low, high = int(m[1]) * 60 + int(m[2]), int(m[3]) * 60 + int(m[4])
        if int(m[1]) <= 24 and int(m[3]) <= 24 and int(m[2]) < 60 and int(m[4]) < 60:
            yield Number(low, "clock", m.start(1), m.end(2), "time", edge="low")
            yield Number(high, "clock", m.start(3), m.end(4), "time", edge="high")
    for m in _TIME.finditer(text):
        minutes = _minutes(m)
        if minutes is not None:
            yield Number(minutes, "clock", m.start(), m.end(), "time")


def _minutes(m: re.Match[str]) -> float | None:
    if m["word"]:
        return 0.0 if m["word"].lower() in ("midnight", "חצות") else 720.0
    hour, minute = int(m["hour"] or m["hour2"]), int(m["minute"] or 0)
    half = (m["half"] or m["half2"] or "").lower()
    if hour > (12 if half else 24) or (half and hour == 0):
        return None
    if half:
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    return float(hour * 60 + minute)


def _fractions(text: str) -> Iterator[Number]:
    for m in _FRACTION.finditer(text):
        before = text[max(0, m.start() - 3) : m.start()].rstrip()[-1:]
        if m[0] in _VULGAR:
            if not before.isdigit():
                yield Number(_VULGAR[m[0]], "", m.start(), m.end(), "fraction", step=0.01)
        elif 0 < int(m[1]) < int(m[2]) and not before.isdigit():
            yield Number(int(m[1]) / int(m[2]), "", m.start(), m.end(), "fraction", step=0.01)


def parse_digits(digits: str) -> tuple[float, float]:
    """Value and step of a written number: 1,234.5 and 1.234,5 are the same; 1.234 alone is a decimal."""
    plain = re.sub("[\u00a0\u202f’]", ",", digits)
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain):
        plain = plain.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}", plain):
        plain = plain.replace(".", "").replace(",", ".")
    else:
        plain = plain.replace(",", ".")
    places = len(plain.partition(".")[2])
    return float(plain), 10.0**-places


def _in_digits(text: str) -> Iterator[Number]:
    for m in _NUMBER.finditer(text):
        value, step = parse_digits(m["digits"])
        if m["mixed"]:
            value += _mixed(m["mixed"].strip())
            step = 0.01
        scale, unit_name, end = _scale_and_unit(m)
        unit = UNITS[m["money"] or unit_name] if m["money"] or unit_name else UnitOf("", 1.0)
        if m["ordinal"]:
            unit, scale, end = UnitOf("", 1.0), 1.0, m.end("ordinal")
        sign = -1.0 if m["sign"] else 1.0
        start = m.start("sign") if m["sign"] else m.start("money") if m["money"] else m.start("digits")
        bound: Bound = "over" if m["plus"] else _bound(text, start)
        yield Number(
            value=sign * value * scale * unit.scale + unit.offset, unit=unit.base, start=start, end=end,
            kind="ordinal" if m["ordinal"] else _kind(unit.base), bound=bound, step=step * scale * unit.scale,
        )  # fmt: skip


def _mixed(text: str) -> float:
    if text in _VULGAR:
        return _VULGAR[text]
    top, _, bottom = text.partition("/")
    return int(top) / int(bottom) if int(bottom) else 0.0


def _scale_and_unit(m: re.Match[str]) -> tuple[float, str, int]:
    """'5 m' is five metres and '$5m' five million; 'K', 'B' and the like stand right behind the digits."""
    name, unit, end = m["scale"], m["unit"], m.end()
    if name in TIGHT_SCALES and not m["money"] and (m["gap"] or name in ("m", "b", "T")):
        if name in UNITS and not unit:
            return 1.0, name, m.end("scale")
        return 1.0, "", m.end("mixed") if m["mixed"] else m.end("digits")
    return SCALES[name] if name else 1.0, unit or "", end


def _kind(unit: str) -> Kind:
    return "percent" if unit == "%" else "currency" if unit in CURRENCIES else "number"


def _in_words(text: str) -> Iterator[Number]:
    for value, start, end, ordinal in numberwords.find(text):
        m = _AFTER_WORDS.match(text, end)
        unit = UNITS[m[1]] if m else UnitOf("", 1.0)
        step = numberwords.step(value)
        yield Number(
            value=value * unit.scale + unit.offset, unit=unit.base, start=start, end=m.end() if m else end,
            kind="ordinal" if ordinal else "fraction" if 0 < value < 1 else _kind(unit.base),
            bound=_bound(text, start), step=step * unit.scale,
        )  # fmt: skip


_AFTER_WORDS = re.compile(rf"[\s-](?:a |an |of an? )?({_UNIT_NAMES})(?![\w\"״])")


def _bound(text: str, start: int) -> Bound:
    before = text[max(0, start - _BEFORE) : start]
    return next((bound for bound, pattern in _BOUNDS.items() if pattern.search(before)), "")


def _with_ranges(text: str, found: list[Number]) -> list[Number]:
    """'5-10 km', 'between 3 and 4 million', 'from 9 to 5 pm': the first end takes the unit of the second."""
    result = list(found)
    for i in range(len(result) - 1):
        low, high = result[i], result[i + 1]
        join = text[low.end : high.start]
        if low.edge or high.edge or low.kind == "ordinal" or not join or not _JOIN.fullmatch(join):
            continue
        if " and " in join and not re.search(
            r"between\s+$", text[max(0, low.start - 10) : low.start], re.IGNORECASE
        ):
            continue
        lifted = _lift(text, low, high)
        if lifted is not None and (lifted.value < high.value or lifted.kind == "time"):
            result[i], result[i + 1] = lifted._replace(edge="low"), high._replace(edge="high")
    return result


def _lift(text: str, low: Number, high: Number) -> Number | None:
    if low.unit == high.unit and (low.step == high.step or low.step > 1 or high.step <= 1):
        return low
    if low.unit or low.kind == "time":
        return None
    if high.kind == "time":
        hour = low.value + (
            12 if high.value >= 720 and low.value < 12 and (low.value + 12) * 60 < high.value else 0
        )
        return low._replace(value=hour * 60, unit="clock", kind="time") if 0 <= low.value <= 24 else None
    written, _ = _first_number(text[high.start : high.end])
    factor = high.value / written if written else 1.0
    return low._replace(value=low.value * factor, unit=high.unit, kind=high.kind, step=low.step * factor)


def _first_number(text: str) -> tuple[float, float]:
    m = re.search(_DIGITS, text)
    return parse_digits(m[0]) if m else (0.0, 1.0)


def compare(claim: Number, evidence: Number) -> Relation:
    """'same' where the evidence bears the claim's number out, 'compatible' where it leaves it open.

    'unrelated' numbers measure different things, so neither bears the other out nor speaks against it.
    """
    if {claim.unit, evidence.unit} == {"deg", "K"}:
        return _compare_degrees(claim, evidence)
    if claim.unit != evidence.unit or (claim.kind == "ordinal") != (evidence.kind == "ordinal"):
        return "unrelated"
    if _agrees(claim, evidence):
        return "same"
    if evidence.bound in ("over", "almost") and evidence.bound != claim.bound:
        limit = claim.value >= evidence.value if evidence.bound == "over" else claim.value <= evidence.value
        return "compatible" if limit and _near(claim.value, evidence.value, 0.25) else "conflict"
    if evidence.bound == "under" and claim.value <= evidence.value and not claim.bound:
        return "compatible"
    return "conflict"


def _compare_degrees(a: Number, b: Number) -> Relation:
    """Bare degrees may be of either scale, so they can only agree."""
    bare, celsius = (a, b) if a.unit == "deg" else (b, a)
    readings = (bare.value, (bare.value - 32) * 5 / 9)
    return "same" if any(abs(reading - celsius.value) < 0.6 for reading in readings) else "unrelated"


def _agrees(claim: Number, evidence: Number) -> bool:
    a, b = claim.value, evidence.value
    if _near(a, b, 1e-6):
        return True
    if claim.kind in ("ordinal", "time"):
        return False
    slack = 0.5 * max(claim.step, evidence.step) * 1.001
    # of two limits the one must come close to the other: "up to 5,000" is not what "up to 2,000" says
    match claim.bound:
        case "over":
            return evidence.bound != "under" and a * 0.999 <= b <= (1.7 if evidence.bound else 2.5) * a
        case "under":
            return evidence.bound != "over" and (0.6 if evidence.bound else 0.4) * a <= b <= a * 1.001
        case "almost":
            return 0.9 * a <= b <= a * 1.001
        case "about":
            return abs(a - b) <= max(slack, 0.08 * abs(a))
    return _rounded(claim, evidence) and abs(a - b) <= slack


def _rounded(claim: Number, evidence: Number) -> bool:
    """Only the coarser of two may be a rounding, and only if it says enough: '4' is no rounding of '4.4'."""
    coarse, fine = (claim, evidence) if claim.step >= evidence.step else (evidence, claim)
    counted = coarse.unit == "" or coarse.unit in CURRENCIES
    return coarse.step > fine.step and (
        abs(coarse.value) >= 10 * coarse.step or (counted and coarse.step >= 1000)
    )


def _near(a: float, b: float, share: float) -> bool:
    return abs(a - b) <= share * max(abs(a), abs(b), 1e-12)


def in_range(claim: Number, low: Number, high: Number) -> bool:
    """Does the claim's number lie inside an evidence range of the same unit?"""
    return claim.unit == low.unit == high.unit and low.value <= claim.value <= high.value
