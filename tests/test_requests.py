"""Sources in every accepted form, and conversations as chat programs keep them."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.errors import InputError
from groundwire.requests import as_sources, as_turns, parse_history
from groundwire.types import Source, Turn

MESSAGES = [{"role": "user", "content": "When?"}, {"role": "assistant", "content": "On Monday."}]


@dataclass
class Document:
    """As retrievers return it: the id is a key of their store."""

    page_content: str
    metadata: dict[str, str] = field(default_factory=dict)
    id: str = "9f3c"


@dataclass
class Passage:
    text: str
    id: str | None = None


def test_accepted_forms_of_sources() -> None:
    assert as_sources("text") == (Source("S0", "text"),)
    assert as_sources({"a": "text", 7: "x"}) == (Source("a", "text"), Source("7", "x"))
    assert as_sources(None) == as_sources([]) == ()
    assert as_sources(["x", Document("y", {"source": "f.md"}), Source("z", "z")]) == (
        Source("S0", "x"),
        Source("S1", "y", "f.md"),
        Source("z", "z"),
    )
    assert as_sources(Document("one")) == (Source("S0", "one"),)
    assert as_sources(text for text in ("a", "b")) == (Source("S0", "a"), Source("S1", "b"))
    passages = [{"id": 5, "text": "a"}, {"text": "b", "origin": "f.md"}, Passage("c", "p"), Passage("d")]
    assert [(s.id, s.origin) for s in as_sources(passages)] == [("5", ""), ("S1", "f.md"), ("p", ""), ("S3", "")]
    assert as_sources("half a \ud800 pair")[0].text == "half a \ufffd pair"


@pytest.mark.parametrize(
    ("sources", "complaint"),
    [
        (7, "sources have an unknown form, int"),
        ([7], "source 0 must be a string or a document, got int"),
        (["x", {"id": "a"}], "source 1 must be a string or a document, got dict"),
        ({"S0": 3}, "source 'S0' must be a string, got int"),
        ([{"id": True, "text": "x"}], "the id of source 0 must be a string, got bool"),
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], "two sources have the id a"),
    ],
)
def test_other_forms_of_sources_are_refused_in_one_line(sources: object, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        as_sources(sources)


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
