"""Grammars in data files: parts stand for one another, and every expression compiles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from groundwire.text import lexicon
from groundwire.text.lexicon import expressions, grammar, word_table

DATA = Path(lexicon.__file__).parent / "data"
GRAMMARS = [path.stem for path in sorted(DATA.glob("*.toml")) if "patterns" in word_table(path.stem)]


def test_words_are_alternatives_and_parts_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {
        "words": {"greeting": "hi good_day"},
        "patterns": {"polite": ["(?:please|", "kindly)"], "opening": "(?i)(?:@greeting@),? @polite@"},
        "lists": {"both": ["@polite@ ask"]},
    }
    monkeypatch.setattr(lexicon, "word_table", lambda _: table)
    found = grammar.__wrapped__("any")
    assert found["opening"] == "(?i)(?:hi|good day),? (?:please|kindly)"
    assert found["both"] == ["(?:please|kindly) ask"]


@pytest.mark.parametrize("name", GRAMMARS)
def test_every_expression_compiles_and_no_part_is_left(name: str) -> None:
    entries = word_table(name)["patterns"]
    assert [pattern.pattern for pattern in expressions(name, " ".join(entries))]
    assert not [entry for entry in entries if re.search(r"@\w+@", grammar(name)[entry])]
