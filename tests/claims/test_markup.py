"""Prose without markup, its characters still in place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.claims.markup import readable, strip_markup
from groundwire.types import Span


def shown(text: str, *known: str) -> str:
    return readable(strip_markup(text, [Span(0, len(text))], known).text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Bold**, *soft* and ~~gone~~ words", "Bold, soft and gone words"),
        ("snake_case, 5*3 and 4 * 5 stay", "snake_case, 5*3 and 4 * 5 stay"),
        ("see [the page](https://a.b/c_(d)) now", "see the page now"),
        ("see [the **big** `page`](https://a.b) now", "see the big page now"),
        ("![chart](x.png) It rose", "It rose"),
        ("so it is [1](https://a.b).", "so it is."),
        ("the `a[1]` of `x_y` and **`z`**", "the a[1] of x_y and z"),
        ("<b>Big</b> and<br>small<!-- note -->", "Big and small"),
        ("water<sup>1</sup> is wet", "water is wet"),
        (r"a \*star\* and \[1\]", "a *star* and"),
        ("According to [1] and [S2], it rains.", "According to 1 and S2, it rains."),
        ("However, [S2] claims it is so.", "However, S2 claims it is so."),
        ("Big [1], old [2] and rich [3].", "Big, old and rich."),
        ("ze\u200bro \u202ewidth\u202c and\x00 nul", "zero width and nul"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("<!-- never closed", "<!-- never closed"),
    ],
)
def test_what_a_reader_sees(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.spec("SPEC-16.37")
@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab1 *_`[]()<>!\\-\n\u200b¹【】."), max_size=80))
def test_every_character_kept_knows_its_place(text: str) -> None:
    found = strip_markup(text, [Span(0, len(text))])
    assert len(found.text) == len(found.at)
    assert list(found.at) == sorted(found.at)
    for char, at in zip(found.text, found.at, strict=True):
        assert char == text[at] or char in "\n[]"  # a break for <br>, brackets for <sup>1</sup>
    assert all(0 <= mark.start <= len(found.text) for mark in found.marks)
