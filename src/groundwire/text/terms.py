"""What a text is about, as weighted terms: the same for a claim and for a unit, so that they can meet."""

from __future__ import annotations

import re

from groundwire.text.words import Word, is_stop, words

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_PM = re.compile(r"\b(\d{1,2})(?::(\d{2}))?\s?[pP]\.?[mM]\b\.?")
_DECIMAL = re.compile(r"\d+\.\d+$")
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

    >>> terms("attributes OutdoorSeating: no, 1,200 seats, 9:0-21:30")
    ['attribut', 'outdoorseat', 'no', '1200', 'seat', '9', '21', '21:30', 'outdoor', 'seat']
    >>> terms("9:30 pm") == terms("21:30")
    True
    """
    found = [form for word in words(_afternoon(text)) if not is_stop(word.text) for form in forms(word)]
    if _CAMEL.search(text):
        split = {form: None for part in _camels(text) for word in words(part) for form in forms(word)}
        found.extend(form for form in split if len(form) > 2)
    return found


def forms(word: Word) -> list[str]:
    """What a word is compared by. A number: `1,200` is 1200, `4.0` is 4; a time also by its hour."""
    if not word.text[0].isdigit():
        return [word.norm]
    number = word.norm.replace(",", "")
    hour, colon, minute = number.partition(":")
    if colon and hour.isdecimal() and minute.isdecimal():
        return [hour.lstrip("0") or "0", *([f"{int(hour)}:{int(minute)}"] if int(minute) else [])]
    return [number.rstrip("0").rstrip(".") if _DECIMAL.match(number) else number]


def _afternoon(text: str) -> str:
    if "m" not in text and "M" not in text:
        return text
    return _PM.sub(lambda match: f"{int(match[1]) % 12 + 12}:{match[2] or '00'}", text)


def _camels(text: str) -> list[str]:
    return [_CAMEL.sub(" ", token) for token in re.findall(r"\w+", text) if _CAMEL.search(token)]


def names(text: str) -> str:
    """What a text names: its capitalised words, for a sentence after it that says only "it".

    >>> names("The Eiffel Tower stands in Paris.")
    'Eiffel Tower Paris'
    """
    return " ".join(word.text for word in words(text) if word.text[0].isupper() and not is_stop(word.text))


def weighted(text: str) -> dict[str, float]:
    """The terms of a claim; numbers and names tell more than other words do."""
    found: dict[str, float] = {}
    for position, word in enumerate(words(_afternoon(text))):
        if is_stop(word.text):
            continue
        weight = 1.0
        if word.text[0].isdigit():
            weight = _NUMBER_WEIGHT
        elif position and word.text[0].isupper():
            weight = _NAME_WEIGHT
        for form in forms(word):
            found[form] = max(weight, found.get(form, 0.0))
    return found
