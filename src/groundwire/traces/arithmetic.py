"""Recompute what a step claims to have computed: arithmetic, percentages, unit conversions, spelling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose

from groundwire.text.numbers import numbers
from groundwire.text.tokens import words
from groundwire.verifiers.meaning import counted as counted_in
from groundwire.verifiers.similarity import negated

_NUMBER = r"[$€£]?\d{1,15}(?:,\d{3})*(?:\.\d{1,9})?%?"
_DIGITS = re.compile(r"\d{1,15}(?:,\d{3})*(?:\.\d{1,9})?")
_UNIT = r"(?:(?!\s?[xyzabn]\b)\s?[A-Za-z°]{1,12})?"  # in "2x + 3" x is a variable
_SUM = re.compile(
    rf"(?<![\w.,^/])(?P<left>-?{_NUMBER}{_UNIT}(?:\s*[-+*/×x·÷−–]\s*{_NUMBER}{_UNIT}){{1,24}})"
    rf"\s*(?:=|equals|is equal to)\s*(?P<right>-?{_NUMBER})(?!\s*[-+*/×·÷(]\s*\d)",
)
_TERM = re.compile(rf"\s*([-+*/×x·÷−–])?\s*({_NUMBER})")
_TIMES, _OVER = frozenset("*×x·"), frozenset("/÷")
CONCLUDING = frozenset((
    "so", "thus", "hence", "therefore", "total", "sum", "together", "add", "give", "make", "equal", "result",
    "count", "number", "calculate", "compute", "altogether", "get", "answer", "final", "conclusion",
))  # fmt: skip
_SIGNS = {"plus": "+", "minus": "-", "times": "*", "multiplied by": "*", "divided by": "/"}
_NAMES = "|".join(_SIGNS)
_OPERATION = re.compile(rf"\s+({_NAMES})\s+", re.IGNORECASE)
_WORDED = re.compile(
    rf"(?<![\w.,^/])(?P<left>{_NUMBER}{_UNIT}(?:\s+(?:{_NAMES})\s+{_NUMBER}{_UNIT}){{1,9}})"
    rf"\s*,?\s*(?:=|equals|is equal to|is|are|gives|makes|leaves)\s*(?P<right>{_NUMBER})",
    re.IGNORECASE,
)
_SHARE = re.compile(
    rf"(?<![\w.,])(?P<share>\d{{1,3}}(?:\.\d{{1,6}})?)\s?(?:%|percent)\s+of\s+(?:the\s+)?(?P<whole>{_NUMBER}){_UNIT}"
    rf"\s*(?:=|equals|is|are)\s*(?P<right>{_NUMBER})(?![\d%])"
)
_COPULA = re.compile(r"\s(?:is|are|has|have|equals?|makes?|=)\s")
_OPERATES = re.compile(r"[-+*/×÷−]\s*[$€£]?\d")
_MEASURED = frozenset(("s", "m", "g", "l", "m2", "B"))
"""Base units of quantities that have several units."""


@dataclass(frozen=True, slots=True)
class DerivedResult:
    """The result of a rule. `holds`: the text is correct; `whole`: it contains nothing else."""

    holds: bool
    reason: str
    whole: bool
    operands: tuple[float, ...] = ()
    result: float | None = None


def check_arithmetic(text: str) -> Iterator[DerivedResult]:
    """Recompute the calculations in a text.

    >>> [found.reason for found in check_arithmetic("80 minus 20 equals 60, and 25% of 80 is 25.")]
    ['the calculation is right: 80 - 20 = 60', '25% of 80 is 20, not 25']
    >>> [found.reason for found in check_arithmetic("150 minutes are 2 hours and 30 minutes.")]
    ['the two amounts are the same']
    """
    yield from _sums(_in_signs(text))
    yield from _shares(text)
    yield from _conversions(text)


def _in_signs(text: str) -> str:
    """Replace words by signs in calculations such as "80 minus 20 is 60"."""
    return _WORDED.sub(lambda found: _OPERATION.sub(_sign, found["left"]) + " = " + found["right"], text)


def _sign(found: re.Match[str]) -> str:
    return f" {_SIGNS[found[1].lower()]} "


def _shares(text: str) -> Iterator[DerivedResult]:
    """Percentages such as "25% of 80 is 20", to the digits written."""
    for match in _SHARE.finditer(text):
        share, whole, claimed = (_value(match[name]) for name in ("share", "whole", "right"))
        value = share * whole / 100
        holds = _same(value, claimed, match["right"]) or round(value) == claimed
        shown = f"{share:g}% of {whole:.10g} is {value:.10g}"
        reason = f"the calculation is right: {shown}" if holds else f"{shown}, not {match['right']}"
        rest = _content(text[: match.start()] + " " + text[match.end() :])
        yield DerivedResult(holds, reason, rest <= CONCLUDING, (share, whole), claimed)


def _conversions(text: str) -> Iterator[DerivedResult]:
    """Unit conversions such as "1.5 hours are 90 minutes"."""
    copula = _COPULA.search(text)
    if copula is None or negated(words(text)) or _content(_without_numbers(text)) - CONCLUDING:
        return
    left, right = numbers(text[: copula.start()]), numbers(text[copula.end() :])
    units = {number.unit for number in (*left, *right)}
    if _OPERATES.search(text[: copula.start()]):
        return  # "120 km - 80 km = 40 km" is no conversion
    if not left or not right or len(units) != 1 or not units <= _MEASURED or any(n.bound for n in right):
        return
    one, two = (sum(number.value for number in side) for side in (left, right))
    holds = abs(one - two) <= max(min(n.step for n in right) / 2, 1e-9 * abs(one))
    reason = "the two amounts are the same" if holds else "the two amounts are not the same"
    yield DerivedResult(holds, reason, True)


def numbers_in(text: str) -> set[float]:
    """The numbers of a text without their units: 90 for "90 km", 12 for "12 euros"."""
    found = set()
    for number in numbers(text):
        digits = _DIGITS.search(text, number.start, number.end)
        found.add(_value(digits[0]) if digits else number.value)
    return found


def _content(text: str) -> set[str]:
    return {w.norm for w in words(text) if not w.is_stop}


def _without_numbers(text: str) -> str:
    for number in reversed(numbers(text)):
        text = f"{text[: number.start]} {text[number.end :]}"
    return text


def _sums(text: str) -> Iterator[DerivedResult]:
    for match in _SUM.finditer(text):
        terms = [(sign or "+", _value(number)) for sign, number in _TERM.findall(match["left"])]
        if any("%" in number for _, number in _TERM.findall(match["left"])):
            continue
        value, claimed = _calculated(terms), _value(match["right"])
        if value is None:
            continue
        rest = _content(text[: match.start()] + " " + text[match.end() :])
        holds = _same(value, claimed, match["right"])
        shown = f"{' '.join(match['left'].split())} = {value:.10g}"
        reason = f"the calculation is right: {shown}" if holds else f"{shown}, not {match['right']}"
        yield DerivedResult(holds, reason, rest <= CONCLUDING, tuple(number for _, number in terms), claimed)


def _value(number: str) -> float:
    return float(number.strip("$€£%").replace(",", "").replace("$", "").replace("€", "").replace("£", ""))


def _calculated(terms: Sequence[tuple[str, float]]) -> float | None:
    """Evaluate products before sums, from left to right; None on division by zero."""
    total, product = 0.0, 0.0
    for n, (sign, number) in enumerate(terms):
        if sign in _TIMES:
            product *= number
        elif sign in _OVER:
            if not number:
                return None
            product /= number
        else:
            total += product
            product = number if sign == "+" or not n else -number
    return total + product


def _same(value: float, claimed: float, written: str) -> bool:
    """True if equal to the digits written: 10 / 3 = 3.33 is correct."""
    digits = len(written.rstrip("%").partition(".")[2])
    return isclose(value, claimed, rel_tol=1e-9, abs_tol=1e-9) or (
        digits > 0 and round(value, digits) == claimed
    )


# Results that rules can derive: calculations in a step, letters of a word, counts.
#
# A language model reads; it does not calculate. Where a step states a calculation, doing it settles the
# matter.

_LETTER = re.compile(
    r"\bletters? ['\"“‘]?(?P<a>[a-z])\b|['\"“‘](?P<b>[a-z])['\"”’]|\b(?P<c>[a-z])['’]s\b"
    r"|\b(?P<d>[a-z]) (?:appears|occurs)",
    re.IGNORECASE,
)
_WORD = re.compile(
    r"\b(?:the )?word ['\"“‘]?(?P<a>[a-z]{3,})|\bin ['\"“‘](?P<b>[a-z]{3,})['\"”’]"
    r"|['\"“‘](?P<c>[a-z]{3,})['\"”’]"
    r"|\b(?:in|of|spell) (?!total|all|the|this|that|each|which|sum|them|order|fact)"
    r"(?P<d>[a-z]{4,})[.?!]?\s*$",
    re.IGNORECASE,
)
_SPELLED = re.compile(r"\b((?:[A-Za-z][-, ·]\s?){2,}[A-Za-z])\b")
_POSITIONS = re.compile(
    r"\b(?:positions?|places?|index(?:es)?|indices)\s+((?:\d{1,3}(?:,\s*(?:and\s+)?|\s+and\s+|\s*&\s*))*\d{1,3})"
)


def derive(text: str, question: str = "") -> DerivedResult | None:
    """The result of the rules for a text; a wrong calculation takes precedence.

    >>> derive("1 + 1 + 1 = 3").holds, derive("So 12 × 4 = 46 crates.").reason
    (True, '12 × 4 = 48, not 46')
    >>> derive("There are 2 r's in strawberry.").reason
    'strawberry has 3 of the letter r, not 2'
    """
    found = [*check_arithmetic(text), *_spelling(text, question), *_letters(text, question)]
    return next((one for one in found if not one.holds), found[0] if found else None)


def _spelling(text: str, question: str) -> Iterator[DerivedResult]:
    """Compare a spelled-out word ('s-t-r-a-w') with the word it spells."""
    word = _word(text) or _word(question)
    for match in _SPELLED.finditer(text):
        spelled = "".join(c for c in match[1] if c.isalpha()).lower()
        if not word or len(spelled) < 3:
            continue
        holds = spelled == word
        reason = f"{word} is spelled so" if holds else f"{word} is not spelled {match[1]}"
        yield DerivedResult(holds, reason, holds)


def _letters(text: str, question: str) -> Iterator[DerivedResult]:
    """Counts and positions of a letter in a word."""
    letter, word = _letter(text) or _letter(question), _word(text) or _word(question)
    if not letter or not word or not (_letter(text) or word in text.lower()):
        return
    true = [n for n, c in enumerate(word, 1) if c == letter]
    listed = _POSITIONS.search(text)
    if listed:
        stated = [int(n) for n in re.findall(r"\d+", listed[1])]
        holds = stated == true or (set(stated) < set(true) and bool(_SOME.search(text)))
        where = ", ".join(map(str, true)) or "no position"
        statement = f"{letter} stands at {where} of {word}"
        yield DerivedResult(
            holds, statement if holds else f"{statement}, not at {', '.join(map(str, stated))}", True
        )
        text = text[: listed.start()] + " " * (listed.end() - listed.start()) + text[listed.end() :]
    counted = [
        n.value for n in counted_in(text) if n.kind == "number" and not n.unit and n.value == int(n.value)
    ]
    if len(counted) == 1 and not _POSITION_WORD.search(text):
        holds = counted[0] == len(true)
        statement = f"{word} has {len(true)} of the letter {letter}"
        yield DerivedResult(holds, statement if holds else f"{statement}, not {counted[0]:g}", True)


_SOME = re.compile(r"\b(?:first|second|third|one|two|also|another|last)\b", re.IGNORECASE)
_POSITION_WORD = re.compile(
    r"\b(?:position|place|so far|index|first|second|third|last|step)\b", re.IGNORECASE
)


def _letter(text: str) -> str:
    match = _LETTER.search(text)
    return next(group for group in match.groups() if group).lower() if match else ""


def _word(text: str) -> str:
    match = _WORD.search(text.strip())
    return next(group for group in match.groups() if group).lower() if match else ""
