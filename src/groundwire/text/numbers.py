"""Numbers with their units, in digits or words (English and Hebrew), and their comparison.

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

from groundwire.text.lexicon import forms, word_set, word_table


def _valued(table: str) -> dict[str, float]:
    """Parse a table `value: word word; …`; an underscore in a word is a space."""
    return {word.replace("_", " "): float(value) for word, value in forms(table).items()}


_SMALL, _BIG, _PART, _ORDINAL, _HE_SMALL, _HE_BIG, _HE_PART, _HE_ORDINAL = (
    _valued(word_table("numbers")["values"][name])
    for name in ("small", "big", "part", "ordinal", "he_small", "he_big", "he_part", "he_ordinal")
)

_TENS = {word: value for word, value in _SMALL.items() if value >= 20}
_VALUES = _SMALL | _HE_SMALL
_WORD_SCALES = _BIG | _HE_BIG
_PARTS = _PART | _HE_PART
_ORDINAL_VALUES = _ORDINAL | _HE_ORDINAL


def _any(words: dict[str, float]) -> str:
    return "|".join(sorted((re.escape(w) for w in words), key=len, reverse=True))


_ATOM = rf"(?:{_any(_VALUES | _WORD_SCALES)})"
_NUMBER_WORDS = re.compile(
    rf"(?<![\w-])(?:(?P<part>[והבלמשכ]?(?:{_any(_PARTS)})(?!(?<=\ba \w{{5}}) (?!of\b)))"
    rf"|(?P<ordinal>(?:(?:{_any(_TENS)})-)?ה?(?:{_any(_ORDINAL_VALUES)}))"
    rf"|(?P<words>(?:(?:a|an)\s)?[והבלמשכ]?{_ATOM}(?:(?:-|\s(?:and\s)?)ו?{_ATOM})*))(?![\w-]|['’]\w)",
    re.IGNORECASE,
)
_SPLIT = re.compile(r"[\s-]+")
_NOT_ALONE = word_set(word_table("numbers")["not_alone"])
_ORDINAL_CUE = re.compile(
    r"(?:\bthe|\bits|\bhis|\bher|\btheir|\bin|\bcame|\bfinished|\branked|\bplaced)\s$", re.IGNORECASE
)


def number_words(text: str) -> Iterator[tuple[float, int, int, bool]]:
    """(value, start, end, is ordinal) of each number in words."""
    for match in _NUMBER_WORDS.finditer(text):
        start, end, alone = match.start(), match.end(), match[0].lower() in _NOT_ALONE
        if match["part"]:
            part = match["part"].lower()
            yield _PARTS.get(part) or _PARTS[part[1:]], start, end, False
        elif match["ordinal"]:
            if not alone or _ORDINAL_CUE.search(text[max(0, start - 12) : start]):
                yield _ordinal(match["ordinal"].lower()), start, end, True
        elif not alone and (value := _value(match["words"].lower())) is not None:
            yield value, start, end, False


def _ordinal(text: str) -> float:
    tens, _, last = text.rpartition("-")
    last = last if last in _ORDINAL_VALUES else last.removeprefix("ה")
    return _VALUES.get(tens, 0.0) + _ORDINAL_VALUES[last]


def _value(text: str) -> float | None:
    """Sum of groups: 'two hundred five thousand' = (2 × 100 + 5) × 1000. None: not one number."""
    total = group = 0.0
    for raw in _SPLIT.split(text):
        word = raw if raw in _VALUES or raw in _WORD_SCALES else raw[1:]
        if raw in ("a", "an", "and"):
            continue
        if word in _WORD_SCALES and (group or word not in _VALUES):
            scale = _WORD_SCALES[word]
            group = max(group, 1.0) * scale
            if scale >= 1e3:
                total, group = total + group, 0.0
        elif word in _VALUES:
            value = _VALUES[word]
            if group and value >= (group % 100 or 100):
                return None  # 'nineteen eighty', 'five six': two numbers, not a sum
            group += value
    return total + group


def _word_step(value: float) -> float:
    """The precision of a number in words: a million for "three million", one for "twenty-two"."""
    result = 1.0
    while value and result < 1e12 and value % (result * 10) == 0 and result * 10 <= value:
        result *= 10
    return result if result >= 1e3 else 0.01 if 0 < value < 1 else 1.0


class UnitOf(NamedTuple):
    base: str
    scale: float
    offset: float = 0.0


def _table(rows: str) -> dict[str, UnitOf]:
    """Parse lines `base: name=scale name=scale …`; an underscore in a name is a space."""
    found: dict[str, UnitOf] = {}
    for row in rows.strip().splitlines():
        base, _, names = row.partition(":")
        for entry in names.split():
            name, _, scale = entry.rpartition("=")
            found[name.replace("_", " ")] = UnitOf(base.strip(), float(scale))
    return found


UNITS: dict[str, UnitOf] = _table(word_table("numbers")["units"]) | dict.fromkeys(
    ("°F", "fahrenheit", "degrees Fahrenheit", "degrees fahrenheit"), UnitOf("K", 5 / 9, -32 * 5 / 9)
)

CURRENCIES = frozenset({"USD", "EUR", "GBP", "ILS", "JPY", "INR", "RUB", "CNY", "CHF", "BTC"})
CURRENCY_SIGNS = "$€£₪¥₹₽"

SCALES = _valued(word_table("numbers")["scales"])

# Short scales need a currency sign or no space before them: "5 m" is not five million.
TIGHT_SCALES = frozenset({"k", "K", "M", "m", "B", "b", "T", "mil"})


Kind = Literal["number", "percent", "currency", "ordinal", "fraction", "time"]
Bound = Literal["", "about", "almost", "over", "under"]
Edge = Literal["", "low", "high"]
Relation = Literal["same", "compatible", "conflict", "unrelated"]


class Number(NamedTuple):
    """`value` in the base `unit` ('' for a bare count; 'clock' is minutes after midnight).

    `step` is the last written place (67 million: 1e6), `bound` a word for its exactness ("about", "over"),
    `edge` the end of a range that it is.
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
_BOUNDS: dict[Bound, re.Pattern[str]] = {
    bound: re.compile(rf"(?:{words})[\s-]*(?:the |a |an |כ-?)?$", re.IGNORECASE)
    for bound, words in word_table("numbers")["bounds"].items()
}
_JOIN = re.compile(r"\s?[-–—]\s?|\s(?:to|and|through|until|till|עד)\s|\sל-?")
_BEFORE = 24  # characters before a number in which such a word is looked for

# How far two numbers may differ and still agree, as factors of the claim's number. Chosen by hand.
_OVER = 2.5  # "over 100" is true of up to 250
_OVER_LIMIT = 1.7  # the same if the evidence is a limit too: it must come close to the claim's
_UNDER = 0.4  # "under 100" is true of 40 and more
_UNDER_LIMIT = 0.6  # the same if the evidence is a limit too
_ALMOST = 0.9  # "almost 100" is true of 90 and more
_ABOUT = 0.08  # "about 100" is true of 92 to 108
_OPEN_BOUND = 0.25  # evidence "over 100" leaves up to a quarter more open
_ROUNDING = 0.001  # tolerance of a limit


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
    """'5 m' is five metres and '$5m' five million; 'K', 'B' and the like directly follow the digits."""
    name, unit, end = m["scale"], m["unit"], m.end()
    if name in TIGHT_SCALES and not m["money"] and (m["gap"] or name in ("m", "b", "T")):
        if name in UNITS and not unit:
            return 1.0, name, m.end("scale")
        return 1.0, "", m.end("mixed") if m["mixed"] else m.end("digits")
    return SCALES[name] if name else 1.0, unit or "", end


def _kind(unit: str) -> Kind:
    return "percent" if unit == "%" else "currency" if unit in CURRENCIES else "number"


def _in_words(text: str) -> Iterator[Number]:
    for value, start, end, ordinal in number_words(text):
        m = _AFTER_WORDS.match(text, end)
        unit = UNITS[m[1]] if m else UnitOf("", 1.0)
        step = _word_step(value)
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
        if " and " in join and not re.search(r"between\s+$", text[max(0, low.start - 10) : low.start], re.IGNORECASE):
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
        hour = low.value + (12 if high.value >= 720 and low.value < 12 and (low.value + 12) * 60 < high.value else 0)
        return low._replace(value=hour * 60, unit="clock", kind="time") if 0 <= low.value <= 24 else None
    digits = re.search(_DIGITS, text[high.start : high.end])
    written = parse_digits(digits[0])[0] if digits else 0.0
    factor = high.value / written if written else 1.0
    return low._replace(value=low.value * factor, unit=high.unit, kind=high.kind, step=low.step * factor)


def compare(claim: Number, evidence: Number) -> Relation:
    """Compare a number of a claim with one of the evidence.

    'same': the evidence confirms the number; 'compatible': it leaves it open; 'conflict': it states another
    number of the same unit; 'unrelated': the two measure different things.
    """
    if {claim.unit, evidence.unit} == {"deg", "K"}:
        return _compare_degrees(claim, evidence)
    if claim.unit != evidence.unit or (claim.kind == "ordinal") != (evidence.kind == "ordinal"):
        return "unrelated"
    if _agrees(claim, evidence):
        return "same"
    if evidence.bound in ("over", "almost") and evidence.bound != claim.bound:
        limit = claim.value >= evidence.value if evidence.bound == "over" else claim.value <= evidence.value
        return "compatible" if limit and _near(claim.value, evidence.value, _OPEN_BOUND) else "conflict"
    if evidence.bound == "under" and claim.value <= evidence.value and not claim.bound:
        return "compatible"
    return "conflict"


def _compare_degrees(a: Number, b: Number) -> Relation:
    """Degrees without a scale may be Celsius or Fahrenheit, so they can agree but not conflict."""
    bare, celsius = (a, b) if a.unit == "deg" else (b, a)
    readings = (bare.value, (bare.value - 32) * 5 / 9)
    return "same" if any(abs(reading - celsius.value) < 0.6 for reading in readings) else "unrelated"


def _agrees(claim: Number, evidence: Number) -> bool:
    a, b = claim.value, evidence.value
    if _near(a, b, 1e-6):
        return True
    if claim.kind in ("ordinal", "time"):
        return False
    slack = 0.5 * max(claim.step, evidence.step) * (1 + _ROUNDING)  # half of the last written place
    # Two limits must be close to each other: "up to 2,000" does not confirm "up to 5,000".
    low, high = a * (1 - _ROUNDING), a * (1 + _ROUNDING)
    match claim.bound:
        case "over":
            return evidence.bound != "under" and low <= b <= (_OVER_LIMIT if evidence.bound else _OVER) * a
        case "under":
            return evidence.bound != "over" and (_UNDER_LIMIT if evidence.bound else _UNDER) * a <= b <= high
        case "almost":
            return _ALMOST * a <= b <= high
        case "about":
            return abs(a - b) <= max(slack, _ABOUT * abs(a))
    return _rounded(claim, evidence) and abs(a - b) <= slack


def _rounded(claim: Number, evidence: Number) -> bool:
    """Only the coarser number may be a rounding, and not if it is too coarse: '4' does not round '4.4'."""
    coarse, fine = (claim, evidence) if claim.step >= evidence.step else (evidence, claim)
    counted = coarse.unit == "" or coarse.unit in CURRENCIES
    return coarse.step > fine.step and (abs(coarse.value) >= 10 * coarse.step or (counted and coarse.step >= 1000))


def _near(a: float, b: float, share: float) -> bool:
    return abs(a - b) <= share * max(abs(a), abs(b), 1e-12)


def in_range(claim: Number, low: Number, high: Number) -> bool:
    """Return True if the claim's number lies in an evidence range of the same unit."""
    return claim.unit == low.unit == high.unit and low.value <= claim.value <= high.value
