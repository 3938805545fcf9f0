"""The values of a claim (numbers, dates, names): where they stand in a statement, and what stands instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from groundwire.text import dates as date_reader
from groundwire.text import numbers as number_reader
from groundwire.text.dates import PartialDate
from groundwire.text.names import Name, key, same_name
from groundwire.text.numbers import Number
from groundwire.verifiers.lexical.pieces import Analysis
from groundwire.verifiers.rules.statements import Statement

_AGREE = ("same", "compatible")
Fact = TypeVar("Fact")
Strangers = Callable[[Statement], list[Fact]]
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ClaimValue:
    """`exact` ones are numbers and dates; `own` are the words of a name."""

    start: int
    end: int
    own: frozenset[str]
    exact: bool
    held_by: Callable[[Statement], bool]
    rivals_in: Callable[[Statement], Iterator[Place]]


def values(claim: Analysis) -> list[ClaimValue]:
    return [*_numbers(claim), *_dates(claim), *_names(claim)]


def _once_each(find: Strangers[Fact]) -> Strangers[Fact]:
    """What is found in a statement is the same for every value of the claim, so it is looked for once."""
    kept: dict[int, tuple[Statement, list[Fact]]] = {}  # with the statement: no other one gets its id then

    def found(statement: Statement) -> list[Fact]:
        if id(statement) not in kept:
            kept[id(statement)] = (statement, find(statement))
        return kept[id(statement)][1]

    return found


def _numbers(claim: Analysis) -> Iterator[ClaimValue]:
    strange = _once_each(partial(_strange_numbers, claim))
    for n in claim.numbers:
        if n.unit != "clock" and n.kind != "ordinal":
            find, rival = partial(_has_number, n), partial(_other_numbers, strange, n)
            yield ClaimValue(n.start, n.end, frozenset(), True, find, rival)


def _has_number(number: Number, statement: Statement) -> bool:
    years = not number.unit and any(date.year == number.value for date in statement.analysis.dates)
    return years or any(number_reader.compare(number, o) in _AGREE for o in statement.analysis.numbers)


def _strange_numbers(claim: Analysis, statement: Statement) -> list[Number]:
    """Those of a statement that are none of the claim's."""
    return [
        other
        for other in statement.analysis.numbers
        if not any(number_reader.compare(n, other) in _AGREE for n in claim.numbers)
    ]


def _other_numbers(strange: Strangers[Number], number: Number, statement: Statement) -> Iterator[Place]:
    for other in strange(statement):
        if number_reader.compare(number, other) == "conflict":
            yield other.start, other.end


def _dates(claim: Analysis) -> Iterator[ClaimValue]:
    strange = _once_each(partial(_strange_dates, claim))
    for d in claim.dates:
        find, rival = partial(_has_date, d), partial(_other_dates, strange, d)
        yield ClaimValue(d.start, d.end, frozenset(), True, find, rival)


def _has_date(date: PartialDate, statement: Statement) -> bool:
    if any(date_reader.compare(date, other) in _AGREE for other in statement.analysis.dates):
        return True
    return not date.month and any(n.value == date.year and not n.unit for n in statement.analysis.numbers)


def _strange_dates(claim: Analysis, statement: Statement) -> list[PartialDate]:
    return [
        other
        for other in statement.analysis.dates
        if not any(date_reader.compare(d, other) in _AGREE for d in claim.dates)
    ]


def _other_dates(strange: Strangers[PartialDate], date: PartialDate, statement: Statement) -> Iterator[Place]:
    for other in strange(statement):
        if date_reader.compare(date, other) == "conflict":
            yield other.start, other.end


def _names(claim: Analysis) -> Iterator[ClaimValue]:
    """Only sure ones: a capital at the start of a sentence makes no name."""
    strange = _once_each(partial(_strange_names, claim))
    for name in claim.names:
        if name.sure:
            own = frozenset(key(name.text))
            find, rival = partial(_has_name, own), partial(_other_names, strange)
            yield ClaimValue(name.start, name.end, own, False, find, rival)


def _has_name(own: frozenset[str], statement: Statement) -> bool:
    return own <= statement.norms


def _strange_names(claim: Analysis, statement: Statement) -> list[Name]:
    return [
        other
        for other in statement.analysis.names
        if other.sure and not any(same_name(other.text, own.text) for own in claim.names)
    ]


def _other_names(strange: Strangers[Name], statement: Statement) -> Iterator[Place]:
    return ((other.start, other.end) for other in strange(statement))
