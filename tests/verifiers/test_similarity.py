from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.verifiers.meaning import semantic_similarity


@pytest.mark.spec("SPEC-16.08")
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The company was founded by Larry Page in 1998.", "Larry Page founded the company in 1998."),
        ("He was born on 3 May 1990.", "He was born on May 3, 1990."),
        ("Revenue rose by 5 % in 2020.", "Revenue rose in 2020."),
        ("They organise big events.", "A big event is organised by them."),
        ("", ""),
    ],
)
def test_alike(a: str, b: str) -> None:
    assert semantic_similarity(a, b) > 0.6


@pytest.mark.spec("SPEC-16.08")
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("It has 67 million people.", "It has 999 million people."),
        ("The drug was approved.", "The drug was not approved."),
        ("The drug wasn’t approved.", "The drug was approved."),
        ("The capital is Lyon.", "The capital is Paris."),
        ("It opened in March 2020.", "It opened in April 2020."),
        ("Cats sleep a lot.", "Stocks fell sharply."),
        ("Something", ""),
    ],
)
def test_not_alike(a: str, b: str) -> None:
    assert semantic_similarity(a, b) <= 0.2


@settings(max_examples=50)
@given(st.text(max_size=40), st.text(max_size=40))
def test_similarity_is_symmetric_and_in_range(a: str, b: str) -> None:
    assert semantic_similarity(a, a) == 1.0
    assert 0.0 <= semantic_similarity(a, b) == pytest.approx(semantic_similarity(b, a))
    assert semantic_similarity(a, b) <= 1.0 + 1e-9
