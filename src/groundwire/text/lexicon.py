"""Word lists shared by all packages: stop words, irregular forms, negation, opposites, speech verbs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def forms(table: str) -> dict[str, str]:
    """Parse a table `base: form form; base: form …` into a mapping from form to base."""
    rows = (row.partition(":") for row in table.split(";"))
    return {form: base.strip() for base, _, inflected in rows for form in inflected.split()}


@lru_cache(maxsize=16)
def word_table(name: str) -> dict[str, Any]:
    """Read `text/data/NAME.toml`, where the long word lists are."""
    return tomllib.loads((Path(__file__).parent / "data" / f"{name}.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=8)
def grammar(name: str) -> dict[str, Any]:
    """Read the regular expressions of `text/data/NAME.toml`.

    An entry of `words` is a list of alternatives, with `_` for a space; a list in `patterns` is joined.
    `@part@` stands for an entry before it. `lists` hold several expressions each.
    """
    table = word_table(name)
    found: dict[str, Any] = {
        key: "|".join(words.split()).replace("_", " ") for key, words in table.get("words", {}).items()
    }

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(item) for item in value]
        return re.sub(r"@(\w+)@", lambda part: str(found[part[1]]), value)

    for key, value in table["patterns"].items():
        found[key] = filled("".join(value))
    return found | {key: filled(value) for key, value in table.get("lists", {}).items()}


def word_sets(name: str, entries: str, section: str = "tables") -> Iterator[frozenset[str]]:
    """These entries of a section of a file, with `_` for a space within a word."""
    return (frozenset(w.replace("_", " ") for w in word_table(name)[section][e].split()) for e in entries.split())


def expressions(name: str, entries: str) -> Iterator[re.Pattern[str]]:
    """Compile these entries of a grammar."""
    return (re.compile(grammar(name)[entry]) for entry in entries.split())


_WORDS = word_table("words")
STOP_EN = frozenset(_WORDS["stop_en"])
STOP_HE = frozenset(_WORDS["stop_he"])
STOP = STOP_EN | STOP_HE
FOREIGN_FUNCTION_WORDS = frozenset(_WORDS["foreign"])
IRREGULAR: dict[str, str] = {form: base for base, found in _WORDS["irregular"].items() for form in found}
NEGATIONS = frozenset(_WORDS["negations"])
"""Words that negate a statement, or verbs that imply its negation, in English, Hebrew and Arabic."""

NEGATING_ADVERBS = word_set("not never n't neither nor hardly barely")
"""The words that negate an English verb."""

SPEECH_VERBS = word_set(_WORDS["speech_verbs"])
"""Verbs after which a clause is reported, not asserted."""


def _opposites(table: str) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for axis, row in enumerate(table.strip().splitlines()):
        for side, adjectives in enumerate(row.split("/")):
            found |= dict.fromkeys(adjectives.split(), (axis, side))
    return found


CATEGORIES = _opposites(_WORDS["opposites"])
"""Adjectives with an opposite: word → (pair, side)."""

EXCLUSIVE = CATEGORIES | {
    word: (len(CATEGORIES) + axis, side) for word, (axis, side) in _opposites(_WORDS["properties"]).items()
}
"""The same, with properties of which a thing as a whole has one, though its parts may differ: colours."""

OPPOSED_VERBS: dict[str, tuple[str, ...]] = {verb: tuple(others) for verb, others in _WORDS["opposed_verbs"].items()}
"""Verbs that exclude each other for the same subject."""
