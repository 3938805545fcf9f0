"""How many there are: a number of things, held against the things themselves where the sources list them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from groundwire.text.numbers import Number
from groundwire.text.tokens import normalise
from groundwire.verifiers.lexical.pieces import Analysis, analyse, content_norms
from groundwire.verifiers.rules.finding import RuleResult
from groundwire.verifiers.rules.statements import Listing, Statement, in_line

_COVERS = 0.6
_BORNE_OUT = 0.8
_MOST = 60
_AFTER = 28
_OF = re.compile(r"\b(?:number|count|total) of (?:\w+ ){0,2}?(\w+)", re.IGNORECASE)
_LETTER = re.compile(
    r"\bletters? ['\"“]?(?P<a>[a-z])\b|\b(?P<b>[a-z])['’]s\b"
    r"|\b(?:occurrences?|instances?) of (?:the letter )?['\"“]?(?P<c>[a-z])\b",
    re.IGNORECASE,
)
_IN_WORD = re.compile(
    r"\bword ['\"“]?([a-z]{3,})\b|\bin ['\"“]([a-z]{3,})['\"”]"
    r"|\b(?:in|of) (?!total\b|all\b|the\b)([a-z]{3,})[.?!]?$",
    re.IGNORECASE,
)


def counts(claim_text: str, listings: Sequence[Listing], statements: Sequence[Statement]) -> Iterator[RuleResult]:
    claim = analyse(claim_text)
    numbers = [n for n in claim.numbers if n.kind == "number" and not n.unit and n.value in range(1, _MOST)]
    spelled = _letters(claim_text) if numbers else None
    of = _OF.search(claim_text) if numbers else None
    fitting = cache(lambda at: _is_of(claim, listings[at], statements))
    for number in numbers:
        noun = frozenset({normalise(of[1])}) if of else _counted(claim, number)
        ruling = (
            _ruling(number, spelled) if spelled is not None else _listed(number, noun, listings, fitting, statements)
        )
        if ruling is not None:
            yield ruling
    if not numbers and any(_repeats(mine, claim, listing) for mine in in_line(claim_text) for listing in listings):
        yield RuleResult("yes", _BORNE_OUT, 0, len(claim_text), "the sources list these")


def _repeats(mine: Listing, claim: Analysis, listing: Listing) -> bool:
    """Whether a claim names nothing but what a listing lists, and calls it the same or nothing at all."""
    theirs = {content_norms(item) for item in listing.items}
    if not all(content_norms(item) in theirs for item in mine.items):
        return False
    rest = mine.lead - listing.lead
    return bool(mine.lead & listing.lead or not mine.lead) and len(rest) <= (1 - _COVERS) * len(
        {w.norm for w in claim.content}
    )


def _letters(claim: str) -> int | None:
    """Letters of a word are counted by counting them."""
    letter, word = _LETTER.search(claim), _IN_WORD.search(claim)
    if not letter or not word:
        return None
    wanted = next(group for group in letter.groups() if group).lower()
    spelled = next(group for group in word.groups() if group).lower()
    return spelled.count(wanted)


def _ruling(number: Number, counted: int) -> RuleResult:
    right = counted == number.value
    said = f"{counted} can be counted" if not right else "the count is right"
    return RuleResult("yes" if right else "no", 0.9, number.start, number.end, said)


def _listed(
    number: Number,
    noun: frozenset[str],
    listings: Sequence[Listing],
    fitting: Callable[[int], bool],
    statements: Sequence[Statement],
) -> RuleResult | None:
    for at, listing in enumerate(listings):
        if noun & listing.lead and fitting(at):
            ruling = _ruling(number, len(listing.items))
            return None if ruling.denies and _stated(number, noun, statements) else ruling
    return None


def _is_of(claim: Analysis, listing: Listing, statements: Sequence[Statement]) -> bool:
    """Whether the claim is about what is listed: no name of the sources in it that the listing lacks."""
    items = frozenset().union(*(content_norms(item) for item in listing.items))
    known = frozenset().union(*(s.norms for s in statements))
    wanted = {w.norm for w in claim.content} - items
    named = {norm for name in claim.names for norm in content_norms(name.text)} & known - items
    return named <= listing.lead and len(wanted & listing.lead) >= _COVERS * len(wanted)


def _counted(claim: Analysis, number: Number) -> frozenset[str]:
    """What is counted: the words right behind the number, where no 'the number of' says it."""
    behind = [w for w in claim.around(number.end, number.end, _AFTER) if number.end <= w.start]
    return frozenset(w.norm for w in behind[:2])


def _stated(number: Number, noun: frozenset[str], statements: Sequence[Statement]) -> bool:
    """Whether some statement gives this very number of them."""
    return any(
        other.value == number.value and not other.unit and noun & statement.own
        for statement in statements
        for other in statement.analysis.numbers
    )
