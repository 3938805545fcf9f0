"""What a text is about, as weighted terms: the same for a claim and for a unit, so that they can meet."""

from __future__ import annotations

import re

from groundwire.text.words import Word, is_stop, words

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_NUMBER_WEIGHT = 1.5
_NAME_WEIGHT = 1.3

PRONOUN = re.compile(
    r"[\"'“‘(]*(?:he|she|it|they|his|her|its|their|this|that|these|those|such|both|the (?:former|latter)"
    r"|הוא|היא|הם|הן|זה|זו|זאת|אלה|אלו|هو|هي|هم|他|她|它|他们|这|該)\b",
    re.IGNORECASE,
)
"""A sentence that begins like this is about what the sentence before it names."""


def terms(text: str) -> list[str]:
    """The content words of a unit in comparable form; `OutdoorSeating` is also outdoor and seating.

    >>> terms("attributes OutdoorSeating: no, 1,200 seats")
    ['attribut', 'outdoorseat', 'no', '1200', 'seat', 'outdoor', 'seat']
    """
    found = [term(word) for word in words(text) if not is_stop(word.text)]
    if _CAMEL.search(text):
        split = {term(word): None for part in _camels(text) for word in words(part) if len(word.text) > 2}
        found.extend(split)
    return found


def _camels(text: str) -> list[str]:
    return [_CAMEL.sub(" ", token) for token in re.findall(r"\w+", text) if _CAMEL.search(token)]


def term(word: Word) -> str:
    return word.norm.replace(",", "") if word.text[0].isdigit() else word.norm


def names(text: str) -> str:
    """What a text names: its capitalised words, for a sentence after it that says only "it".

    >>> names("The Eiffel Tower stands in Paris.")
    'Eiffel Tower Paris'
    """
    return " ".join(word.text for word in words(text) if word.text[0].isupper() and not is_stop(word.text))


def weighted(text: str) -> dict[str, float]:
    """The terms of a claim; numbers and names tell more than other words do."""
    found: dict[str, float] = {}
    for position, word in enumerate(words(text)):
        if is_stop(word.text):
            continue
        weight = 1.0
        if word.text[0].isdigit():
            weight = _NUMBER_WEIGHT
        elif position and word.text[0].isupper():
            weight = _NAME_WEIGHT
        key = term(word)
        found[key] = max(weight, found.get(key, 0.0))
    return found
