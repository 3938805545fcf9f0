"""Look up the numbers, dates and names of a claim in the pieces of a context."""

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

Verdict = Literal["found", "elsewhere", "missing", "conflict"]
"""Found in a near piece, in another piece, nowhere, or replaced by another value in a near piece."""
FactKind = Literal["number", "date", "name"]

# The calibration was fitted with these values: changing one requires a new fit.
_WINDOW = 34  # characters on both sides of a fact that tell what it is about: some five words
_EDGE_WINDOW = 16  # characters before a time in which "from" or "until" is looked for
_ELSEWHERE = 0.6  # factor for a conflict whose value does occur in another piece
_MIN_STRENGTH = 0.45  # weaker conflicts are ignored: the pieces are about something else
_ALIKE_PIECE = 0.6  # share of the claim in a piece that makes up for different words next to the fact
_LABELLED = 0.75  # strength of a conflict with a field whose label the claim mentions
_SAME_DAY = 0.8  # strength of a conflict of times on the same weekday
_SAME_REST = 0.75  # share of the claim's other words in a piece from which its name replaces the claim's
_MAX_COMPARISONS = 100_000
"""Limit of fact comparisons, which no sentence reaches, against quadratic time for a page of numbers."""
_UNTIL = re.compile(r"\b(?:until|till|closes?|closing|to|ends?)\b|עד", re.IGNORECASE)
_FROM = re.compile(r"\b(?:from|opens?|opening|starts?|since|at)\b|מ-?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Near:
    """A piece near a claim; `overlap` is the weighted share of the claim's content words in it.

    `label` is the label of a field of structured data, as normalised words.
    """

    analysis: Analysis
    overlap: float
    label: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one fact of the claim; `strength` of a conflict, `instead` the value in the evidence."""

    kind: FactKind
    verdict: Verdict
    start: int
    end: int
    strength: float = 1.0
    instead: str = ""


Fact = TypeVar("Fact")


def _limited(found: Sequence[Fact], against: int) -> Sequence[Fact]:
    return found[: max(1, _MAX_COMPARISONS // max(1, against))]


def find_numbers(claim: Analysis, near: Sequence[Near], far: Sequence[Near]) -> Iterator[Finding]:
    theirs = sum(len(piece.analysis.numbers) + len(piece.analysis.dates) for piece in (*near, *far))
    for number in _limited(claim.numbers, theirs):
        yield _number(claim, number, near, far)


def _number(claim: Analysis, number: Number, near: Sequence[Near], far: Sequence[Near]) -> Finding:
    around = _around(claim, number.start, number.end)
    if any(_holds(number, piece.analysis, claim) for piece in near):
        return Finding("number", "found", number.start, number.end)
    elsewhere = [piece for piece in far if _holds(number, piece.analysis, claim)]
    if any(_labelled(piece, around) for piece in elsewhere):
        return Finding("number", "found", number.start, number.end)
    strength, instead = _number_conflict(claim, number, near)
    if strength > 0:
        strength *= _ELSEWHERE if elsewhere else 1.0
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
    before = text[max(0, number.start - _EDGE_WINDOW) : number.start]
    return "high" if _UNTIL.search(before) else "low" if _FROM.search(before) else ""


def _number_conflict(claim: Analysis, number: Number, near: Sequence[Near]) -> tuple[float, str]:
    """The strongest conflict: a piece about the same thing with another number of the same unit."""
    best = (0.0, "")
    around = _around(claim, number.start, number.end)
    for piece in near:
        for other in piece.analysis.numbers:
            if not _rivals(number, other, claim, piece.analysis):
                continue
            shared = around & _around(piece.analysis, other.start, other.end)
            strength = max(_strength(piece.overlap, len(shared), len(around)), _labelled(piece, around))
            if number.unit == "clock":
                strength = max(strength, _SAME_DAY if claim.weekdays & piece.analysis.weekdays else 0.0)
            if strength > best[0]:
                best = (strength, piece.analysis.text[other.start : other.end])
    return best


def _same_day(claim: Analysis, piece: Analysis) -> bool:
    """Return True if the hours are of the same day; those of several days in one claim are not comparable."""
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
    """The content words next to a position: what a number there is about."""
    return frozenset(w.norm for w in text.around(start, end, _WINDOW) if w.norm not in LIGHT)


def _strength(overlap: float, shared: int, around: int) -> float:
    """The strength of a conflict; 0 if the piece is not about the same thing."""
    local = shared / around if around else overlap
    strength = 0.5 * overlap + 0.5 * local
    return strength if strength >= _MIN_STRENGTH and (shared or overlap >= _ALIKE_PIECE) else 0.0


def _labelled(piece: Near, around: frozenset[str]) -> float:
    """The strength given by a label: 'stars: 4.0' is about the number of stars."""
    return _LABELLED if piece.label and piece.label[-1] in around else 0.0


def find_dates(claim: Analysis, near: Sequence[Near], far: Sequence[Near]) -> Iterator[Finding]:
    theirs = sum(len(piece.analysis.words) for piece in (*near, *far))
    for date in _limited(claim.dates, theirs):
        yield _date(claim, date, near, far)


def _date(claim: Analysis, date: PartialDate, near: Sequence[Near], far: Sequence[Near]) -> Finding:
    if any(_dated(date, piece.analysis) for piece in near):
        return Finding("date", "found", date.start, date.end)
    elsewhere = any(_dated(date, piece.analysis) for piece in far)
    best = (0.0, "")
    around = _around(claim, date.start, date.end)
    for piece in near:
        for other in reversed(piece.analysis.dates):  # a heading's date comes first and is the least specific
            if date_reader.compare(date, other) == "conflict":
                shared = around & _around(piece.analysis, other.start, other.end)
                strength = max(_strength(piece.overlap, len(shared), len(around)), _labelled(piece, around))
                if strength > best[0]:
                    best = (strength, piece.analysis.text[other.start : other.end])
    if best[0] > 0:
        return Finding("date", "conflict", date.start, date.end, best[0] * (_ELSEWHERE if elsewhere else 1.0), best[1])
    return Finding("date", "elsewhere" if elsewhere else "missing", date.start, date.end)


def _dated(date: PartialDate, piece: Analysis) -> bool:
    if any(date_reader.compare(date, other) in ("same", "compatible") for other in piece.dates):
        return True
    if date.month and not date.year and not date.day:
        return any(MONTHS.get(word.text.lower()) == date.month for word in piece.words)
    bare_year = not date.month and date.years == 1
    return bare_year and any(number.value == date.year and not number.unit for number in piece.numbers)


def find_names(claim: Analysis, near: Sequence[Near], known: frozenset[str]) -> Iterator[Finding]:
    """`known`: the claim's content words that occur in the context."""
    missing_words = {word.norm for word in claim.content} - known
    theirs = sum(len(piece.analysis.names) for piece in near)
    mine = _limited(claim.names, theirs + len(claim.content))
    rivals = cache(lambda at: _other_names(near[at].analysis, mine))
    for name in mine:
        own = key(name.text)
        lacking = [part for part in own if part in missing_words]
        if not lacking:
            yield Finding("name", "found", name.start, name.end)
        elif name.sure and not any(_named(name, piece.analysis) for piece in near):
            yield _missing_name(claim, name, near, rivals) or Finding(
                "name", "missing", name.start, name.end, len(lacking) / len(own)
            )
        else:
            yield Finding("name", "found", name.start, name.end)


def _named(name: Name, piece: Analysis) -> bool:
    return any(same_name(name.text, other.text) for other in piece.names)


def _other_names(piece: Analysis, mine: Sequence[Name]) -> list[Name]:
    """The names in a piece that are not in the claim."""
    return [n for n in piece.names if not any(same_name(n.text, own.text) for own in mine)]


def _missing_name(
    claim: Analysis, name: Name, near: Sequence[Near], rivals: Callable[[int], list[Name]]
) -> Finding | None:
    """A missing name is a conflict if a piece says the rest of the claim about another name."""
    own = set(key(name.text))
    others = [w.norm for w in claim.content if w.norm not in own]
    for at, piece in enumerate(near):
        shared = sum(norm in piece.analysis.norms for norm in others)
        if len(others) >= 2 and shared >= _SAME_REST * len(others) and rivals(at):
            instead = rivals(at)[-1].text
            return Finding("name", "conflict", name.start, name.end, shared / len(others), instead)
    return None
