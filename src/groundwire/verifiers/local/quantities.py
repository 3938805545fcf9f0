"""Numbers of a claim against the numbers of its evidence: stated, computed from others, or absent.

The network reads numbers as tokens and cannot calculate. This module recomputes: sums, differences, products,
ratios, shares and changes in per cent. The calibration learns how much the result counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from groundwire.text.dates import dates
from groundwire.text.numbers import Number, compare, numbers

MAX_NUMBERS = 20
"""Numbers of the evidence that are combined: beyond, some pair gives almost any result by chance."""

MAX_TERMS = 9
"""Numbers among which sums of three to five terms are looked for."""

_LOOSE = 0.08
"""Relative error allowed where the claim says "about", "almost", "over" or "under"."""

_TRIVIAL = frozenset({1.0, 2.0})
"""Bare counts that are often articles or pronouns in disguise: "one of them", "the two"."""

_NEXT_WORD = re.compile(r"[ -](\w+)")
"""What a number counts: of several in a sentence, the one of "rooms" is meant where the claim counts rooms."""

_DIGITS = re.compile(r"\d[\d.,]*")


@dataclass(frozen=True, slots=True)
class NumberCheck:
    """What became of a claim's numbers. `reason` shows the calculation, or what the evidence says instead."""

    absent: bool = False
    derived: bool = False
    reason: str = ""

    @property
    def replaced(self) -> bool:
        """Whether the evidence gives one other value in the unit of a number that it lacks."""
        return self.absent and bool(self.reason)


NO_NUMBERS = NumberCheck()


def check_numbers(claim: str, evidence: str) -> NumberCheck:
    """Compare every number of the claim with the evidence.

    >>> check_numbers("The tower is 97 metres tall.", "The tower has a height of 67 metres.")
    NumberCheck(absent=True, derived=False, reason='the source says “67 metres”, not “97 metres”')
    >>> check_numbers("They sold 42 tickets.", "They sold 30 tickets on Monday and 12 on Tuesday.").reason
    '30 + 12 = 42'
    """
    wanted = [number for number in numbers(claim) if number.kind != "ordinal"]
    if not wanted:
        return NO_NUMBERS
    found = numbers(evidence)
    years = {date.year for date in dates(evidence)}
    calculations = []
    for number in wanted:
        if _is_stated(claim, number, evidence, found) or number.value in years:
            continue
        calculation = _calculation(claim, number, evidence, found)
        if not calculation:
            value = _instead(number, evidence, [other for other in found if other.unit])
            reason = f"the source says “{value}”, not “{_written(claim, number)}”" if value else ""
            return NumberCheck(absent=True, reason=reason)
        calculations.append(calculation)
    return NumberCheck(derived=bool(calculations), reason="; ".join(calculations))


def _is_stated(claim: str, number: Number, evidence: str, found: Sequence[Number]) -> bool:
    if not number.unit and number.value in _TRIVIAL:
        return True
    if any(compare(number, other) in ("same", "compatible") for other in found):
        return True
    # Digits inside codes, dates and versions are no numbers to `numbers`, but the evidence states them.
    digits = _DIGITS.match(claim[number.start : number.end])
    if digits is None:
        return False
    return bool(re.search(rf"(?<![\d.,]){re.escape(digits[0].rstrip('.,'))}(?![\d.,]*\d)", evidence))


def _calculation(claim: str, number: Number, evidence: str, found: Sequence[Number]) -> str:
    """The first calculation over the evidence's numbers that gives this one, written out; "" if none does."""
    usable = [other for other in found if other.kind not in ("ordinal", "time")][:MAX_NUMBERS]
    close = _tolerance(number)
    for value, terms, sign in _results(number, usable):
        if close(value):
            written = f" {sign} ".join(_written(evidence, term) for term in terms)
            return f"{written} = {_written(claim, number)}"
    return ""


def _results(number: Number, usable: Sequence[Number]) -> Iterator[tuple[float, tuple[Number, ...], str]]:
    same = [other for other in usable if other.unit == number.unit]
    if number.kind == "percent":
        for a, b in permutations([other for other in usable if other.kind != "percent"], 2):
            if a.unit == b.unit and b.value:
                yield 100 * a.value / b.value, (a, b), "/"
                yield 100 * abs(a.value - b.value) / abs(b.value), (a, b), "against"
    for a, b in combinations(same, 2):
        yield a.value + b.value, (a, b), "+"
        big, small = (a, b) if a.value >= b.value else (b, a)
        yield big.value - small.value, (big, small), "−"
    plain = [other for other in usable if other.unit in ("", number.unit)]
    for a, b in combinations(plain, 2):
        if a.unit in ("", number.unit) and (not a.unit or not b.unit):
            yield a.value * b.value, (a, b), "×"
    for a, b in permutations(plain, 2):
        if b.value and (a.unit == b.unit) == (not number.unit):
            yield a.value / b.value, (a, b), "/"
    for count in (3, 4, 5):
        for terms in combinations(same[:MAX_TERMS], count):
            yield sum(term.value for term in terms), terms, "+"


def _tolerance(number: Number) -> Callable[[float], bool]:
    """Whether a computed value is the claim's number as it is written, with the rounding it allows."""
    exact = 1e-6 * abs(number.value)
    rounded = 0.51 * number.step if abs(number.value) >= 10 * number.step else exact
    loose = _LOOSE * abs(number.value) if number.bound else 0.0
    slack = max(exact, rounded, loose)
    return lambda value: abs(value - number.value) <= slack


def value_instead(claim: str, sentence: str) -> str:
    """The value that one sentence gives in place of a number of the claim; empty if that is not clear."""
    found = numbers(sentence)
    for number in numbers(claim):
        if number.kind != "ordinal" and not _is_stated(claim, number, sentence, found):
            noun = _NEXT_WORD.match(claim, number.end)
            named = [o for o in found if noun and (m := _NEXT_WORD.match(sentence, o.end)) and m[1] == noun[1]]
            return _instead(number, sentence, named or found)
    return ""


def _instead(number: Number, evidence: str, found: Sequence[Number]) -> str:
    """What the evidence says in the same unit, if it says one thing."""
    others = {_written(evidence, other) for other in found if other.unit == number.unit and other.kind == number.kind}
    return others.pop() if len(others) == 1 else ""


def _written(text: str, number: Number) -> str:
    return text[number.start : number.end].strip()
