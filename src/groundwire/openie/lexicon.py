"""A rule-based part-of-speech tagger for English: word classes, verb forms and tokens.

Only closed classes and common verbs are listed; any other word is tagged as a noun or adjective. Names are
recognised by their capitals, so "Will" and "Mark" are not verbs.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from groundwire.text.dates import MONTH_NAMES, WEEKDAY_NAMES
from groundwire.text.lexicon import NEGATING_ADVERBS, word_set, word_table


class Tag(StrEnum):
    DET = "det"
    PRONOUN = "pronoun"
    RELATIVE = "relative"
    PREP = "prep"
    AND = "and"
    JOIN = "join"
    AUX = "aux"
    MODAL = "modal"
    NOT = "not"
    ADVERB = "adverb"
    TO = "to"
    POSSESSIVE = "possessive"
    NUMBER = "number"
    NAME = "name"
    VERB = "verb"
    WORD = "word"
    STOP = "stop"


class Form(StrEnum):
    BASE = "base"
    THIRD = "third"
    PAST = "past"
    PARTICIPLE = "participle"
    ING = "ing"


class Token(NamedTuple):
    """A word or mark, `text[start:end]` of the sentence; `low` is its lower-case form."""

    text: str
    low: str
    start: int
    end: int
    tag: Tag


_TOKEN = re.compile(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:https?://|www\.)[^\s,;)]+[^\s,;).]"  # addresses are one word
    r"|\b(?:Dr|Mr|Mrs|Ms|Prof|St)\.(?=\s[A-Z])|(?:[^\W\d_]\.){2,}|[$€£₪¥]\s?\d[\d.,]*\d|[$€£₪¥]\s?\d|\d+(?:[.,:/]\d+)*(?:st|nd|rd|th)?%?"
    r"|['’](?:s|re|ve|ll|d|m)\b|[^\W_](?:[^\W_]|(?!['’](?:s|re|ve|ll|d|m)\b)[-'’](?=[^\W_]))*"
    r"|[^\w\s]"
)

_WORDS = {name: word_set(words) for name, words in word_table("openie")["classes"].items()}
DETERMINERS, QUANTIFIERS, MODALS = _WORDS["determiners"], _WORDS["quantifiers"], _WORDS["modals"]
NUMBER_WORDS = _WORDS["number_words"]
POSSESSIVE_PRONOUNS = word_set("my our your his her its their")
CONDITIONS = word_set("if unless whether when whenever once")
BE = word_set("is are was were be been being am isn't aren't wasn't weren't ain't")
HAVE = word_set("has have had hasn't haven't hadn't having")
DO = word_set("do does did don't doesn't didn't")
UNREAL = word_set("could may might should would couldn't mightn't shouldn't wouldn't must mustn't")
TIME_NOUNS = _WORDS["time_nouns"] | {name.lower() for name in (*MONTH_NAMES.values(), *WEEKDAY_NAMES.values())}
TIME_LEADS = word_set("last next this every each early late mid that")
UNITS = _WORDS["units"]
"""Nouns for a part of an organisation, or for the whole."""
MONEY = re.compile(r"[$€£₪¥]?\s?\d")

_VERBS = word_table("verbs")
_REGULAR = frozenset(_VERBS["regular"])
_DOUBLED = frozenset(_VERBS["doubled"])


@lru_cache(maxsize=1)
def _forms() -> dict[str, tuple[tuple[str, Form], ...]]:
    table: dict[str, list[tuple[str, Form]]] = {}

    def add(word: str, base: str, form: Form) -> None:
        if (base, form) not in table.setdefault(word, []):
            table[word].append((base, form))

    irregular = [tuple(row.split()) for row in _VERBS["irregular"]]
    for base, past, participle in irregular:
        add(past, base, Form.PAST)
        add(participle, base, Form.PARTICIPLE)
    for base in sorted(_REGULAR - {row[0] for row in irregular} - {"born"}):
        add(_suffixed(base, "ed"), base, Form.PAST)
        add(_suffixed(base, "ed"), base, Form.PARTICIPLE)
    for base in sorted(_REGULAR | {row[0] for row in irregular}):
        add(base, base, Form.BASE)
        add(_third(base), base, Form.THIRD)
        add(_suffixed(base, "ing"), base, Form.ING)
    add("got", "get", Form.PARTICIPLE)
    return {word: tuple(found) for word, found in table.items()}


def _suffixed(base: str, suffix: str) -> str:
    if base.endswith("ie") and suffix == "ing":
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith("ee"):
        return base[:-1] + suffix
    if base.endswith("y") and base[-2] not in "aeou" and suffix == "ed":
        return base[:-1] + "ied"
    doubled = base in _DOUBLED or (len(base) == 3 and base[-1] in "tndmpgb" and base[-2] in "aeiou")
    return (base + base[-1] if doubled else base) + suffix


def _third(base: str) -> str:
    if base.endswith(("s", "sh", "ch", "x", "z", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeou":
        return base[:-1] + "ies"
    return base + "s"


def verb_forms(word: str) -> tuple[tuple[str, Form], ...]:
    """Verb forms of a word as (base, form) pairs; empty for words that are not known verbs.

    >>> verb_forms("founded")[0][0], verb_forms("table")
    ('found', ())
    """
    return _forms().get(word, ())


def form_of(word: str, *wanted: Form) -> str:
    """The base of a verb in one of the wanted forms, or "". Unknown words in -ed count as participles."""
    found = verb_forms(word)
    for base, form in found:
        if form in wanted:
            return base
    regular = word.endswith("ed") and len(word) > 4 and not found and word.isalpha()
    return word if regular and Form.PARTICIPLE in wanted else ""


def tokens(text: str) -> list[Token]:
    """Tokenise and tag one sentence."""
    found: list[Token] = []
    opening = True
    for match in _TOKEN.finditer(text):
        low = match[0].lower().replace("’", "'")
        tag = _tag(match[0], low, opening)
        opening = opening and tag is Tag.STOP
        found.append(Token(match[0], low, match.start(), match.end(), tag))
    return _retag(found)


_CLASSES: tuple[tuple[frozenset[str], Tag], ...] = (
    (frozenset({"to"}), Tag.TO),
    (frozenset({"and", "or", "&", "nor"}), Tag.AND),
    (NEGATING_ADVERBS, Tag.NOT),
    (BE | HAVE | DO, Tag.AUX),
    (MODALS, Tag.MODAL),
    (word_set("who which whom whose"), Tag.RELATIVE),
    (DETERMINERS, Tag.DET),
    (_WORDS["pronouns"], Tag.PRONOUN),
    (_WORDS["prepositions"], Tag.PREP),
    (_WORDS["joins"], Tag.JOIN),
    (NUMBER_WORDS, Tag.NUMBER),
    (_WORDS["adverbs"], Tag.ADVERB),
)  # fmt: skip


def _tag(word: str, low: str, opening: bool) -> Tag:
    if not any(map(str.isalnum, word)):
        return Tag.AND if word == "&" else Tag.STOP
    if MONEY.match(word):
        return Tag.NUMBER
    if low in ("'s", "'re", "'ve", "'ll", "'d", "'m"):
        return Tag.POSSESSIVE if low == "'s" else Tag.MODAL if low in ("'ll", "'d") else Tag.AUX
    capital = word[0].isupper() or word[1:2].isupper()
    if capital and not opening and low != "i":
        return Tag.NAME
    for words, tag in _CLASSES:
        if low in words:
            return tag
    if low.endswith("ly") and len(low) > 4 and low not in ("family", "supply", "italy", "july", "assembly"):
        return Tag.ADVERB
    if capital:
        return Tag.NAME
    return Tag.VERB if verb_forms(low) else Tag.WORD


def _retag(found: list[Token]) -> list[Token]:
    """Correct tags by context: "'s" after a pronoun is "is", "that" before a noun is a determiner, …"""
    result: list[Token] = []
    for index, token in enumerate(found):
        before = result[-1] if result else None
        after = found[index + 1] if index + 1 < len(found) else None
        result.append(token._replace(tag=_in_context(token, before, after)))
    return result


def _in_context(token: Token, before: Token | None, after: Token | None) -> Tag:
    follows = after.tag if after else Tag.STOP
    if token.tag is Tag.POSSESSIVE:
        is_verb = before is None or before.tag in (Tag.PRONOUN, Tag.RELATIVE) or follows in (
            Tag.DET, Tag.PREP, Tag.NOT, Tag.STOP, Tag.PRONOUN,
        )  # fmt: skip
        return Tag.AUX if is_verb else Tag.POSSESSIVE
    if token.low == "that" and before is not None and (before.tag is Tag.VERB or before.low in _WORDS["before_that"]):
        return Tag.JOIN
    if token.low in ("this", "that", "these", "those"):
        free = follows in (Tag.AUX, Tag.MODAL, Tag.STOP, Tag.PREP, Tag.NOT)
        return Tag.PRONOUN if free and (before is None or before.tag is Tag.STOP) else Tag.DET
    if token.low in DETERMINERS and token.tag is Tag.DET:
        bare = follows in (Tag.AUX, Tag.MODAL, Tag.STOP, Tag.PREP) and token.low not in ("the", "a", "an")
        return Tag.PRONOUN if bare else Tag.DET
    if (
        token.low in _WORDS["frequency_adverbs"]
        and token.tag is Tag.ADVERB
        and follows in (Tag.WORD, Tag.VERB, Tag.NAME)
    ):
        led = before is None or before.tag in (Tag.DET, Tag.POSSESSIVE, Tag.NAME, Tag.PREP, Tag.STOP)
        return Tag.WORD if led else Tag.ADVERB  # "the weekly review", and not "reports weekly"
    if token.low == "no" and follows is Tag.WORD and after and after.low == "longer":
        return Tag.NOT
    return token.tag
