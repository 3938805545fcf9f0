"""Arithmetic errors within a sentence: shares above the whole, wrong totals and sums, wrong directions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.detectors.context import logical_flag
from groundwire.text.dates import MONTHS
from groundwire.text.lexicon import grammar
from groundwire.text.numbers import Number, numbers
from groundwire.types import Flag, Segment

_GRAMMAR = grammar("detect_arithmetic")

_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|twenty"
_OF = re.compile(_GRAMMAR["of"])
_NOT_COUNT = re.compile(_GRAMMAR["not_count"])
_MONTHS = re.compile(rf"\s+(?:{'|'.join(name for name in MONTHS if name.isascii())})\b", re.IGNORECASE)
_AMONG = re.compile(_GRAMMAR["among"])
_PERCENT = re.compile(_GRAMMAR["percent"])
_EQUATION = re.compile(_GRAMMAR["equation"])
_PLUS = re.compile(_GRAMMAR["plus"])
_OTHER_ARITHMETIC = re.compile(_GRAMMAR["other_arithmetic"])
_LINK = (
    r"(?P<link>:|\s—|\s–|,?\s+(?:of which|consisting of|made up of|comprising|composed of)"
    r"|,\s+(?:including|divided into))\s*"
)
_PARTS = re.compile(_GRAMMAR["parts"])
_TOTAL = re.compile(_GRAMMAR["total"])
_TOTAL_IS = re.compile(_GRAMMAR["total_is"])
_IN_TOTAL = re.compile(_GRAMMAR["in_total"])
_UP = r"increased|rose|grew|climbed|jumped|surged|soared|risen|grown"
_DOWN = r"decreased|fell|dropped|declined|shrank|plunged|plummeted|fallen"
_TIMES = {"doubled": 2.0, "tripled": 3.0, "quadrupled": 4.0, "halved": 0.5}
_AMOUNT = r"(?:[^,;.]|[.,](?=\d)){1,40}"
_MOVED = re.compile(
    rf"\b(?P<verb>{_UP}|{_DOWN}|{'|'.join(_TIMES)})\s+(?:\w+ly\s+)?"
    rf"from\s+(?P<from>{_AMOUNT}?)\s+to\s+(?P<to>{_AMOUNT})",
    re.IGNORECASE,
)
_RANKS = re.compile(_GRAMMAR["ranks"])
_BARE = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_MORE = re.compile(r"\b(?:more than|almost|nearly|over|about|roughly|less than)\s*$", re.IGNORECASE)


_ANY = re.compile(rf"\d|\b(?:{_WORDS})\b", re.IGNORECASE)
_MAX_CHARS = 1000
"""Longer "sentences" are lists, code or noise."""


def sum_errors(segment: Segment, confidence: float) -> Iterator[Flag]:
    if len(segment.text) > _MAX_CHARS or not _ANY.search(segment.text):
        return
    yield from _shares(segment, confidence)
    yield from _equations(segment, confidence)
    yield from _totals(segment, confidence)
    yield from _moves(segment, confidence)


def _value(text: str) -> float:
    found = numbers(text)
    return found[0].value if found else 0.0


def _shares(segment: Segment, confidence: float) -> Iterator[Flag]:
    """ "3 of 2", "120 % of users"."""
    text = segment.text
    for match in _OF.finditer(text):
        part, whole = _value(match["part"]), _value(match["whole"])
        named = _NOT_COUNT.search(text[: match.start()]) or _MONTHS.match(text, match.end())
        year = 1000 <= whole <= 2199 and len(match["whole"]) == 4
        if part > whole > 0 and not named and not year:
            why = f"{match['part']} is more than {match['whole']}"
            yield logical_flag(segment, match.start(), match.end(), confidence, "A part is larger than its whole", why)
    for match in _AMONG.finditer(text):
        if _value(match["part"]) > _value(match["whole"]) > 0:
            why = f"{match['part']} is more than {match['whole']}"
            yield logical_flag(
                segment, match.start("whole"), match.end("part"), confidence, "A part is larger than its whole", why
            )
    for match in _PERCENT.finditer(text):
        if float(match["share"]) > 100:
            why = "A share cannot exceed 100 %"
            yield logical_flag(segment, match.start(), match.end(), confidence, "A part is larger than its whole", why)


def _equations(segment: Segment, confidence: float) -> Iterator[Flag]:
    """ "5 + 6 = 12"."""
    if _OTHER_ARITHMETIC.search(segment.text) or "`" in segment.text:
        return
    for match in _EQUATION.finditer(segment.text):
        value, stated = _compute(match["left"]), _figure(match["right"])
        if value is not None and abs(value - stated) > max(0.01 * abs(value), 0.51 * _place(match["right"])):
            yield _wrong_sum(segment, match, f"{value:g}", confidence)
    for match in _PLUS.finditer(segment.text):
        total = _value(match["a"]) + _value(match["b"])
        if total != _value(match["sum"]):
            yield _wrong_sum(segment, match, f"{total:g}", confidence)


def _wrong_sum(segment: Segment, match: re.Match[str], value: str, confidence: float) -> Flag:
    return logical_flag(
        segment, match.start(), match.end(), confidence, "These figures do not add up", f"It is {value}"
    )


def _figure(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def _place(text: str) -> float:
    return float(10.0 ** -len(text.partition(".")[2]))


def _compute(text: str) -> float | None:
    """Evaluate operators of equal precedence from left to right; None if they are mixed, or for x / 0."""
    parts = re.split(r"\s*([+−×*÷/-])\s*", text)
    signs = set(parts[1::2])
    if not (signs <= set("+−-") or signs <= set("×*÷/")) or any(part.count(".") > 1 for part in parts):
        return None
    value = _figure(parts[0])
    for sign, figure in zip(parts[1::2], map(_figure, parts[2::2]), strict=True):
        if sign in "÷/" and figure == 0:
            return None
        value = {
            "+": value + figure, "-": value - figure, "−": value - figure,
            "×": value * figure, "*": value * figure,
        }.get(sign, value / figure if figure else value)  # fmt: skip
    return value


def _totals(segment: Segment, confidence: float) -> Iterator[Flag]:
    """ "10 items: 4 red and 5 blue", "12 in total: 5 + 6", "5 red and 6 blue, for a total of 12"."""
    for pattern in (_PARTS, _TOTAL, _TOTAL_IS, _IN_TOTAL):
        for match in pattern.finditer(segment.text):
            stated = next(filter(None, (match["total"], match.groupdict().get("total2"))))
            total, parts = _value(stated), _counts(match["list"])
            if parts is None or len(parts) < 2:
                continue
            some = "including" in (match.groupdict().get("link") or "")
            if sum(parts) > total or (sum(parts) < total and not some):
                evidence = f"{' + '.join(f'{part:,.10g}' for part in parts)} = {sum(parts):,.10g}, not {total:,.10g}"
                start, end = match.start(), match.end()
                yield logical_flag(segment, start, end, confidence, "The parts do not make up the total", evidence)


def _counts(text: str) -> list[float] | None:
    """The count of each part; None if one is a measure, a bound or not a plain number."""
    found = numbers(text)
    if any(n.unit or n.bound or n.edge or n.kind != "number" or n.value != int(n.value) for n in found):
        return None
    return [n.value for n in found]


def _moves(segment: Segment, confidence: float) -> Iterator[Flag]:
    """ "increased from 50 to 40", "doubled from 10 to 30"."""
    if _RANKS.search(segment.text):
        return
    for match in _MOVED.finditer(segment.text):
        amounts = segment.text[match.start("from") : match.end("to")]
        span = numbers(amounts)
        if len(span) < 2 or not _comparable(span[0], span[1]):
            continue
        new, verb, meant = span[1].value, match["verb"].lower(), _start_values(amounts, span[0], span[1])
        about = bool(_MORE.search(segment.text[: match.start()]))
        if meant and all(_wrong_way(verb, old, new, about) for old in meant):
            old = meant[-1]
            end = match.start("from") + span[1].end
            evidence = f"{new:,.10g} is {'more' if new > old else 'less'} than {old:,.10g}"
            yield logical_flag(segment, match.start(), end, confidence, "These figures do not add up", evidence)


def _start_values(text: str, old: Number, new: Number) -> tuple[float, ...]:
    """Possible values of the first figure: "from 3 to 2 km" means 3 km; "from 3 to 2 million" may mean 3."""
    if old.unit:
        return (old.value,)
    figure = _BARE.match(text, new.start, new.end)
    if not figure or not _figure(figure[0]) or not _BARE.fullmatch(text, old.start, old.end):
        return () if new.unit else (old.value,)
    scaled = old.value * new.value / _figure(figure[0])
    return (scaled,) if new.unit else (old.value, scaled)


def _comparable(old: Number, new: Number) -> bool:
    """True for two amounts of the same unit that are not years, ranks or bounds."""
    years = all(1500 <= n.value <= 2199 and not n.unit for n in (old, new))
    kinds = {old.kind, new.kind} <= {"number", "percent", "currency"}
    return (
        old.unit in (new.unit, "")  # "from 30 to 20 degrees": the unit is said once
        and kinds
        and not years
        and not (old.bound or new.bound)
        and min(old.value, new.value) >= 0
    )


def _wrong_way(verb: str, old: float, new: float, about: bool) -> bool:
    if verb in _TIMES:
        factor = _TIMES[verb]
        return old > 0 and not about and not 0.75 * factor <= new / old <= 1.35 * factor
    return new < old if re.fullmatch(_UP, verb) else new > old
