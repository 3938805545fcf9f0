from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groundwire.text.markdown import place_spans
from groundwire.types import Span


def test_text_without_its_markup_still_points_at_its_characters() -> None:
    raw = "It is **bright** red [S1], truly."
    clean = "It is bright red, truly."
    at = clean.index("red")
    (found,) = place_spans(clean, raw, [Span(at, at + 3)], 10)
    assert raw[found.start - 10 : found.end - 10] == "red"


def test_reworded_text_is_matched_as_far_as_it_goes() -> None:
    raw, clean = "| France | 999 million |", "Country: France; Population: 999 million"
    at = clean.index("999")
    (found,) = place_spans(clean, raw, [Span(at, at + 11)])
    assert raw[found.start : found.end] == "999 million"


@given(st.text(max_size=60), st.text(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_spans_never_leave_the_text(clean: str, raw: str, a: int, b: int) -> None:
    start, end = sorted((min(a, len(clean)), min(b, len(clean))))
    for span in place_spans(clean, raw, [Span(start, end)] if clean != raw else []):
        assert 0 <= span.start < span.end <= len(raw)
