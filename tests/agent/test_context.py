"""Looking into files."""

from __future__ import annotations

import pytest

from groundwire.agent.context import read, search

FILES = {"a": "one\nTwo\nthree", "b": "two"}


def test_a_part_of_a_file() -> None:
    assert (read(FILES, "a"), read(FILES, "a", 4), read(FILES, "a", 0, 3)) == (
        FILES["a"],
        "Two\nthree",
        "one",
    )


def test_a_file_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(KeyError, match="there are: a, b"):
        read(FILES, "c")


def test_lines_that_match() -> None:
    assert search(FILES, "two") == ["a:2: Two", "b:1: two"]
    assert search(FILES, "t", limit=1) == ["a:2: Two"]
    assert search(FILES, "x") == search({}, "x") == []
