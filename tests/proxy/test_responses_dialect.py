"""The Responses API through the proxy, with the official SDK."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from tests.proxy.requests import BAD, FIXED, GOOD, MESSAGES, mode
from tests.proxy.scripted import Scripted, ScriptedUpstream, event, response_object, response_stream, whole
from tests.serving import Served

INSTEAD = "I cannot confirm from the sources what I was about to say here."


def streamed(sdk: openai.OpenAI, name: str) -> tuple[list[Any], Any]:
    """All events, by the helper that insists on their order, and the final response where there is one."""
    with sdk.responses.stream(model="m", input=MESSAGES, extra_headers=mode(name)) as stream:
        events = list(stream)
        done = any(e.type == "response.completed" for e in events)
        return events, stream.get_final_response() if done else None


def text_of(events: list[Any]) -> str:
    return "".join(e.delta for e in events if e.type == "response.output_text.delta")


@pytest.mark.parametrize(
    ("name", "expected"), [("observe", BAD), ("fix", FIXED), ("block", f"Paris is the capital of France.\n\n{INSTEAD}")]
)
def test_an_answer_in_each_mode(sdk: openai.OpenAI, upstream: ScriptedUpstream, name: str, expected: str) -> None:
    upstream.script(whole(response_object(BAD)))
    raw = sdk.responses.with_raw_response.create(model="m", input=MESSAGES, extra_headers=mode(name))
    assert raw.headers["x-groundwire-flagged"] == "1"
    found = raw.parse()
    assert found.output_text.startswith(expected)
    assert found.status == ("incomplete" if name == "block" else "completed")
    assert found.usage is not None
    assert found.usage.total_tokens == 19


@pytest.mark.parametrize("name", ["observe", "annotate", "block", "fix"])
def test_a_supported_stream_in_each_mode(sdk: openai.OpenAI, upstream: ScriptedUpstream, name: str) -> None:
    upstream.script(Scripted(response_stream(GOOD)))
    events, final = streamed(sdk, name)
    assert text_of(events) == GOOD
    assert final.output_text == GOOD
    assert events[-1].type == "groundwire.report"
    assert events[-1].groundwire["status"] == "CHECKED"
    assert [e.sequence_number for e in events] == list(range(len(events)))


@pytest.mark.parametrize("name", ["annotate", "fix"])
def test_changed_text_is_the_same_in_every_event(sdk: openai.OpenAI, upstream: ScriptedUpstream, name: str) -> None:
    upstream.script(Scripted(response_stream(BAD)))
    events, final = streamed(sdk, name)
    text = text_of(events)
    assert text == FIXED if name == "fix" else text.startswith(f"{BAD}\n\n---\nNot supported")
    done = {e.type: e for e in events}
    assert done["response.output_text.done"].text == text
    assert done["response.content_part.done"].part.text == text
    assert done["response.output_item.done"].item.content[0].text == text
    assert final.output_text == text
    assert [e.sequence_number for e in events] == list(range(len(events)))


def test_stopped_stream_is_incomplete(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    frames = response_stream(BAD)[:-4]
    upstream.script(Scripted(frames, hang=True))
    events, _ = streamed(sdk, "block")
    said, why = text_of(events).split("\n\n")
    assert said.strip() == "Paris is the capital of France."
    assert why.startswith(INSTEAD)
    last = next(e for e in events if e.type == "response.incomplete")
    assert last.response.incomplete_details.reason == "content_filter"
    assert last.response.output_text == text_of(events)
    assert last.response.id == "r1"
    assert events[-1].groundwire["max_severity"] == "high"
    assert [e.sequence_number for e in events] == list(range(len(events)))
    assert upstream.gone.wait(10)


def test_observed_stream_is_unchanged(proxy: Served, upstream: ScriptedUpstream) -> None:
    pieces = response_stream(BAD)
    upstream.script(Scripted(pieces))
    body = {"model": "m", "input": MESSAGES, "stream": True}
    got = proxy.client.post("/v1/responses", json=body)
    assert got.content.startswith(b"".join(pieces))
    assert got.content.count(b"groundwire.report") == 2  # the event's name and its type


async def test_async_sdk_reads_it(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.script(Scripted(response_stream(GOOD)))
    async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="k", max_retries=0) as client:
        stream = await client.responses.create(model="m", input=MESSAGES, stream=True)
        events = [e async for e in stream]
    assert text_of(events) == GOOD


@pytest.mark.parametrize("name", ["observe", "annotate", "block", "fix"])
def test_tool_calls_and_reasoning_are_kept(sdk: openai.OpenAI, upstream: ScriptedUpstream, name: str) -> None:
    call = {"id": "f1", "type": "function_call", "call_id": "k", "name": "f", "arguments": "", "status": "in_progress"}
    done = call | {"arguments": "{}", "status": "completed"}
    final = response_object("") | {"output": [done]}
    events: list[Any] = [
        {"type": "response.created", "response": response_object("", "in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": call},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "f1", "delta": "{}"},
        {"type": "response.function_call_arguments.done", "output_index": 0, "item_id": "f1", "arguments": "{}"},
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": final},
    ]
    upstream.script(Scripted([event(e | {"sequence_number": n}, e["type"]) for n, e in enumerate(events)]))
    found, last = streamed(sdk, name)
    assert [e.type for e in found] == [e["type"] for e in events] + ["groundwire.report"]
    assert last.output[0].arguments == "{}"


@pytest.mark.parametrize(
    "answer", [{}, {"output": None}, {"output": [7, {"type": "message"}, {"type": "message", "content": [7]}]}]
)
@pytest.mark.parametrize("name", ["observe", "annotate", "block", "fix"])
def test_unexpected_answers_are_relayed(proxy: Served, upstream: ScriptedUpstream, answer: Any, name: str) -> None:
    upstream.script(whole(answer))
    got = proxy.client.post("/v1/responses", json={"input": MESSAGES}, headers=mode(name))
    assert (got.status_code, got.json()) == (200, answer)
