"""What steers a terminal or a spreadsheet does not get there, and what was escaped can be read again."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from groundwire.text.controls import cell_text, inert_cell, json_text, sanitize

TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("='+-@\t\r\x1b\x9b"))


@given(TEXTS)
def test_json_holds_no_control_character_and_says_the_same(text: str) -> None:
    written = json_text({"text": text})
    assert sanitize(written).count("\ufffd") == written.count("\ufffd") + sum(map(written.count, BIDI))
    assert json.loads(written) == {"text": text}


BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@given(TEXTS)
def test_a_cell_is_no_formula_and_reads_back(text: str) -> None:
    cell = inert_cell(text)
    assert cell_text(cell) == sanitize(text)
    assert not cell.startswith(("=", "@", "\t", "\r", "\x1b"))
    assert not cell.startswith(("+", "-")) or cell.strip("+-0123456789.,eE%") == ""
