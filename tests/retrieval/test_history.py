"""Conversations as chat programs keep them."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.errors import InputError
from groundwire.retrieval.load import as_turns, parse_history
from groundwire.types import Turn

MESSAGES = [{"role": "user", "content": "When?"}, {"role": "assistant", "content": "On Monday."}]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(MESSAGES),
        json.dumps({"messages": MESSAGES}),
        "\ufeff" + json.dumps({"history": MESSAGES}),
        "User: When?\nAssistant: On Monday.",
        "Human: When?\n\nAI: On Monday.",
        json.dumps(
            [{"type": "human", "content": [{"type": "text", "text": "When?"}]}, {"type": "ai", "text": "On Monday."}]
        ),
    ],
)
def test_every_shape_gives_the_same_turns(text: str) -> None:
    assert parse_history(text) == (Turn(1, "user", "When?"), Turn(2, "assistant", "On Monday."))


def test_a_line_without_a_speaker_goes_on_with_the_one_before() -> None:
    assert parse_history("User: one\ntwo\nBot: three")[0] == Turn(1, "user", "one\ntwo")


def test_a_tool_call_without_text_keeps_its_number() -> None:
    turns = as_turns([{"role": "assistant", "tool_calls": []}, {"role": "user", "content": "Thanks"}])
    assert [turn.id for turn in turns] == [1, 2]
    assert turns[0].text == ""


@pytest.mark.parametrize("bad", ["[1, 2]", "{}", '{"messages": 3}', "[{", '[{"role": "user", "content": 7}]'])
def test_what_is_no_history_is_one_clear_line(bad: str) -> None:
    with pytest.raises(InputError) as error:
        parse_history(bad)
    assert "history" in str(error.value)
    assert "\n" not in str(error.value)


@given(st.text())
@settings(max_examples=50)
def test_any_text_is_turns_or_one_error(text: str) -> None:
    with contextlib.suppress(InputError):
        assert all(isinstance(turn, Turn) for turn in parse_history(text))
