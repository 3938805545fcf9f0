"""What can be derived by rule: what a step reckons out, letters of a word, counts.

A language model reads; it does not calculate. Where a step states a calculation, doing it settles the matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.traces.reckoning import Derived, reckoned
from groundwire.verifiers.meaning import counted as counted_in

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


def derive(text: str, question: str = "") -> Derived | None:
    """What rules say about a text; a calculation that is wrong wins over everything that is right.

    >>> derive("1 + 1 + 1 = 3").holds, derive("So 12 × 4 = 46 crates.").reason
    (True, '12 × 4 = 48, not 46')
    >>> derive("There are 2 r's in strawberry.").reason
    'strawberry has 3 of the letter r, not 2'
    """
    found = [*reckoned(text), *_spelling(text, question), *_letters(text, question)]
    return next((one for one in found if not one.holds), found[0] if found else None)


def _spelling(text: str, question: str) -> Iterator[Derived]:
    """'s-t-r-a-w' against the word it spells, where a word is named."""
    word = _word(text) or _word(question)
    for match in _SPELLED.finditer(text):
        spelled = "".join(c for c in match[1] if c.isalpha()).lower()
        if not word or len(spelled) < 3:
            continue
        holds = spelled == word
        reason = f"{word} is spelled so" if holds else f"{word} is not spelled {match[1]}"
        yield Derived(holds, reason, holds)


def _letters(text: str, question: str) -> Iterator[Derived]:
    """How often a letter stands in a word, and where."""
    letter, word = _letter(text) or _letter(question), _word(text) or _word(question)
    if not letter or not word or not (_letter(text) or word in text.lower()):
        return
    true = [n for n, c in enumerate(word, 1) if c == letter]
    listed = _POSITIONS.search(text)
    if listed:
        said = [int(n) for n in re.findall(r"\d+", listed[1])]
        holds = said == true or (set(said) < set(true) and bool(_SOME.search(text)))
        where = ", ".join(map(str, true)) or "no position"
        told = f"{letter} stands at {where} of {word}"
        yield Derived(holds, told if holds else f"{told}, not at {', '.join(map(str, said))}", True)
        text = text[: listed.start()] + " " * (listed.end() - listed.start()) + text[listed.end() :]
    counted = [
        n.value for n in counted_in(text) if n.kind == "number" and not n.unit and n.value == int(n.value)
    ]
    if len(counted) == 1 and not _POSITION_WORD.search(text):
        holds = counted[0] == len(true)
        told = f"{word} has {len(true)} of the letter {letter}"
        yield Derived(holds, told if holds else f"{told}, not {counted[0]:g}", True)


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
