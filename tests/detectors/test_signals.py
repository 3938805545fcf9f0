"""How a text speaks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.detectors.wording import SignalKind, linguistic_signals


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("It might be closed.", SignalKind.HEDGING),
        ("I think it is closed.", SignalKind.HEDGING),
        ("It is absolutely closed.", SignalKind.OVERCONFIDENCE),
        ("It never closes.", SignalKind.OVERCONFIDENCE),
        ("Some people say so.", SignalKind.VAGUENESS),
        ("It is on Monday, or rather on Friday.", SignalKind.SELF_CORRECTION),
        ("It is definitely closed.", SignalKind.CERTAINTY_MARKER),
    ],
)
def test_each_kind(text: str, kind: SignalKind) -> None:
    assert kind in {signal.kind for signal in linguistic_signals(text)}


@pytest.mark.parametrize("text", ["The shop is closed.", "It opened on May 5.", ""])
def test_plain_words_signal_nothing(text: str) -> None:
    assert linguistic_signals(text) == []


def test_the_less_sure_the_stronger_the_hedge() -> None:
    (perhaps,) = linguistic_signals("Perhaps it is closed.")
    (probably,) = linguistic_signals("It is probably closed.")
    assert perhaps.strength > probably.strength


@given(st.text(max_size=80))
def test_spans_are_exact_and_strengths_bounded(text: str) -> None:
    for signal in linguistic_signals(text):
        assert text[signal.start : signal.end] == signal.text
        assert 0.0 <= signal.strength <= 1.0
