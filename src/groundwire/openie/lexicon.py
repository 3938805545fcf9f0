"""A rule-based part-of-speech tagger for English: word classes, verb forms and tokens.

Only closed classes and common verbs are listed; any other word is tagged as a noun or adjective. Names are
recognised by their capitals, so "Will" and "Mark" are not verbs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from groundwire.text.dates import MONTH_NAMES, WEEKDAY_NAMES
from groundwire.text.lexicon import NEGATING_ADVERBS, word_set, word_sets, word_table
from groundwire.text.names import GIVEN_NAMES, names
from groundwire.text.tokens import cached, is_stop, language_hint
from groundwire.types import Mention, MentionKind


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
DETERMINERS, QUANTIFIERS, MODALS, NUMBER_WORDS, POSSESSIVE_PRONOUNS, CONDITIONS, BE, HAVE, DO, UNREAL = word_sets(
    "openie", "determiners quantifiers modals number_words possessive_pronouns conditions be have do unreal", "classes"
)
TIME_NOUNS = _WORDS["time_nouns"] | {name.lower() for name in (*MONTH_NAMES.values(), *WEEKDAY_NAMES.values())}
TIME_LEADS, UNITS = _WORDS["time_leads"], _WORDS["units"]
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


# Synonymous predicates: normal forms and groups of synonyms (text/data/predicates.toml).
#
# A predicate belongs to every group that lists it: "work in" may refer to a department or a place. Two
# predicates can mean the same if they share a group.

_DATA = word_table("predicates")
_INVERSES: dict[str, str] = {verb: inverse for inverse, verbs in _DATA["inverses"].items() for verb in verbs}
_SPLIT = re.compile(r"[\s_\-/]+")


@cached(4096, 100)
def normal(name: str) -> str:
    """Normal form of a predicate: lower case, words separated by spaces, the verb in its base form.

    >>> normal("works_in"), normal("Founded By"), normal("reports to")
    ('work in', 'founded by', 'report to')
    """
    words = [word for word in _SPLIT.split(name.strip().casefold()) if word]
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.strip())
    if spaced != name.strip() and not words[1:]:
        words = spaced.casefold().split()
    while len(words) > 1 and words[0] in ("is", "was", "has", "are", "the", "were"):
        words = words[1:]
    if words and len(words) > 1:
        past = "" if form_of(words[0], Form.PARTICIPLE) else form_of(words[0], Form.PAST)
        words[0] = form_of(words[0], Form.THIRD) or past or words[0]
    return " ".join(words)


@lru_cache(maxsize=1)
def _table() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for group, members in _DATA["groups"].items():
        for name in members:
            table.setdefault(normal(name), set()).add(group)
    return {name: frozenset(groups) for name, groups in table.items()}


@cached(4096, 100)
def groups(predicate: str) -> frozenset[str]:
    """The synonym groups of a predicate; an unlisted predicate forms its own group."""
    form = normal(predicate)
    found = _table().get(form) or _table().get(form.removesuffix("s")) or _table().get(form + "s")
    return found or frozenset({_bare(form)})


def _bare(form: str) -> str:
    """The form without function words and plural ending."""
    words = [word for word in form.split() if not is_stop(word)] or form.split()
    return " ".join([*words[:-1], words[-1].removesuffix("s")]) if words else form


def same(left: str, right: str) -> bool:
    """True if two predicates can mean the same.

    >>> same("works in", "department"), same("founded in", "founder")
    (True, False)
    """
    return normal(left) == normal(right) or bool(groups(left) & groups(right))


def is_known(predicate: str) -> bool:
    """True if the predicate is listed, so that its synonyms are known."""
    form = normal(predicate)
    return form in _table() or form.removesuffix("s") in _table()


def inverse(predicate: str) -> str:
    """The inverse predicate ("found": "founded by"), or ''."""
    return _INVERSES.get(normal(predicate), "")


# Mentions in a sentence: proper names, definite descriptions ("the Analytics team") and pronouns.
#
# Names are recognised by their capitals (see `text.names`). A single capitalised word at the start of a
# sentence counts only if it is a given name; scripts without capitals are not covered.

_NAMES = {name: word_set(words) for name, words in word_table("openie")["names"].items()}
NAMED_UNITS = UNITS | _NAMES["institutions"]
"""Head nouns of named units: "the Analytics team", "the Atlas project"."""
UNIT_NOUNS = _NAMES["unit_nouns"]
"""Nouns that may be left out of a unit's name: "Analytics" is "the Analytics team"."""
_NO_PERSON = NAMED_UNITS | _NAMES["organisations"]
_NAME_MARKS = re.compile(r"['’-]|\.\Z")
_OPENS_DEFINITE = word_set("the this that our your their")
_PERSONAL = word_set("he she it they him her them his its their")


def mentions(sentence: str) -> list[Mention]:
    """All mentions in order; a name within a definite description is part of it.

    >>> [(m.text, m.kind.value) for m in mentions("She met Ann Lee of the Analytics team.")]
    [('She', 'Pronoun'), ('Ann Lee', 'ProperName'), ('the Analytics team', 'DefiniteDesc')]
    """
    if not sentence.strip():
        return []
    found = tokens(sentence)
    english = language_hint(sentence) == "en"
    described = list(_definite(sentence, found)) if english else []
    named = [(n.text.strip(), n.start) for n in names(sentence) if n.sure or n.text.strip().lower() in GIVEN_NAMES]
    proper = [Mention(text, start, start + len(text), MentionKind.PROPER_NAME) for text, start in named]
    apart = [m for m in proper if not any(d.start <= m.start and m.end <= d.end for d in described)]
    personal = [t for t in found if english and t.low in _PERSONAL and t.tag in (Tag.PRONOUN, Tag.DET)]
    pronouns = [Mention(t.text, t.start, t.end, MentionKind.PRONOUN) for t in personal]
    return sorted([*described, *apart, *pronouns], key=lambda m: m.start)


def _definite(sentence: str, found: list[Token]) -> Iterator[Mention]:
    """Definite articles with their noun phrases."""
    at = 0
    while at < len(found):
        token = found[at]
        at += 1
        if token.low not in _OPENS_DEFINITE or token.tag is not Tag.DET:
            continue
        end = at
        while end < len(found) and found[end].tag in (Tag.NAME, Tag.WORD, Tag.NUMBER) and end - at < 6:
            end += 1
        if end < len(found) and found[end].tag is Tag.VERB and end > at and found[end].low in NAMED_UNITS:
            end += 1
        if end == at or all(t.tag is Tag.NUMBER for t in found[at:end]):
            continue
        body = found[at:end]
        # "the Eiffel Tower" is a name with an article, "the Analytics team" is a description.
        if not all(t.tag is Tag.NAME for t in body):
            yield Mention(sentence[token.start : body[-1].end], token.start, body[-1].end, MentionKind.DEFINITE)
            at = end


def is_person(name: str) -> bool:
    """True if a name starts with a title or given name and contains no word of an organisation."""
    words = [word.strip(".,").lower() for word in name.split()]
    return bool(words) and words[0] in GIVEN_NAMES | _NAMES["titles"] and _NO_PERSON.isdisjoint(words)


def may_be_person(name: str) -> bool:
    """True if a name could be a person's: up to three capitalised words, none typical of a company.

    >>> may_be_person("Dr. Zoë O'Neil"), may_be_person("Jan van der Berg"), may_be_person("Acme Cloud")
    (True, True, False)
    """
    titles, particles, firms = _NAMES["titles"], _NAMES["particles"], _NAMES["firms"]
    words = [word for word in name.split() if word not in particles and word.lower().strip(".") not in titles]
    return 0 < len(words) <= 3 and all(
        word[:1].isupper() and _NAME_MARKS.sub("", word).isalpha() and word.lower() not in _NO_PERSON | firms
        for word in words
    )
