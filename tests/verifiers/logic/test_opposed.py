"""Predicates that exclude each other."""

from __future__ import annotations

import pytest

from groundwire.verifiers.logic.prover import opposed


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        ("is open", "is closed", True),
        ("is on", "is off", True),
        ("is member", "is non-member", True),
        ("is signed", "is unsigned", True),
        ("is inside", "is outside", True),
        ("is open", "is open", False),
        ("is open", "is open on Sunday", False),
        ("is tall", "is kind", False),
        ("", "is tall", False),
    ],
)
def test_one_word_is_turned(a: str, b: str, found: bool) -> None:
    assert opposed(a, b) is opposed(b, a) is found
