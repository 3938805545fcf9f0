"""Mentions in a sentence: proper names, definite descriptions ("the Analytics team") and pronouns.

Names are recognised by their capitals (see `text.names`). A single capitalised word at the start of a
sentence counts only if it is a given name; scripts without capitals are not covered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from groundwire.openie import lexicon
from groundwire.openie.lexicon import Tag, Token, tokens
from groundwire.text.lexicon import word_set
from groundwire.text.names import GIVEN_NAMES, names
from groundwire.text.tokens import language_hint
from groundwire.types import Mention, MentionKind

UNITS = lexicon.UNITS | word_set(
    "project programme program plan initiative centre center council agency institute"
    " university school hospital bank award prize act report"
)
"""Head nouns of named units: "the Analytics team", "the Atlas project"."""
_OPENS_DEFINITE = word_set("the this that our your their")


def mentions(sentence: str, offset: int = 0) -> list[Mention]:
    """All mentions in order; a name within a definite description is part of it.

    >>> [(m.text, m.kind.value) for m in mentions("She met Ann Lee of the Analytics team.")]
    [('She', 'Pronoun'), ('Ann Lee', 'ProperName'), ('the Analytics team', 'DefiniteDesc')]
    """
    if not sentence.strip():
        return []
    found = tokens(sentence)
    english = language_hint(sentence) == "en"
    described = list(_definite(found)) if english else []
    named = [m for m in _named(sentence) if not any(d.start <= m.start and m.end <= d.end for d in described)]
    pronouns = list(_pronouns(found)) if english else []
    every = sorted([*described, *named, *pronouns], key=lambda m: m.start)
    return [Mention(m.text, m.start + offset, m.end + offset, m.kind) for m in every]


def _named(sentence: str) -> Iterator[Mention]:
    for name in names(sentence):
        text = name.text.strip()
        if name.sure or text.lower() in GIVEN_NAMES:
            yield Mention(text, name.start, name.start + len(text), MentionKind.PROPER_NAME)


def _definite(found: list[Token]) -> Iterator[Mention]:
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
        if end < len(found) and found[end].tag is Tag.VERB and end > at and found[end].low in UNITS:
            end += 1
        if end == at or all(t.tag is Tag.NUMBER for t in found[at:end]):
            continue
        body = found[at:end]
        # "the Eiffel Tower" is a name with an article, "the Analytics team" is a description.
        if not all(t.tag is Tag.NAME for t in body):
            yield _mention(token, body)
            at = end


def _mention(first: Token, body: list[Token]) -> Mention:
    text = first.text
    for before, token in pairwise([first, *body]):
        text += " " * (token.start - before.end) + token.text
    return Mention(text, first.start, body[-1].end, MentionKind.DEFINITE)


_PERSONAL = word_set("he she it they him her them his its their")


def _pronouns(found: list[Token]) -> Iterator[Mention]:
    for token in found:
        if token.low in _PERSONAL and token.tag in (Tag.PRONOUN, Tag.DET):
            yield Mention(token.text, token.start, token.end, MentionKind.PRONOUN)


def is_person(name: str) -> bool:
    """True if a name starts with a title or given name and contains no word of an organisation."""
    words = [word.strip(".,").lower() for word in name.split()]
    if not words or any(word in UNITS or word in _ORGANISATIONS for word in words):
        return False
    return words[0] in GIVEN_NAMES or words[0] in _TITLES


def may_be_person(name: str) -> bool:
    """True if a name could be a person's: up to three capitalised words, none typical of a company.

    >>> may_be_person("Dr. Zoë O'Neil"), may_be_person("Jan van der Berg"), may_be_person("Acme Cloud")
    (True, True, False)
    """
    words = [word for word in name.split() if word not in _PARTICLES and word.lower().strip(".") not in _TITLES]
    return 0 < len(words) <= 3 and all(
        word[:1].isupper()
        and _NAME_MARKS.sub("", word).isalpha()
        and word.lower() not in UNITS | _ORGANISATIONS | _FIRMS
        for word in words
    )


_PARTICLES = word_set("van von der den de la le di da del bin ibn al el")
_NAME_MARKS = re.compile(r"['’-]|\.\Z")
_FIRMS = word_set(
    "robotics systems labs laboratories technologies technology software industries solutions holdings"
    " partners services networks media motors pharma energy foods airlines corporation limited"
    " support desk care sales cloud platform service customer"
)
_TITLES = word_set("mr mrs ms miss dr prof professor sir madam")
_ORGANISATIONS = word_set(
    "inc ltd llc corp gmbh co ag plc university street avenue road airport prize award foundation institute"
    " museum hotel tower bridge river lake mount hospital bank school college stadium cathedral library"
)
