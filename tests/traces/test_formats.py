from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.growth import assert_linear

from groundwire.errors import InputError
from groundwire.traces.steps import ParsedTrace, as_steps, parse_text, read_trace

CALL = "Let me call search with"


def read(data: Any) -> ParsedTrace:
    return read_trace(json.dumps(data))


@pytest.mark.parametrize(
    ("context", "sources"),
    [
        ("Text.", {"context": "Text."}),
        (["a", "b"], {"S0": "a", "S1": "b"}),
        ([{"id": "x", "text": "a"}, {"sid": "y", "content": "b"}], {"x": "a", "y": "b"}),
        ({"g": "a"}, {"g": "a"}),
        (None, {}),
    ],
)
def test_an_object_of_steps(context: Any, sources: dict[str, str]) -> None:
    found = read({"question": "Q?", "context": context, "steps": ["One.", {"claim": "Two."}], "answer": 3})
    assert (found.question, found.answer, found.sources) == ("Q?", "3", sources)
    assert [step.text for step in as_steps(found.steps)] == ["One.", "Two."]


def test_a_bare_list_of_steps_and_lines_of_them() -> None:
    assert read(["One.", "Two."]).steps == ["One.", "Two."]
    lines = read_trace('{"claim": "One.", "cites": ["S0"]}\n{"claim": "Two."}\n')
    assert [step.text for step in as_steps(lines.steps)] == ["One.", "Two."]


def test_messages_of_openai_chat() -> None:
    found = read([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "An older question?"},
        {"role": "assistant", "content": "An older answer."},
        {"role": "user", "content": [{"type": "text", "text": "How tall is it?"}]},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "function": {"name": "search", "arguments": '{"q": "height? Yes."}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "It is 330 m tall."},
        {"role": "assistant", "content": "It is 330 m tall, says the search."},
        {"role": "assistant", "content": "330 m"},
    ])  # fmt: skip
    assert found.question == "How tall is it?"
    assert found.steps == [
        f'{CALL} {{"q": "height? Yes."}}\nIt returned: It is 330 m tall.',
        "It is 330 m tall, says the search.",
    ]
    assert (found.sources, found.answer) == ({"search": "It is 330 m tall."}, "330 m")


def test_items_of_openai_agents() -> None:
    found = read({"input": "How tall?", "output": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I should look it up."}]},
        {"type": "function_call", "name": "search", "arguments": "{}", "call_id": "x"},
        {"type": "function_call_output", "call_id": "x", "output": "330 m"},
        {"type": "function_call", "name": "search", "arguments": "{}", "call_id": "y"},
        {"type": "function_call_output", "call_id": "y", "output": {"height": 330}},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 330 m."}]},
    ]})  # fmt: skip
    assert found.steps == [
        "I should look it up.",
        f"{CALL} {{}}\nIt returned: 330 m",
        f'{CALL} {{}}\nIt returned: {{"height": 330}}',
    ]
    assert found.sources == {"search": "330 m", "search-2": '{"height": 330}'}
    assert (found.question, found.answer) == ("How tall?", "It is 330 m.")


@pytest.mark.parametrize("shape", ["plain", "data", "lc"])
def test_messages_of_langchain(shape: str) -> None:
    def message(kind: str, name: str, **inside: Any) -> dict[str, Any]:
        if shape == "data":
            return {"type": kind, "data": inside}
        if shape == "lc":
            return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", name], "kwargs": inside}
        return {"type": kind, **inside}

    found = read({"messages": [
        message("human", "HumanMessage", content="Where is it?"),
        message("ai", "AIMessage", content="", tool_calls=[{"name": "search", "args": {"q": 1}, "id": "x"}]),
        message("tool", "ToolMessage", content="It stands in Paris.", tool_call_id="x"),
        message("ai", "AIMessage", content="1. It stands in Paris.\n2. So it is in France.\nAnswer: Paris"),
    ]})  # fmt: skip
    assert found.steps == [
        f'{CALL} {{"q": 1}}\nIt returned: It stands in Paris.',
        "It stands in Paris.",
        "So it is in France.",
    ]
    assert (found.question, found.sources, found.answer) == (
        "Where is it?", {"search": "It stands in Paris."}, "Paris",
    )  # fmt: skip


def test_a_long_message_is_the_steps_it_is_made_of() -> None:
    long = "\n".join(f"{n}. Part {n} of the engine is in order, as the log says." for n in range(1, 60))
    found = read([{"role": "assistant", "content": long}, {"role": "assistant", "content": "All is in order."}])
    assert (len(found.steps), found.answer) == (59, "All is in order.")


def test_a_talk_that_ends_in_a_call_has_no_answer() -> None:
    calls = [{"id": "c", "function": {"name": "search", "arguments": "{}"}}]
    found = read([{"role": "user", "content": "Q?"}, {"role": "assistant", "content": "Hm.", "tool_calls": calls}])
    assert (found.steps, found.answer) == (["Hm.", f"{CALL} {{}}"], "")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"steps": [', "not valid JSON: .* in line 1"),
        ('{"steps": []}', "has no steps"),
        ('{"answer": "x"}', "has no steps"),
        ('{"steps": ["x"], "sources": 5}', "sources must be"),
        ('{"steps": ["x"], "sources": {"a": 5}}', "source a must be a string"),
        ('{"format": "groundwire.trace/1"}', "no nodes"),
        ("[" * 100_000 + '{"', None),
        ("[{" * 50_000, "JSON"),
        ('{"steps": [' + "9" * 5000 + "]}", "not readable JSON"),
    ],
)
def test_hostile_text_is_one_line_or_plain_text(text: str, complaint: str | None) -> None:
    if complaint is None:
        assert read_trace(text).steps
        return
    with pytest.raises(InputError, match=complaint) as caught:
        read_trace(text)
    assert "\n" not in str(caught.value)


_KEYS = (
    "role", "type", "content", "steps", "messages", "tool_calls", "data", "lc", "id", "kwargs", "claim", "cites",
    "sources", "function", "name", "output",
)  # fmt: skip
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=12)
    | st.sampled_from(["user", "assistant", "tool", "ai", "human", "function_call", "reasoning"])
)
json_values = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(_KEYS) | st.text(max_size=4), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(json_values)
@settings(max_examples=200)
def test_any_json_is_a_trace_or_refused(data: Any) -> None:
    with suppress(InputError):
        assert as_steps(read(data).steps)


def test_many_results_of_one_tool_are_read_in_linear_time() -> None:
    def conversation(calls: int) -> str:
        return json.dumps(
            [
                message
                for number in range(calls)
                for message in (
                    {
                        "role": "assistant",
                        "tool_calls": [{"id": str(number), "function": {"name": "f", "arguments": "{}"}}],
                    },
                    {"role": "tool", "tool_call_id": str(number), "content": "5"},
                )
            ]
        )

    assert_linear(read_trace, conversation, 600)
    assert list(read_trace(conversation(3)).sources) == ["f", "f-2", "f-3"]


def test_many_results_of_one_call_are_no_endless_step() -> None:
    """They are refused as a step that is too long, without the copying that joining all of them would take."""
    results = [{"role": "tool", "tool_call_id": "1", "name": "f", "content": "5" * 2000} for _ in range(200)]
    trace = read_trace(json.dumps(results))
    assert sum(len(str(step)) for step in trace.steps) < 100_000
    with pytest.raises(InputError, match="step 1 has"):
        as_steps(trace.steps)


def test_given_behind_the_question_is_context_and_no_part_of_the_question() -> None:
    parsed = parse_text("Question: How many litres are left?\nGiven: the tank holds 240 litres.\n1. 240 / 2 = 120.")
    assert parsed.question == "How many litres are left?"
    assert parsed.steps == ("Given: the tank holds 240 litres.", "240 / 2 = 120.")
    loose = parse_text("Question: How many are left?\nGiven: the tank holds 240.\nHalf is used.\nSo 120 are left.")
    assert loose.steps == ("Given: the tank holds 240.", "Half is used.", "So 120 are left.")
