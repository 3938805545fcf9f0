"""Numbers, dates and names of a claim against the pieces nearest to it: held, lacking, or in conflict."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Literal, TypeVar

from groundwire.text import dates as date_reader
from groundwire.text import numbers as number_reader
from groundwire.text.dates import MONTHS, PartialDate
from groundwire.text.names import Name, key, same_name
from groundwire.text.numbers import Number
from groundwire.verifiers.lexical.pieces import Analysis
from groundwire.verifiers.lexical.tables import LIGHT

Verdict = Literal["held", "elsewhere", "missing", "conflict"]
FactKind = Literal["number", "date", "name"]

_WINDOW = 34
_MOST_COMPARED = 100_000
"""Comparisons of a claim's facts with those of the pieces: no sentence comes near it, a page of sums does."""
_UNTIL = re.compile(r"\b(?:until|till|closes?|closing|to|ends?)\b|עד", re.IGNORECASE)
_FROM = re.compile(r"\b(?:from|opens?|opening|starts?|since|at)\b|מ-?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Near:
    """A piece near a claim; `overlap` is the weighted share of the claim's content words that it holds.

    `label` is what a leaf of structured data is called, in comparable form.
    """

    analysis: Analysis
    overlap: float
    label: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact of the claim, what the pieces say about it and how strongly; `instead` is what they say."""

    kind: FactKind
    verdict: Verdict
    start: int
    end: int
    strength: float = 1.0
    instead: str = ""


Fact = TypeVar("Fact")


def _bounded(found: Sequence[Fact], against: int) -> Sequence[Fact]:
    return found[: max(1, _MOST_COMPARED // max(1, against))]


def find_numbers(claim: Analysis, near: Sequence[Near], far: Sequence[Near]) -> Iterator[Finding]:
    theirs = sum(len(piece.analysis.numbers) + len(piece.analysis.dates) for piece in (*near, *far))
    for number in _bounded(claim.numbers, theirs):
        yield _number(claim, number, near, far)


def _number(claim: Analysis, number: Number, near: Sequence[Near], far: Sequence[Near]) -> Finding:
    around = _around(claim, number.start, number.end)
    if any(_holds(number, piece.analysis, claim) for piece in near):
        return Finding("number", "held", number.start, number.end)
    elsewhere = [piece for piece in far if _holds(number, piece.analysis, claim)]
    if any(_labelled(piece, around) for piece in elsewhere):
        return Finding("number", "held", number.start, number.end)
    strength, instead = _number_conflict(claim, number, near)
    if strength > 0:
        strength *= 0.6 if elsewhere else 1.0
        return Finding("number", "conflict", number.start, number.end, strength, instead)
    return Finding("number", "elsewhere" if elsewhere else "missing", number.start, number.end)


def _holds(number: Number, piece: Analysis, claim: Analysis) -> bool:
    if number.unit == "clock":
        return _holds_time(number, piece, claim)
    if number.kind == "number" and not number.unit and _is_year_of(number, piece):
        return True
    for i, other in enumerate(piece.numbers):
        relation = number_reader.compare(number, other)
        if relation in ("same", "compatible"):
            return True
        if other.edge == "low" and i + 1 < len(piece.numbers) and not number.edge:
            high = piece.numbers[i + 1]
            if high.edge == "high" and number_reader.in_range(number, other, high):
                return True
    return False


def _is_year_of(number: Number, piece: Analysis) -> bool:
    return any(date.year == number.value for date in piece.dates)


def _holds_time(number: Number, piece: Analysis, claim: Analysis) -> bool:
    if claim.weekdays and piece.weekdays and not claim.weekdays & piece.weekdays:
        return False
    return any(
        other.unit == "clock" and other.value == number.value and _same_edge(number, other, claim, piece)
        for other in piece.numbers
    )


def _same_edge(number: Number, other: Number, claim: Analysis, piece: Analysis) -> bool:
    """Opening hours are compared with opening hours, closing with closing."""
    mine, theirs = _edge(number, claim.text), _edge(other, piece.text)
    return not mine or not theirs or mine == theirs


def _edge(number: Number, text: str) -> str:
    if number.edge:
        return number.edge
    before = text[max(0, number.start - 16) : number.start]
    return "high" if _UNTIL.search(before) else "low" if _FROM.search(before) else ""


def _number_conflict(claim: Analysis, number: Number, near: Sequence[Near]) -> tuple[float, str]:
    """The strongest piece that speaks of the same thing with another number of the same unit."""
    best = (0.0, "")
    around = _around(claim, number.start, number.end)
    for piece in near:
        for other in piece.analysis.numbers:
            if not _rivals(number, other, claim, piece.analysis):
                continue
            shared = around & _around(piece.analysis, other.start, other.end)
            strength = max(_strength(piece.overlap, len(shared), len(around)), _labelled(piece, around))
            if number.unit == "clock":
                strength = max(strength, 0.8 if claim.weekdays & piece.analysis.weekdays else 0.0)
            if strength > best[0]:
                best = (strength, piece.analysis.text[other.start : other.end])
    return best


def _same_day(claim: Analysis, piece: Analysis) -> bool:
    """Hours of several days in one claim cannot be told apart, so they are no rivals."""
    if len(list(islice((number for number in claim.numbers if number.unit == "clock"), 3))) > 2:
        return False
    return not (claim.weekdays and piece.weekdays) or bool(claim.weekdays & piece.weekdays)


def _rivals(number: Number, other: Number, claim: Analysis, piece: Analysis) -> bool:
    if number.unit == "clock" and not _same_day(claim, piece):
        return False
    if number.unit == "clock" and not _same_edge(number, other, claim, piece):
        return False
    if number.edge and other.edge and number.edge != other.edge:
        return False
    return number_reader.compare(number, other) == "conflict"


def _around(text: Analysis, start: int, end: int) -> frozenset[str]:
    """The content words next to a place in a text: what a number there counts."""
    return frozenset(w.norm for w in text.around(start, end, _WINDOW) if w.norm not in LIGHT)


def _strength(overlap: float, shared: int, around: int) -> float:
    """Another number is a conflict only where the piece speaks of the same thing."""
    local = shared / around if around else overlap
    strength = 0.5 * overlap + 0.5 * local
    return strength if strength >= 0.45 and (shared or overlap >= 0.6) else 0.0


def _labelled(piece: Near, around: frozenset[str]) -> float:
    """A leaf of data is about what its label names: 'stars: 4.0' settles how many stars."""
    return 0.75 if piece.label and piece.label[-1] in around else 0.0


def find_dates(claim: Analysis, near: Sequence[Near], far: Sequence[Near]) -> Iterator[Finding]:
    theirs = sum(len(piece.analysis.words) for piece in (*near, *far))
    for date in _bounded(claim.dates, theirs):
        yield _date(claim, date, near, far)


def _date(claim: Analysis, date: PartialDate, near: Sequence[Near], far: Sequence[Near]) -> Finding:
    if any(_dated(date, piece.analysis) for piece in near):
        return Finding("date", "held", date.start, date.end)
    elsewhere = any(_dated(date, piece.analysis) for piece in far)
    best = (0.0, "")
    around = _around(claim, date.start, date.end)
    for piece in near:
        for other in reversed(piece.analysis.dates):  # a heading's date comes first and means least
            if date_reader.compare(date, other) == "conflict":
                shared = around & _around(piece.analysis, other.start, other.end)
                strength = max(_strength(piece.overlap, len(shared), len(around)), _labelled(piece, around))
                if strength > best[0]:
                    best = (strength, piece.analysis.text[other.start : other.end])
    if best[0] > 0:
        return Finding(
            "date", "conflict", date.start, date.end, best[0] * (0.6 if elsewhere else 1.0), best[1]
        )
    return Finding("date", "elsewhere" if elsewhere else "missing", date.start, date.end)


def _dated(date: PartialDate, piece: Analysis) -> bool:
    if any(date_reader.compare(date, other) in ("same", "compatible") for other in piece.dates):
        return True
    if date.month and not date.year and not date.day:
        return any(MONTHS.get(word.text.lower()) == date.month for word in piece.words)
    bare_year = not date.month and date.years == 1
    return bare_year and any(number.value == date.year and not number.unit for number in piece.numbers)


def find_names(claim: Analysis, near: Sequence[Near], known: frozenset[str]) -> Iterator[Finding]:
    """`known`: the claim's content words that some piece of the context holds."""
    missing_words = {word.norm for word in claim.content} - known
    theirs = sum(len(piece.analysis.names) for piece in near)
    mine = _bounded(claim.names, theirs + len(claim.content))
    rivals = cache(lambda at: _strangers(near[at].analysis, mine))
    for name in mine:
        own = key(name.text)
        lacking = [part for part in own if part in missing_words]
        if not lacking:
            yield Finding("name", "held", name.start, name.end)
        elif name.sure and not any(_named(name, piece.analysis) for piece in near):
            yield _missing_name(claim, name, near, rivals) or Finding(
                "name", "missing", name.start, name.end, len(lacking) / len(own)
            )
        else:
            yield Finding("name", "held", name.start, name.end)


def _named(name: Name, piece: Analysis) -> bool:
    return any(same_name(name.text, other.text) for other in piece.names)


def _strangers(piece: Analysis, mine: Sequence[Name]) -> list[Name]:
    """The names of a piece that the claim does not have."""
    return [n for n in piece.names if not any(same_name(n.text, own.text) for own in mine)]


def _missing_name(
    claim: Analysis, name: Name, near: Sequence[Near], rivals: Callable[[int], list[Name]]
) -> Finding | None:
    """A name the context does not know is in conflict where a piece says all the rest about another name."""
    own = set(key(name.text))
    others = [w.norm for w in claim.content if w.norm not in own]
    for at, piece in enumerate(near):
        held = sum(norm in piece.analysis.norms for norm in others)
        if len(others) >= 2 and held >= 0.75 * len(others) and rivals(at):
            instead = rivals(at)[-1].text
            return Finding("name", "conflict", name.start, name.end, held / len(others), instead)
    return None
