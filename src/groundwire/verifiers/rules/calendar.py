"""Flag a weekday or month that differs from the one in an otherwise matching sentence.

The network of generation three does not separate these words; its successor is trained to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groundwire.text.dates import MONTHS, WEEKDAYS
from groundwire.text.lexicon import NEGATIONS
from groundwire.text.tokens import Word
from groundwire.verifiers.lexical.pieces import analyse
from groundwire.verifiers.rules.finding import RuleResult
from groundwire.verifiers.rules.statements import Statement

_SURE = 0.9
_SHORTEST = 3
# "Monday to Friday", "every day except Monday", "in winter": what is said of more days than it names.
_OPEN = re.compile(
    r"\b(?:(?:every|each)(?! (?:year|week)\b)|any|all|daily|weekdays?|weekends?|except|excluding|until|till"
    r"|through|to|from|since|between|before|after|other|another|summer|winter|spring|autumn|season"
    r"|quarter|or)\b|[-–—/]",
    re.IGNORECASE,
)
_PLAIN_WORDS = frozenset({"may", "march", "mar", "mon", "sun", "sat", "wed", "jan", "dec", "sep"})


@dataclass(frozen=True, slots=True)
class NamedDay:
    """A day or a month as it is named, one of seven or of twelve."""

    kind: str
    number: int
    word: Word


def calendar(claim_text: str, statements: Sequence[Statement]) -> Iterator[RuleResult]:
    """A day or month that nothing names, where a statement that says all the rest names another one."""
    claim = analyse(claim_text)
    if _OPEN.search(claim_text) or _is_denied(claim.words):
        return
    mine = list(_named(claim.words))
    for kind in {named.kind for named in mine}:
        wanted = [named for named in mine if named.kind == kind]
        if len(wanted) == 1 and not any(_names(s, wanted[0]) for s in statements):
            yield from _instead(wanted[0], claim.words, statements)


def _instead(wanted: NamedDay, words: Sequence[Word], statements: Sequence[Statement]) -> Iterator[RuleResult]:
    rest = {w.norm for w in analyse(" ".join(w.text for w in words if w is not wanted.word)).content}
    for statement in statements:
        theirs = [n for n in _named(statement.analysis.words) if n.kind == wanted.kind]
        if not theirs or not rest or not rest <= statement.norms or _is_denied(statement.analysis.words):
            continue
        if not _OPEN.search(statement.text):
            said = " and ".join(n.word.text for n in theirs[:2])
            yield RuleResult("no", _SURE, wanted.word.start, wanted.word.end, f"the sources say {said} here")
            return


def _named(words: Sequence[Word]) -> Iterator[NamedDay]:
    for word in words:
        text = word.text.lower()
        if text in _PLAIN_WORDS and not word.text[0].isupper():
            continue
        day = WEEKDAYS.get(text.removesuffix("s") if len(text) > _SHORTEST + 1 else text)
        if day:
            yield NamedDay("day", day, word)
        elif text in MONTHS:
            yield NamedDay("month", MONTHS[text], word)


def _names(statement: Statement, wanted: NamedDay) -> bool:
    return any((n.kind, n.number) == (wanted.kind, wanted.number) for n in _named(statement.analysis.words))


def _is_denied(words: Sequence[Word]) -> bool:
    return any(word.text.lower() in NEGATIONS for word in words)
