"""Text as it comes: every generator that can says the same thing whole and in pieces."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr
from tests.loopback import Loopback, Reply, chat, claude, refusal

from groundwire.errors import BackendDown, BackendError
from groundwire.llm import Completion, Message, completed
from groundwire.llm.anthropic import AnthropicGenerator
from groundwire.llm.base import Endpoint, track_usage
from groundwire.llm.fake import ScriptedGenerator
from groundwire.llm.openai import OpenAIGenerator

HELLO = [Message("system", "Be brief."), Message("user", "Hello?")]


def sse(*events: dict[str, Any] | str, names: bool = False) -> Reply:
    lines = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event)
        name = f"event: {event['type']}\n" if names and isinstance(event, dict) else ""
        lines.append(f"{name}data: {data}\n\n")
    return Reply("".join(lines), content_type="text/event-stream")


def chunk(text: str | None = None, **more: Any) -> dict[str, Any]:
    delta = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m",
            "choices": [delta] if text is not None else [], **more}  # fmt: skip


USED = chunk(usage={"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9})
CLAUDE: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"id": "x", "type": "message", "role": "assistant", "content": [],
     "model": "claude-test", "stop_reason": None, "stop_sequence": None,
     "usage": {"input_tokens": 7, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "you"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
     "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]  # fmt: skip


def openai_at(loopback: Loopback) -> OpenAIGenerator:
    return OpenAIGenerator(Endpoint("openai", f"{loopback.url}/v1", "m", timeout=5.0))


def anthropic_at(loopback: Loopback) -> AnthropicGenerator:
    return AnthropicGenerator(Endpoint("anthropic", loopback.url, "claude", SecretStr("k"), 5.0))


async def test_openai_streams_and_reports_what_it_used(loopback: Loopback) -> None:
    loopback.script(sse(chunk("Hi "), chunk("you"), USED, "[DONE]"))
    generator, pieces, used = openai_at(loopback), list[str](), list[Completion]()
    with track_usage(lambda _, done: used.append(done)):
        done = await completed(generator, HELLO, pieces.append)
    await generator.aclose()
    assert (pieces, done.text, done.prompt_tokens, done.completion_tokens) == (["Hi ", "you"], "Hi you", 7, 2)
    assert used == [done]
    assert loopback.requests[0].body["stream"] is True


async def test_a_server_that_refuses_stream_options_is_asked_without(loopback: Loopback) -> None:
    loopback.script(refusal(400, "unsupported parameter: 'stream_options'"), sse(chunk("Hi"), "[DONE]"))
    generator = openai_at(loopback)
    done = await completed(generator, HELLO, lambda _: None)
    await generator.aclose()
    assert (done.text, done.prompt_tokens) == ("Hi", 0)
    assert "stream_options" not in loopback.requests[1].body


async def test_claude_streams(loopback: Loopback) -> None:
    loopback.script(sse(*CLAUDE, names=True))
    generator, pieces = anthropic_at(loopback), list[str]()
    done = await completed(generator, HELLO, pieces.append)
    await generator.aclose()
    assert (pieces, done.text, done.prompt_tokens, done.completion_tokens) == (["Hi ", "you"], "Hi you", 7, 2)
    assert loopback.requests[0].body["system"] == "Be brief."


@pytest.mark.parametrize("open_at", [openai_at, anthropic_at])
async def test_a_stream_that_breaks_off_is_a_failure_of_the_backend(loopback: Loopback, open_at: Any) -> None:
    loopback.script(Reply(sse(chunk("Hi")).body, content_type="text/event-stream", cut=True))
    generator = open_at(loopback)
    with pytest.raises(BackendError):
        await completed(generator, HELLO, lambda _: None)
    await generator.aclose()


async def test_a_refused_key_is_said_before_anything_streams(loopback: Loopback) -> None:
    loopback.script(refusal(401, "no"))
    generator = openai_at(loopback)
    with pytest.raises(BackendError, match="API key"):
        await completed(generator, HELLO, lambda _: None)
    await generator.aclose()


@pytest.mark.parametrize(("open_at", "reply"), [(openai_at, chat("Hi you")), (anthropic_at, claude("Hi you"))])
async def test_a_server_that_ignores_stream_is_read_as_a_whole_answer(
    loopback: Loopback, open_at: Any, reply: Reply
) -> None:
    loopback.script(replace(reply, content_type="application/json; charset=utf-8"))
    generator, pieces, used = open_at(loopback), list[str](), list[Completion]()
    with track_usage(lambda _, done: used.append(done)):
        done = await completed(generator, HELLO, pieces.append)
    await generator.aclose()
    assert loopback.requests[0].body["stream"] is True
    assert (pieces, done.text, done.prompt_tokens > 0) == (["Hi you"], "Hi you", True)
    assert used == [done]


@pytest.mark.parametrize("open_at", [openai_at, anthropic_at])
async def test_json_without_an_answer_is_no_empty_stream(loopback: Loopback, open_at: Any) -> None:
    loopback.script(Reply({"detail": "busy"}))
    generator = open_at(loopback)
    with pytest.raises(BackendError, match="did not return a valid"):
        await completed(generator, HELLO, lambda _: None)
    await generator.aclose()


async def test_who_cannot_stream_says_it_all_at_once(loopback: Loopback) -> None:
    class Plain:
        name = "plain"

        async def complete(self, messages: object, **options: object) -> list[Completion]:
            return [Completion("whole")]

        async def aclose(self) -> None: ...

    pieces: list[str] = []
    assert (await completed(Plain(), HELLO, pieces.append)).text == "whole"
    assert pieces == ["whole"]
    assert (await completed(Plain(), HELLO)).text == "whole"


async def test_the_scripted_model_streams_word_by_word() -> None:
    pieces: list[str] = []
    await completed(ScriptedGenerator(["one  two\nthree"]), HELLO, pieces.append)
    assert "".join(pieces) == "one  two\nthree"
    assert len(pieces) == 3
    with pytest.raises(BackendDown):
        await completed(ScriptedGenerator([]), HELLO, pieces.append)


async def test_nobody_is_told_where_nobody_listens(loopback: Loopback) -> None:
    used: list[str] = []
    loopback.script(chat("Hi"))
    generator = openai_at(loopback)
    with track_usage(lambda name, _: used.append(name)):
        await generator.complete(HELLO)
    await generator.complete(HELLO)
    await generator.aclose()
    assert len(used) == 1
