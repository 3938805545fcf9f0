"""Figures and dates in the evidence's own form, and the way back."""

from __future__ import annotations

import pytest

from groundwire.verifiers.surface import rewritten


@pytest.mark.parametrize(
    ("claim", "evidence", "expected"),
    [
        ("It made $1,300,000 then.", "It made $1.3 million in 2020.", "It made $1.3 million then."),
        ("On 2001-05-14 it was founded.", "Founded: May 14, 2001.", "On May 14, 2001 it was founded."),
        ("It made $1,400,000 then.", "It made $1.3 million in 2020.", "It made $1,400,000 then."),
        ("Nothing to see.", "Nothing at all.", "Nothing to see."),
    ],
)
def test_only_what_is_the_same_is_rewritten(claim: str, evidence: str, expected: str) -> None:
    assert rewritten(claim, evidence).text == expected


def test_ranges_come_back_to_the_claim() -> None:
    claim = "It made $1,300,000 in June."
    new = rewritten(claim, "It made $1.3 million in 2020.")
    for word in ("It", "made", "in", "June"):
        at = new.text.index(word)
        start, end = new.back(at, at + len(word))
        assert claim[start:end] == word
    at = new.text.index("million")
    start, end = new.back(at, at + len("million"))
    assert claim[start:end] == "$1,300,000"
