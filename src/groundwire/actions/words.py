"""The word lists and patterns of `words.toml`, stemmed and compiled."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files

from groundwire.text.lexicon import word_set
from groundwire.text.tokens import is_stop, stem

_DATA = tomllib.loads(files("groundwire.actions").joinpath("words.toml").read_text(encoding="utf-8"))
_DOUBLED = re.compile(r"([bdglmnprt])\1$|[ae]ll$")
_KEEP_DOUBLED = word_set("add install call fill kill pull roll bill tell sell poll uninstall scroll enroll")


def lemma(word: str) -> str:
    """The stem of a verb or noun, without a doubled consonant or final e.

    >>> lemma("cancelled"), lemma("sent"), lemma("move"), lemma("Moved"), lemma("adding")
    ('cancel', 'send', 'mov', 'mov', 'add')
    """
    low = word.lower().strip("-")
    low = low if len(low.rpartition("-")[2]) < 4 else low.rpartition("-")[2]  # force-pushed, double-checked
    found = (_DATA["irregular"].get(low) or stem(low)).removesuffix("e")
    return found[:-1] if _DOUBLED.search(found) and found not in _KEEP_DOUBLED else found


def _groups(table: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for group, words in table.items():
        for word in words.split():
            found.setdefault(lemma(word), set()).add(group)
    return {word: frozenset(groups) for word, groups in found.items()}


def _stems(name: str) -> frozenset[str]:
    return frozenset(map(lemma, _DATA["lists"][name].split()))


VERB_GROUPS, NOUN_GROUPS, TOOL_GROUPS, OBJECTS = map(
    _groups, (_DATA["verbs"], _DATA["nouns"], _DATA["tools"], _DATA["objects"])
)
AMBIGUOUS, COMMON, LIGHT, LIGHT_TOOLS, DESCRIBING, TEXTS, THINGS, SHOWN, MAKING, GENERIC = map(
    _stems,
    ("ambiguous", "common", "light", "light_tools", "describing", "texts", "things", "shown", "making", "generic"),
)
IRREGULAR_PAST = word_set(_DATA["lists"]["irregular"])
NOT_NAMES = word_set(_DATA["lists"]["names_of_none"])
IDIOMS = {group: re.compile("|".join(parts), re.IGNORECASE) for group, parts in _DATA["idioms"].items()}
SHELL_GROUPS = {group: re.compile("|".join(parts), re.IGNORECASE) for group, parts in _DATA["shell"].items()}


def pattern(name: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    """A pattern of `words.toml`: its alternatives, anywhere in a text of several lines."""
    return re.compile("|".join(f"(?:{part})" for part in _DATA["patterns"][name]), flags | re.MULTILINE)


def content_words(text: str) -> set[str]:
    """The stems of the words that mean something."""
    words = re.findall(r"[A-Za-z][A-Za-z']{2,}", text.replace("_", " "))
    return {lemma(word.removesuffix("'s")) for word in words if not is_stop(word.lower())}


def any_groups(words: Iterable[str], table: Mapping[str, frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*(table.get(word, frozenset()) for word in words))
