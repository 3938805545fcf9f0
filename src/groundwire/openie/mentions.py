"""Mentions in a sentence: proper names, definite descriptions ("the Analytics team") and pronouns.

Names are recognised by their capitals (see `text.names`). A single capitalised word at the start of a
sentence counts only if it is a given name; scripts without capitals are not covered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.openie import lexicon
from groundwire.openie.lexicon import Tag, Token, tokens
from groundwire.text.lexicon import word_set, word_table
from groundwire.text.names import GIVEN_NAMES, names
from groundwire.text.tokens import language_hint
from groundwire.types import Mention, MentionKind

_WORDS = {name: word_set(words) for name, words in word_table("openie")["names"].items()}
UNITS = lexicon.UNITS | _WORDS["institutions"]
"""Head nouns of named units: "the Analytics team", "the Atlas project"."""
UNIT_NOUNS = _WORDS["unit_nouns"]
"""Nouns that may be left out of a unit's name: "Analytics" is "the Analytics team"."""
_NO_PERSON = UNITS | _WORDS["organisations"]
_NAME_MARKS = re.compile(r"['’-]|\.\Z")
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
    described = list(_definite(sentence, found)) if english else []
    named = [m for m in _named(sentence) if not any(d.start <= m.start and m.end <= d.end for d in described)]
    pronouns = list(_pronouns(found)) if english else []
    every = sorted([*described, *named, *pronouns], key=lambda m: m.start)
    return [Mention(m.text, m.start + offset, m.end + offset, m.kind) for m in every]


def _named(sentence: str) -> Iterator[Mention]:
    for name in names(sentence):
        text = name.text.strip()
        if name.sure or text.lower() in GIVEN_NAMES:
            yield Mention(text, name.start, name.start + len(text), MentionKind.PROPER_NAME)


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
        if end < len(found) and found[end].tag is Tag.VERB and end > at and found[end].low in UNITS:
            end += 1
        if end == at or all(t.tag is Tag.NUMBER for t in found[at:end]):
            continue
        body = found[at:end]
        # "the Eiffel Tower" is a name with an article, "the Analytics team" is a description.
        if not all(t.tag is Tag.NAME for t in body):
            yield Mention(sentence[token.start : body[-1].end], token.start, body[-1].end, MentionKind.DEFINITE)
            at = end


_PERSONAL = word_set("he she it they him her them his its their")


def _pronouns(found: list[Token]) -> Iterator[Mention]:
    for token in found:
        if token.low in _PERSONAL and token.tag in (Tag.PRONOUN, Tag.DET):
            yield Mention(token.text, token.start, token.end, MentionKind.PRONOUN)


def is_person(name: str) -> bool:
    """True if a name starts with a title or given name and contains no word of an organisation."""
    words = [word.strip(".,").lower() for word in name.split()]
    return bool(words) and words[0] in GIVEN_NAMES | _WORDS["titles"] and _NO_PERSON.isdisjoint(words)


def may_be_person(name: str) -> bool:
    """True if a name could be a person's: up to three capitalised words, none typical of a company.

    >>> may_be_person("Dr. Zoë O'Neil"), may_be_person("Jan van der Berg"), may_be_person("Acme Cloud")
    (True, True, False)
    """
    titles, particles, firms = _WORDS["titles"], _WORDS["particles"], _WORDS["firms"]
    words = [word for word in name.split() if word not in particles and word.lower().strip(".") not in titles]
    return 0 < len(words) <= 3 and all(
        word[:1].isupper() and _NAME_MARKS.sub("", word).isalpha() and word.lower() not in _NO_PERSON | firms
        for word in words
    )
