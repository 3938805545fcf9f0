from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import exp

import pytest
from pydantic import SecretStr
from tests.loopback import Loopback, Reply, chat, position, refusal

from groundwire.errors import BackendDown, BackendError, BackendTimeout, ConfigError, RateLimited
from groundwire.llm.base import Endpoint, Generator, Message
from groundwire.llm.openai import OpenAIGenerator

ASK = [Message("system", "be brief"), Message("user", "well?")]
KEY = "sk-very-secret"


@asynccontextmanager
async def client(server: Loopback, patience: float = 5.0) -> AsyncIterator[OpenAIGenerator]:
    generator = OpenAIGenerator(Endpoint("openai", f"{server.url}/v1", "m", SecretStr(KEY), patience))
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


async def test_what_is_sent_and_what_comes_back(loopback: Loopback) -> None:
    loopback.script(chat("YES", top={"YES": 0.9, "NO": 0.1}))
    async with client(loopback) as generator:
        assert isinstance(generator, Generator)
        [done] = await generator.complete(ASK, max_tokens=3, temperature=0.5, top_logprobs=2)
    [request] = loopback.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body["messages"] == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "well?"}]
    sent = {name: request.body[name] for name in ("model", "max_tokens", "temperature", "logprobs", "top_logprobs")}
    assert sent == {"model": "m", "max_tokens": 3, "temperature": 0.5, "logprobs": True, "top_logprobs": 2}
    assert (done.text, done.prompt_tokens, done.completion_tokens, done.cached_tokens) == ("YES", 12, 1, 8)
    assert done.top_logprobs is not None
    assert [(c.token, round(exp(c.logprob), 3)) for c in done.top_logprobs] == [("YES", 0.9), ("NO", 0.1)]


async def test_no_logprobs_is_none_and_null_content_is_empty(loopback: Loopback) -> None:
    loopback.script(chat(None))
    async with client(loopback) as generator:
        [done] = await generator.complete(ASK, top_logprobs=5)
    assert (done.text, done.top_logprobs) == ("", None)


async def test_markup_before_the_answer_is_passed_over(loopback: Loopback) -> None:
    positions = [position({"**": 0.99}), position({"Yes": 0.8, "No": 0.2})]
    body = chat("**Yes").body
    assert isinstance(body, dict)
    body["choices"][0]["logprobs"] = {"content": positions}
    loopback.script(Reply(body))
    async with client(loopback) as generator:
        [done] = await generator.complete(ASK, top_logprobs=2)
    assert done.top_logprobs is not None
    assert [c.token for c in done.top_logprobs] == ["Yes", "No"]


async def test_a_server_that_reports_only_the_chosen_token(loopback: Loopback) -> None:
    body = chat("Yes", top={"Yes": 0.7}).body
    assert isinstance(body, dict)
    body["choices"][0]["logprobs"]["content"][0]["top_logprobs"] = []
    loopback.script(Reply(body))
    async with client(loopback) as generator:
        [done] = await generator.complete(ASK, top_logprobs=5)
    assert done.top_logprobs is not None
    assert [c.token for c in done.top_logprobs] == ["Yes"]


async def test_a_rate_limit_says_when_to_come_back(loopback: Loopback) -> None:
    error = await failure(loopback, refusal(429, "slow down", Retry_After="7"))
    assert isinstance(error, RateLimited)
    assert error.retry_after == 7.0
    assert error.retryable
    assert len(loopback.requests) == 1  # the SDK does not try again behind our back


async def test_an_unavailable_server_that_names_a_time_is_a_rate_limit(loopback: Loopback) -> None:
    error = await failure(loopback, refusal(503, "busy", Retry_After="2"))
    assert isinstance(error, RateLimited)


async def test_no_credit_is_not_worth_waiting_for(loopback: Loopback) -> None:
    body = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota", "type": "e", "param": None}}
    error = await failure(loopback, Reply(body, 429))
    assert not isinstance(error, RateLimited)
    assert not error.retryable


@pytest.mark.spec("SPEC-08.43")
@pytest.mark.parametrize(
    "reply",
    [
        refusal(500, "oops"),
        refusal(502, "bad gateway"),
        Reply("<html>welcome to the proxy</html>", content_type="text/html"),
        Reply('{"choices": [', content_type="application/json"),
        Reply(chat("YES").body, cut=True),
        chat(),
        Reply({"choices": None}),
        Reply({"choices": [{"message": "YES"}]}),
        Reply({"choices": [{"message": {"content": ["YES"]}}]}),
        Reply("[]"),
        Reply(""),
    ],
)
async def test_failures_that_may_pass(loopback: Loopback, reply: Reply) -> None:
    error = await failure(loopback, reply)
    assert isinstance(error, BackendDown)
    assert error.retryable
    assert "127.0.0.1" in str(error)


async def test_a_logprob_that_is_no_number_is_nonsense(loopback: Loopback) -> None:
    body = chat("YES", top={"YES": 0.5}).content.decode().replace("-0.6931471805599453", "NaN")
    assert isinstance(await failure(loopback, Reply(body)), BackendDown)


async def test_a_server_that_hangs(loopback: Loopback) -> None:
    error = await failure(loopback, Reply(hang=True), patience=0.2)
    assert isinstance(error, BackendTimeout)
    assert error.retryable


async def test_nobody_listens() -> None:
    server = Loopback()
    server.close()
    error = await failure(server, chat("never"))
    assert isinstance(error, BackendDown)
    assert "openai.base_url" in str(error)


@pytest.mark.parametrize(("status", "hint"), [(401, "OPENAI_API_KEY"), (403, "OPENAI_API_KEY"), (404, "openai.model")])
async def test_what_the_user_must_set(loopback: Loopback, status: int, hint: str) -> None:
    error = await failure(loopback, refusal(status, f"Incorrect API key provided: {KEY}"))
    assert hint in error.hint
    assert not error.retryable


async def test_a_bad_request_is_quoted_without_the_key(loopback: Loopback) -> None:
    error = await failure(loopback, refusal(400, f"context length exceeded by {KEY}"))
    assert "context length exceeded by ***" in str(error)
    assert not error.retryable


async def test_an_option_the_model_refuses_is_left_out_from_then_on(loopback: Loopback) -> None:
    loopback.script(
        refusal(400, "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."),
        refusal(400, "Unsupported value: 'temperature' does not support 0.0 with this model."),
        refusal(400, "You are not allowed to request logprobs from this model"),
        chat("YES"),
    )
    async with client(loopback) as generator:
        [done] = await generator.complete(ASK, max_tokens=4, top_logprobs=5)
        await generator.complete(ASK, max_tokens=4, top_logprobs=5)
    assert done.top_logprobs is None
    assert len(loopback.requests) == 5
    last = loopback.requests[-1].body
    assert last["max_completion_tokens"] > 4
    assert not {"max_tokens", "temperature", "logprobs", "top_logprobs"} & set(last)


async def test_many_completions_in_one_request(loopback: Loopback) -> None:
    loopback.script(chat("YES", "NO", "YES"))
    async with client(loopback) as generator:
        done = await generator.complete(ASK, temperature=1.0, n=3)
    assert [one.text for one in done] == ["YES", "NO", "YES"]
    assert [one.prompt_tokens for one in done] == [12, 0, 0]
    assert len(loopback.requests) == 1


async def test_a_server_that_ignores_n_is_asked_again(loopback: Loopback) -> None:
    loopback.script(chat("YES"))
    async with client(loopback) as generator:
        assert len(await generator.complete(ASK, n=4)) == 4
        assert len(await generator.complete(ASK, n=2)) == 2
    assert [request.body.get("n") for request in loopback.requests] == [4, None, None, None, None, None]


async def test_one_of_many_that_fails_is_a_failure(loopback: Loopback) -> None:
    loopback.script(chat("YES"), chat("YES"), refusal(500, "oops"))
    async with client(loopback) as generator:
        with pytest.raises(BackendDown):
            await generator.complete(ASK, n=4)


async def test_the_vendor_needs_a_key_and_a_server_of_ones_own_does_not(loopback: Loopback) -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        OpenAIGenerator(Endpoint("openai", "https://api.openai.com/v1", "m"))
    generator = OpenAIGenerator(Endpoint("openai", f"{loopback.url}/v1", "m"))
    assert (await generator.complete(ASK))[0].text == "YES"
    await generator.aclose()
    await generator.aclose()


async def test_the_environment_does_not_leak_into_a_request(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-someone-else")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    generator = OpenAIGenerator(Endpoint("openai", f"{loopback.url}/v1", "m"))
    await generator.complete(ASK)
    await generator.aclose()
    assert "sk-of-someone-else" not in str(loopback.requests[0].headers)
