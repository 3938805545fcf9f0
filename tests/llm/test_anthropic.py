from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic import SecretStr
from tests.loopback import Loopback, Reply, claude, refusal

from groundwire.errors import BackendDown, BackendError, BackendTimeout, ConfigError, RateLimited
from groundwire.llm.anthropic import AnthropicGenerator
from groundwire.llm.base import Endpoint, Generator, Message

ASK = [Message("system", "be brief"), Message("user", "well?")]
KEY = "sk-ant-very-secret"


@asynccontextmanager
async def client(server: Loopback, patience: float = 5.0) -> AsyncIterator[AnthropicGenerator]:
    generator = AnthropicGenerator(Endpoint("anthropic", server.url, "claude-test", SecretStr(KEY), patience))
    try:
        yield generator
    finally:
        await generator.aclose()


async def failure(server: Loopback, *replies: Reply, patience: float = 5.0) -> BackendError:
    server.script(*replies)
    async with client(server, patience) as generator:
        with pytest.raises(BackendError) as caught:
            await generator.complete(ASK)
    assert KEY not in str(caught.value)
    return caught.value


@pytest.mark.spec("SPEC-16.10")
async def test_what_is_sent_and_what_comes_back(loopback: Loopback) -> None:
    loopback.script(claude("0.9 ", "fine"))
    async with client(loopback) as generator:
        assert isinstance(generator, Generator)
        [done] = await generator.complete(ASK, max_tokens=7, top_logprobs=5)
    [request] = loopback.requests
    assert request.path == "/v1/messages"
    assert KEY in (request.headers.get("x-api-key") or request.headers["authorization"])  # as the SDK likes
    assert request.body["system"] == "be brief"
    assert request.body["messages"] == [{"role": "user", "content": "well?"}]
    assert (request.body["max_tokens"], request.body["temperature"]) == (7, 0.0)
    assert (done.text, done.model, done.top_logprobs) == ("0.9 fine", "claude-test", None)
    assert (done.prompt_tokens, done.completion_tokens, done.cached_tokens) == (40, 5, 30)


@pytest.mark.spec("SPEC-16.33")
async def test_the_shared_part_of_a_prompt_is_marked_for_the_cache(loopback: Loopback) -> None:
    loopback.script(claude("ok"))
    async with client(loopback) as generator:
        await generator.complete([Message("user", "the context. the claim", shared=13)])
    assert loopback.requests[0].body["messages"][0]["content"] == [
        {"type": "text", "text": "the context. ", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "the claim"},
    ]


async def test_many_completions_are_many_requests(loopback: Loopback) -> None:
    loopback.script(claude("a"), claude("b"))
    async with client(loopback) as generator:
        done = await generator.complete(ASK, n=3)
    assert [one.text for one in done] == ["a", "b", "b"]


async def test_an_option_the_model_refuses_is_left_out_from_then_on(loopback: Loopback) -> None:
    loopback.script(refusal(400, "`temperature` is deprecated for this model."), claude("ok"))
    async with client(loopback) as generator:
        await generator.complete(ASK)
        await generator.complete(ASK)
    assert [("temperature" in request.body) for request in loopback.requests] == [True, False, False]


@pytest.mark.spec("SPEC-16.10")
@pytest.mark.parametrize("status", [429, 529])
async def test_rate_limits(loopback: Loopback, status: int) -> None:
    error = await failure(loopback, refusal(status, "overloaded", Retry_After="1.5"))
    assert isinstance(error, RateLimited)
    assert error.retry_after == 1.5
    assert len(loopback.requests) == 1


@pytest.mark.spec("SPEC-16.10")
@pytest.mark.parametrize(
    "reply",
    [
        refusal(500, "oops"),
        Reply("<html>", content_type="text/html"),
        Reply('{"content": ['),
        Reply(claude("cut off").body, cut=True),
        claude(),
        Reply({"content": "text"}),
        Reply({"type": "message"}),
    ],
)
async def test_failures_that_may_pass(loopback: Loopback, reply: Reply) -> None:
    error = await failure(loopback, reply)
    assert isinstance(error, BackendDown)
    assert error.retryable


async def test_a_server_that_hangs(loopback: Loopback) -> None:
    assert isinstance(await failure(loopback, Reply(hang=True), patience=0.2), BackendTimeout)


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "ANTHROPIC_API_KEY"), (403, "ANTHROPIC_API_KEY"), (404, "anthropic.model")]
)
async def test_what_the_user_must_set(loopback: Loopback, status: int, hint: str) -> None:
    error = await failure(loopback, refusal(status, f"invalid x-api-key {KEY}"))
    assert hint in error.hint


async def test_the_vendor_needs_a_key() -> None:
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
        AnthropicGenerator(Endpoint("anthropic", "https://api.anthropic.com", "m"))
