"""What a trace computes: arithmetic, percentages, unit conversions and spelling within a step; variables,
equations, dates, clock times and derived numbers over several steps.

Everything here is calculated. A text that these rules cannot read gives no result; it is never guessed. The
regular expressions are in text/data/traces.toml.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import combinations, count, pairwise, permutations
from math import isclose
from typing import Any

from groundwire.text.dates import MONTH_NAMES, WEEKDAY_NAMES, PartialDate, dates, weekdays
from groundwire.text.lexicon import expressions
from groundwire.text.numbers import Number, numbers
from groundwire.text.tokens import content_words, words
from groundwire.verifiers.meaning import counted as counted_in
from groundwire.verifiers.meaning import negated

_DIGITS, _SUM, _TERM, _WORDED, _SHARE, _COPULA, _OPERATES, _LETTER = expressions(
    "traces", "digits sum term worded share copula operates letter"
)
_WORD, _SPELLED, _POSITIONS, _SOME, _POSITION_WORD = expressions("traces", "word spelled positions some position_word")
CONCLUDING = frozenset((
    "so", "thus", "hence", "therefore", "total", "sum", "together", "add", "give", "make", "equal", "result",
    "count", "number", "calculate", "compute", "altogether", "get", "answer", "final", "conclusion",
))  # fmt: skip
_OPERATORS = {
    "+": "+", "plus": "+", "times": "*", "multiplied by": "*", **dict.fromkeys("*×x·", "*"),
    "divided by": "/", **dict.fromkeys("/÷", "/"),
}  # fmt: skip
_OPERATION = re.compile(r"\s+(plus|minus|times|multiplied by|divided by)\s+", re.IGNORECASE)
_RESTATES = re.compile(r"\s*,?\s*(?:(?:that is|which is|i\.e\.|that makes)[,:]?\s*|(?P<bracket>\())", re.IGNORECASE)
_SHORT_HOURS = re.compile(r"(?<=\d)\s?h\b")  # "2 h 40 min"
_MEASURED = frozenset(("s", "m", "g", "l", "m2", "B", "K"))
"""Base units of quantities that have several units."""


@dataclass(frozen=True, slots=True)
class DerivedResult:
    """The result of a rule. `holds`: the text is correct; `whole`: it contains nothing else."""

    holds: bool
    reason: str
    whole: bool
    operands: tuple[float, ...] = ()
    result: float | None = None


def _compared(holds: bool, computed: str, stated: str, *more: Any) -> DerivedResult:
    """What was computed, and if the text is wrong what it states; `more` are further fields of the result."""
    return DerivedResult(holds, computed if holds else f"{computed}, not {stated}", *(more or (False,)))


def check_arithmetic(text: str) -> Iterator[DerivedResult]:
    """Recompute the calculations in a text.

    >>> [found.reason for found in check_arithmetic("80 minus 20 equals 60, and 25% of 80 is 25.")]
    ['80 - 20 = 60', '25% of 80 is 20, not 25']
    >>> [found.reason for found in check_arithmetic("150 minutes are 2 hours and 30 minutes.")]
    ['the two amounts are the same']
    """

    def sign(found: re.Match[str]) -> str:
        return f" {_OPERATORS.get(found[1].lower(), '-')} "

    signed = _WORDED.sub(lambda found: f"{_OPERATION.sub(sign, found['left'])} = {found['right']}", text)
    for match in _SUM.finditer(signed):
        terms = _TERM.findall(match["left"])
        expression = "".join(f"{_OPERATORS.get(sign or '+', '-')}{_value(number)!r}" for sign, number in terms)
        value = None if "%" in match["left"] else _evaluated(expression.removeprefix("+"), {})
        if value is not None:
            shown = f"{' '.join(match['left'].split())} = {value:.10g}"
            yield _calculation(signed, match, value, shown, tuple(_value(number) for _, number in terms))
    for match in _SHARE.finditer(text):
        share, whole = _value(match["share"]), _value(match["whole"])
        value = share * whole / 100
        yield _calculation(text, match, value, f"{share:g}% of {whole:.10g} is {value:.10g}", (share, whole))
    yield from _conversions(text)


def _calculation(
    text: str, match: re.Match[str], value: float, shown: str, operands: tuple[float, ...]
) -> DerivedResult:
    """Compare a calculated value with the one written, to the digits written: 10 / 3 = 3.33 is correct."""
    written, claimed = match["right"], _value(match["right"])
    digits = len(written.rstrip("%").partition(".")[2])
    holds = isclose(value, claimed, rel_tol=1e-9, abs_tol=1e-9) or (digits > 0 and round(value, digits) == claimed)
    holds = holds or (match.re is _SHARE and round(value) == claimed)
    whole = content_words(text[: match.start()] + " " + text[match.end() :]) <= CONCLUDING
    return _compared(holds, shown, written, whole, operands, claimed)


def _conversions(text: str) -> Iterator[DerivedResult]:
    """Unit conversions such as "1.5 hours are 90 minutes" and "3 km, that is 3,000 m"."""
    text = _SHORT_HOURS.sub(" hours", text)
    yield from _restated(text)
    copula = _COPULA.search(text)
    if copula is None or negated(words(text)) or _OPERATES.search(text[: copula.start()]):
        return  # "120 km - 80 km = 40 km" does not convert anything
    rest = text
    for number in reversed(numbers(text)):
        rest = f"{rest[: number.start]} {rest[number.end :]}"
    left, right = numbers(text[: copula.start()]), numbers(text[copula.end() :])
    units = {number.unit for number in (*left, *right)}
    if not left or not right or len(units) != 1 or not units <= _MEASURED or any(n.bound for n in right):
        return
    if not content_words(rest) - CONCLUDING:
        one, two = (sum(number.value for number in side) for side in (left, right))
        holds = abs(one - two) <= max(min(n.step for n in right) / 2, 1e-9 * abs(one))
        yield DerivedResult(holds, f"the two amounts are {'' if holds else 'not '}the same", True)


def _restated(text: str) -> Iterator[DerivedResult]:
    """Amounts that are at once given in another unit: "3 km, that is 3,000 m", "2 kg (2,000 g)"."""
    for one, other in pairwise(numbers(text)):
        stated = _RESTATES.fullmatch(text, one.end, other.start)
        if not stated or one.unit != other.unit or one.unit not in _MEASURED:
            continue
        if stated["bracket"] and not text.startswith(")", other.end):
            continue  # "5 km (1 km of it uphill)"
        holds = abs(one.value - other.value) <= max(min(one.step, other.step) / 2, 1e-9 * abs(one.value))
        first, second = (" ".join(text[n.start : n.end].split()) for n in (one, other))
        yield DerivedResult(holds, f"{first} {'is' if holds else 'is not'} {second}", False)


def numbers_in(text: str) -> set[float]:
    """The numbers of a text without their units: 90 for "90 km", 12 for "12 euros"."""
    return {_written(text, number) for number in numbers(text)}


def _written(text: str, number: Number) -> float:
    digits = _DIGITS.search(text, number.start, number.end)
    return _value(digits[0]) if digits else number.value


def _value(number: str) -> float:
    return float(re.sub(r"[$€£%,]", "", number))


# Results that rules can derive: calculations in a step, letters of a word, counts.
#
# A language model reads; it does not calculate. Where a step states a calculation, doing it settles the
# matter.


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
    word = _named(_WORD, text) or _named(_WORD, question)
    for match in _SPELLED.finditer(text):
        spelled = "".join(c for c in match[1] if c.isalpha()).lower()
        if word and len(spelled) >= 3:
            holds = spelled == word
            yield DerivedResult(holds, f"{word} is {'spelled so' if holds else f'not spelled {match[1]}'}", holds)


def _letters(text: str, question: str) -> Iterator[DerivedResult]:
    """Counts and positions of a letter in a word."""
    own = _named(_LETTER, text)
    letter, word = own or _named(_LETTER, question), _named(_WORD, text) or _named(_WORD, question)
    if not letter or not word or not (own or word in text.lower()):
        return
    true = [n for n, c in enumerate(word, 1) if c == letter]
    listed = _POSITIONS.search(text)
    if listed:
        stated = [int(n) for n in re.findall(r"\d+", listed[1])]
        holds = stated == true or (set(stated) < set(true) and bool(_SOME.search(text)))
        where = ", ".join(map(str, true)) or "no position"
        yield _compared(holds, f"{letter} stands at {where} of {word}", f"at {', '.join(map(str, stated))}", True)
        text = text[: listed.start()] + " " * (listed.end() - listed.start()) + text[listed.end() :]
    counted = [n.value for n in counted_in(text) if n.kind == "number" and not n.unit and n.value == int(n.value)]
    if len(counted) == 1 and not _POSITION_WORD.search(text):
        statement = f"{word} has {len(true)} of the letter {letter}"
        yield _compared(counted[0] == len(true), statement, f"{counted[0]:g}", True)


def _named(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text.strip())
    return next(group for group in match.groups() if group).lower() if match else ""


_LEAD_IN, _GIVEN, _REBINDS, _BACKWARD, _COMPUTES, _NOT_DAYS, _INCLUSIVE = expressions(
    "traces", "lead_in given rebinds backward computes not_days inclusive"
)
_ADDS, _MULTIPLIES, _LESS, _MORE = expressions("traces", "adds multiplies less more")


def without_lead_in(text: str) -> str:
    """A step without "So", "Therefore:", "Given:" and the like before what it says.

    >>> without_lead_in("Therefore: so the box has 7 balls."), without_lead_in("Given that it rains.")
    ('the box has 7 balls.', 'it rains.')
    """
    lead = _LEAD_IN.match(text)
    return text[lead.end() :] if lead and lead.end() < len(text) else text


def is_given(text: str) -> bool:
    """True for a step that states what is given: "Given: …", "We are told that …", "Let x be 5"."""
    return bool(_GIVEN.match(text))


# Equations: "X = 5", "Y = X + 3", "2x + 3 = 11".

_NAME = r"[A-Za-z](?:_?\d{1,2})?"
# Possessive: a run of digits is one figure, not each way to cut it into two, which took quadratic time.
_FIGURE = r"[$€£]?(?:\d{1,3}(?:,\d{3})++(?!\d)|\d++)(?:\.\d++)?"
_FACTOR = rf"\({{0,9}}+(?:{_FIGURE}(?:\({{0,9}}+-?(?:{_FIGURE}|{_NAME}\b))?|{_NAME}\b)\)*+"
# Both repetitions are bounded: wherever a chain of any length could be entered, reading it took quadratic time.
_EXPRESSION = rf"-? ?{_FACTOR}(?: ?[-+*/×÷·−^] ?-?{_FACTOR}){{0,40}}+"
# Not within an expression: its beginning has been tried, and its end alone would say something else.
_WITHIN = r"(?<![\w)][-+*/×÷·−])(?<![\w)][-+*/×÷·−^] )(?<![\w)] [-+*/×÷·−^])(?<![\w)] [-+*/×÷·−^] )"
_EQUATION = re.compile(
    rf"(?<![\w.^=<>≤≥]){_WITHIN}({_EXPRESSION}(?: ?= ?{_EXPRESSION}){{1,20}})(?![\w^]| ?[-+*/×÷·−^%(])"
)
_WORDS_TO_SIGNS = (
    (re.compile(r"\s+plus\s+", re.I), " + "),
    (re.compile(r"\s+minus\s+", re.I), " - "),
    (re.compile(r"\s+times\s+", re.I), " * "),
    (re.compile(r"\s+(?:divided by|over)\s+", re.I), " / "),
    (re.compile(r"\blet\s+([A-Za-z])\s+be\s+(?=[-\d(]|[A-Za-z]\b)", re.I), r"\1 = "),
    (re.compile(r"\b([b-hj-zB-HJ-Z])\s+(?:is|equals|is equal to)\s+(?=[-\d(]|[b-hj-zB-HJ-Z]\b)"), r"\1 = "),
    (re.compile(r"(?<=[\w)])\s+(?:equals|is equal to)\s+(?=[-\d(]|[A-Za-z]\b)"), " = "),
)  # fmt: skip
# "5 m = 500 cm" and "30 °C is 86 °F" convert units; they say nothing about variables called m and C.
_ONE_LETTER_UNIT = re.compile(r"(?<=\d)\s?°\s?[A-Z]\b|(?<=\d)\s[mglhstCFKVAWJNL]\b(?=\s*(?:=|is\b|are\b|equals\b))")
_TO_PYTHON = str.maketrans(
    {"×": "*", "·": "*", "÷": "/", "−": "-", "^": "**", "$": None, "€": None, "£": None, ",": None}
)
_PRODUCT = re.compile(r"(?<=\d)\s?(?=[A-Za-z(])|(?<=\))\s?(?=[\w(])")
_OPERATIONS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_MAX_EXPRESSION = 120  # characters; longer ones are no simple algebra
_MAX_POWER = 6


@dataclass(slots=True)
class Algebra:
    """The variables of a trace, and the equations that they must satisfy, each with its variables."""

    values: dict[str, float] = field(default_factory=dict)
    equations: list[tuple[str, str, set[str]]] = field(default_factory=list)

    def read(self, text: str) -> Iterator[DerivedResult]:
        """Check the equations of a step by what is known, then learn from them.

        >>> algebra = Algebra()
        >>> [found.reason for found in algebra.read("Let X = 5 and Y = X + 3.")]
        ['X = 5', 'Y = X + 3']
        >>> [found.reason for found in algebra.read("So Y = 9.")]
        ['Y = 8, not 9']
        """
        changes = bool(_REBINDS.search(text))
        text = _ONE_LETTER_UNIT.sub("", text)
        for pattern, sign in _WORDS_TO_SIGNS:
            text = pattern.sub(sign, text)
        text = " ".join(text.split())  # `_EQUATION` knows single spaces only
        for match in _EQUATION.finditer(text):
            sides = [side.strip() for side in match[1].split("=")]
            if any(map(_variables, sides)) and all(len(side) <= _MAX_EXPRESSION for side in sides):
                for left, right in pairwise(sides):
                    yield from self._read_equation(left, right, changes=changes)

    def _read_equation(self, left: str, right: str, *, changes: bool) -> Iterator[DerivedResult]:
        if left in _variables(right):  # x = x + 1 changes x
            self._forget(left)
            return
        if changes:
            self._forget(left)
        names = _variables(left) | _variables(right)
        unknown = names - self.values.keys()
        if not unknown:
            one, two = _evaluated(left, self.values), _evaluated(right, self.values)
            if one is not None and two is not None:
                holds = _equal(one, two, right)
                shown = f"{left} = {one:.10g}" if left in self.values else f"{left} = {right} gives {one:.10g}"
                reason = f"{left} = {right} is right" if holds else f"{shown}, not {two:.10g}"
                yield DerivedResult(holds, reason, False)
        elif len(unknown) == 1:
            yield from self._solve(unknown.pop(), left, right)
        self.equations.append((left, right, names))

    def _forget(self, name: str) -> None:
        self.values.pop(name, None)
        self.equations = [equation for equation in self.equations if name not in equation[2]]

    def _solve(self, name: str, left: str, right: str) -> Iterator[DerivedResult]:
        """Bind the one unknown of a linear equation, and check the equations that this completes."""
        at = []  # the difference of the sides at 0, 1 and 2
        for trial in (0.0, 1.0, 2.0):
            a, b = (_evaluated(side, {**self.values, name: trial}) for side in (left, right))
            if a is None or b is None:
                return
            at.append(a - b)
        slope = at[1] - at[0]
        if not slope or not isclose(at[2], at[0] + 2 * slope, rel_tol=1e-9, abs_tol=1e-9):
            return
        solution = self.values[name] = -at[0] / slope
        if left == name:
            yield DerivedResult(True, f"{name} = {right}", False)
        for one, two, names in self.equations:
            if name in names:
                a, b = _evaluated(one, self.values), _evaluated(two, self.values)
                if a is not None and b is not None and not _equal(a, b, two):
                    yield DerivedResult(False, f"{name} = {solution:.10g} does not satisfy {one} = {two}", False)


def _variables(expression: str) -> set[str]:
    return set(re.findall(r"[A-Za-z]\w*", _PRODUCT.sub("*", expression.translate(_TO_PYTHON))))


def _evaluated(expression: str, names: dict[str, float]) -> float | None:
    try:
        tree = ast.parse(_PRODUCT.sub("*", expression.translate(_TO_PYTHON)).strip(), mode="eval").body
        return _evaluate(tree, names)
    except (SyntaxError, ValueError, KeyError, ArithmeticError):
        return None


def _evaluate(node: ast.AST, names: dict[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, names)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            power = _evaluate(right, names)
            if abs(power) > _MAX_POWER:
                raise ValueError("the power is too large")
            return float(_evaluate(left, names) ** power)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _OPERATIONS[type(op)](_evaluate(left, names), _evaluate(right, names))
    raise ValueError("not an expression")


def _equal(one: float, two: float, written: str) -> bool:
    """True if equal to the digits written."""
    digits = len(written.partition(".")[2].strip()) if re.fullmatch(r"-?[\d,]+\.\d+\s*", written) else None
    return isclose(one, two, rel_tol=1e-9, abs_tol=1e-9) or (digits is not None and round(one, digits) == two)


# Dates and clock times: "45 minutes after 2:30 pm is 3:15 pm", "10 days after 3 March is 13 March".

_DAY_SECONDS = 86_400
_HALF_DAY = 720  # minutes
_PLAIN_YEAR = 2023  # of dates without a year; not a leap year
_LATER = re.compile(r"\b(?:later|earlier|(?:after|before) (?:that|this|it))\b", re.IGNORECASE)
_LOOK_BACK = 6  # steps before a step that may give the parts of its date or time


def check_calendar(text: str, before: Sequence[str] = ()) -> Iterator[DerivedResult]:
    """Check a clock time, date or weekday that a step computes; `before` are texts that may give its parts.

    >>> [found.reason for found in check_calendar("45 minutes after 2:30 pm is 3:05 pm.")]
    ['it is 3:15 pm, not 3:05 pm']
    >>> [found.holds for found in check_calendar("10 days after March 28, 2024 is April 7, 2024.")]
    [True]
    """
    for found, (number, start, end) in ((d, w) for d in dates(text) if d.year and d.day for w in weekdays(text)):
        gap = text[min(found.end, end) : max(found.start, start)]
        day = _as_day(found, found.year)  # "March 13, 2024 is a Wednesday"
        if day and re.fullmatch(r"\s*(?:,|(?:is|was|falls on|fell on|will be)(?: a)?)\s*", gap):
            right = day.isoweekday()
            yield _compared(right == number, f"it is a {WEEKDAY_NAMES[right]}", f"a {text[start:end]}")
    if not _COMPUTES.search(text):
        return
    yield from _clock(text, before)
    yield from _days(text, before)
    named, spans = weekdays(text), _durations(text, days=True)
    if len(named) == 2 and len(spans) == 1 and not dates(text):  # "3 days after Tuesday is Friday"
        days = int(spans[0].value // _DAY_SECONDS) * (-1 if _BACKWARD.search(text) else 1)
        right = (named[0][0] + days - 1) % 7 + 1
        yield _compared(right == named[1][0], f"it is {WEEKDAY_NAMES[right]}", WEEKDAY_NAMES[named[1][0]])


def _durations(text: str, *, days: bool) -> list[Number]:
    """The durations of a text, of whole days or shorter; "1 hour and 45 minutes" is one."""
    text = _SHORT_HOURS.sub(" hours", text)
    found: list[Number] = []
    for number in numbers(text):
        if number.unit != "s" or (number.value % _DAY_SECONDS == 0) is not days or number.edge:
            continue
        joined = found and re.fullmatch(r"[\s,]*(?:and)?\s*", text[found[-1].end : number.start])
        if joined:
            found[-1] = found[-1]._replace(value=found[-1].value + number.value, end=number.end)
        else:
            found.append(number)
    return found


def _times(text: str) -> list[Number]:
    return [number for number in numbers(text) if number.unit == "clock"]


def _clock(text: str, before: Sequence[str]) -> Iterator[DerivedResult]:
    times, spans = _times(text), _durations(text, days=False)
    signs: tuple[int, ...] = (-1,) if _BACKWARD.search(text) else (1,)
    if len(times) == 1 and not spans:  # "So it arrives at 11:40", after the departure and the duration
        earlier = " ".join(before)
        given = {t.value: t for t in _times(earlier) if t.value != times[0].value}
        lengths = {d.value: d for d in _durations(earlier, days=False)}
        restated = len(given) != len({t.value for t in _times(earlier)})
        times, spans, signs = [*given.values(), *times], [*lengths.values()], (1, -1)
        if restated:
            return
    elif len(times) == 1 and _LATER.search(text):  # "40 minutes later it is 15:15", after a step with a time
        times = [*next(filter(None, map(_times, reversed(before))), ()), *times]
    if len(times) != 2 or len(spans) != 1:
        return
    begin, end = times[0].value, times[1].value
    shown = text[times[1].start : times[1].end].strip(" .")
    # Without a.m. and p.m. 9:40 and 21:40 are the same.
    circle = 2 * _HALF_DAY if re.search(r"[ap]\.?m", text, re.IGNORECASE) else _HALF_DAY
    ends = [begin + sign * spans[0].value / 60 for sign in signs]
    holds = any(round(one - end) % circle == 0 for one in ends)
    hour, minute = divmod(round(ends[0]) % (2 * _HALF_DAY), 60)
    right = f"{hour}:{minute:02d}"
    if re.search(r"[ap]\.?m", shown, re.IGNORECASE):
        right = f"{(hour - 1) % 12 + 1}:{minute:02d} {'pm' if hour >= 12 else 'am'}"
    yield _compared(holds, f"it is {shown if holds else right}", shown)


def _as_day(found: PartialDate, year: int) -> date | None:
    try:
        return date(found.year or year, found.month, found.day)
    except ValueError:
        return None


def _days(text: str, before: Sequence[str]) -> Iterator[DerivedResult]:
    exact, spans = _exact(text), _durations(text, days=True)
    signs: tuple[int, ...] = (-1,) if _BACKWARD.search(text) else (1,)
    if len(exact) == 1 and not spans:
        earlier = " ".join(before)
        given = {(d.month, d.day): d for d in _exact(earlier)}
        if (exact[0].month, exact[0].day) in given:
            return
        lengths = {d.value: d for d in _durations(earlier, days=True)}
        exact, spans, signs = [*given.values(), *exact], [*lengths.values()], (1, -1)
    elif len(exact) == 1 and _LATER.search(text):  # "Two days later is 1 March", after a step with a date
        exact = [*next(filter(None, map(_exact, reversed(before))), ()), *exact]
    if len(exact) != 2 or len(spans) != 1 or _NOT_DAYS.search(text):
        return
    year = exact[0].year or exact[1].year or _PLAIN_YEAR
    first, second = _as_day(exact[0], year), _as_day(exact[1], exact[1].year or exact[0].year or year)
    if first is None or second is None:
        return
    length = timedelta(days=spans[0].value / _DAY_SECONDS)
    ends = [first + sign * length for sign in signs]
    inclusive = abs((second - first).days) + 1 == length.days and bool(_INCLUSIVE.search(text))
    holds = inclusive or any((d.month, d.day) == (second.month, second.day) for d in ends)
    shown = text[exact[1].start : exact[1].end]
    yield _compared(holds, f"it is {MONTH_NAMES[ends[0].month]} {ends[0].day}", shown)


def _exact(text: str) -> list[PartialDate]:
    return [found for found in dates(text) if found.day and found.month]


def computed(texts: Sequence[str], steps: Sequence[str]) -> list[DerivedResult | None]:
    """What the equations, dates and times of each step come to; an error takes precedence, None is neither.

    `texts` are the context, in which variables and parts of a calculation may be given.
    """
    algebra = Algebra()
    for text in texts:
        list(algebra.read(text))
    found: list[DerivedResult | None] = []
    for n, step in enumerate(steps):
        results = [*algebra.read(step), *check_calendar(step, [*texts, *steps[max(0, n - _LOOK_BACK) : n]])]
        found.append(next((one for one in results if not one.holds), results[0] if results else None))
    return found


# Numbers that follow from others: "Each box holds 12. There are 4 boxes. So there are 48."

_MAX_OPERANDS = 8  # numbers tried in combination, whose number grows with the square; the latest are the likeliest
_FACTORS = {
    "half": 2.0, "halves": 2.0, "twice": 2.0, "double": 2.0, "doubled": 2.0, "third": 3.0, "triple": 3.0,
    "quarter": 4.0, "dozen": 12.0, "week": 7.0, "weekly": 7.0, "hour": 60.0, "minutes": 60.0, "year": 12.0,
    "yearly": 12.0, "annual": 12.0,
}  # fmt: skip
"""Numbers that words bring in: days of a week, months of a year, minutes of an hour."""


def derivable(wanted: float, texts: Sequence[str], step: str) -> bool:
    """True if up to three given numbers yield the wanted one by +, −, × and ÷, percentages included.

    Where the texts only add and take away ("buys 2 more"), products do not count.

    >>> derivable(48, ["Each box holds 12 crayons.", "There are 4 boxes."], "So there are 48 crayons.")
    True
    >>> derivable(46, ["Each box holds 12 crayons.", "There are 4 boxes."], "So there are 46 crayons.")
    False
    """
    said = " ".join((*texts, step))
    only_sums = bool(_ADDS.search(said)) and not _MULTIPLIES.search(said)
    given = _operands([*texts, step], wanted)
    totals = (sum(given), sum(given) / len(given)) if len(given) > 2 else ()
    if any(_amounts_to(total, wanted) for total in totals):
        return True
    for one, other in combinations(given, 2):
        if given[one] == given[other]:
            continue
        rest = [number for number in given if given[number] not in (given[one], given[other])]
        for value in _results(one, other, only_sums):
            further = (result for third in rest for result in _results(value, third, only_sums))
            if _amounts_to(value, wanted) or any(_amounts_to(result, wanted) for result in further):
                return True
    return False


def _operands(texts: Sequence[str], wanted: float) -> dict[float, int]:
    """The latest distinct numbers, in the units written, by the number they come from; shares also as what they leave.

    What one number yields is not combined: 125 % over 25 % means nothing.
    """
    found: dict[float, int] = {}
    origin = count()
    for text in texts:
        for number in numbers(text):
            value, at = _written(text, number), next(origin)
            if "%" in text[number.start : number.end + 1]:
                found |= dict.fromkeys(_shares(value / 100, text), at)
            found[value] = at
        found |= {factor: next(origin) for word, factor in _FACTORS.items() if re.search(rf"\b{word}\b", text, re.I)}
    found.pop(wanted, None)
    return dict(list(found.items())[-_MAX_OPERANDS:])


def _shares(share: float, text: str) -> Iterator[float]:
    """A share, what it leaves and what it makes more; of these only the one that the text speaks of.

    >>> list(_shares(0.25, "A discount of 25% applies.")), len(list(_shares(0.25, "It is 25%.")))
    ([0.25, 0.75], 3)
    """
    less, more = _LESS.search(text), _MORE.search(text)
    yield share
    if less or not more:
        yield 1 - share
    if more or not less:
        yield 1 + share


def _results(one: float, other: float, only_sums: bool) -> Iterator[float]:
    yield from (one + other, one - other, other - one)
    if not only_sums:
        yield one * other
        yield from (a / b for a, b in permutations((one, other)) if b)


def _amounts_to(value: float, wanted: float) -> bool:
    return isclose(value, wanted, rel_tol=1e-9, abs_tol=1e-6) or wanted in (round(value, 2), round(value, 1))
