"""Synonymous predicates: normal forms and groups of synonyms (text/data/predicates.toml).

A predicate belongs to every group that lists it: "work in" may refer to a department or a place. Two
predicates can mean the same if they share a group.
"""

from __future__ import annotations

import re
from functools import lru_cache

from groundwire.openie.lexicon import Form, form_of
from groundwire.text.lexicon import word_table
from groundwire.text.tokens import is_stop

_DATA = word_table("predicates")
_INVERSES: dict[str, str] = {verb: inverse for inverse, verbs in _DATA["inverses"].items() for verb in verbs}
_SPLIT = re.compile(r"[\s_\-/]+")


@lru_cache(maxsize=4096)
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
    for group, names in _DATA["groups"].items():
        for name in names:
            table.setdefault(normal(name), set()).add(group)
    return {name: frozenset(groups) for name, groups in table.items()}


@lru_cache(maxsize=4096)
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
