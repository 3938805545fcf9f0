"""A real language model behind the proxy: llama.cpp's own server, asked through the official SDK."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from tests.proxy.requests import MESSAGES, mode
from tests.serving import serving

ASK: dict[str, Any] = {"model": "SmolLM2", "messages": MESSAGES, "max_tokens": 24, "temperature": 0.0, "seed": 1}

pytestmark = pytest.mark.llm


@pytest.fixture
def proxied(smollm: str) -> Iterator[openai.OpenAI]:
    settings = {"proxy.upstreams": {"default": smollm}, "proxy.report_timeout": 60.0}
    with serving(settings) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
        yield client


@pytest.fixture
def direct(smollm: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=smollm, api_key="k", max_retries=0) as client:
        yield client


def test_chat_models_and_usage_are_those_of_the_model(proxied: openai.OpenAI, direct: openai.OpenAI) -> None:
    assert [m.id for m in proxied.models.list()] == [m.id for m in direct.models.list()]
    raw = proxied.chat.completions.with_raw_response.create(**ASK)
    expected = direct.chat.completions.create(**ASK)
    found = raw.parse()
    assert found.choices[0].message.content == expected.choices[0].message.content
    assert found.usage is not None
    assert expected.usage is not None
    assert found.usage.completion_tokens == expected.usage.completion_tokens
    assert raw.headers["x-groundwire-status"] == "CHECKED"
    assert int(raw.headers["x-groundwire-claims"]) >= 1


@pytest.mark.parametrize("name", ["observe", "annotate", "block", "fix"])
def test_a_stream_is_verified_as_it_is_written(proxied: openai.OpenAI, name: str) -> None:
    more: dict[str, Any] = {"stream_options": {"include_usage": True}, "extra_headers": mode(name)}
    with proxied.chat.completions.create(**ASK, stream=True, **more) as stream:
        *chunks, last = list(stream)
    told = getattr(last, "groundwire", {})
    assert told["status"] == "CHECKED"
    assert told["mode"] == name
    assert told["claims"] >= 1
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text
    if not told["blocked"]:
        assert any(c.usage for c in chunks)


def test_tools_and_logprobs_reach_the_model(proxied: openai.OpenAI, direct: openai.OpenAI) -> None:
    ask = ASK | {"max_tokens": 4, "logprobs": True, "top_logprobs": 2}
    found, expected = (c.chat.completions.create(**ask).choices[0].logprobs for c in (proxied, direct))
    assert found is not None
    assert expected is not None
    assert [t.token for t in found.content or []] == [t.token for t in expected.content or []]


@pytest.mark.parametrize("name", ["observe", "annotate", "fix"])
def test_responses_are_verified_too(proxied: openai.OpenAI, name: str) -> None:
    asked: dict[str, Any] = {"max_output_tokens": 24, "temperature": 0.0, "extra_headers": mode(name)}
    with proxied.responses.create(model="m", input=MESSAGES, stream=True, **asked) as stream:
        events: list[Any] = list(stream)
    said = "".join(e.delta for e in events if e.type == "response.output_text.delta")
    final = next(e for e in events if e.type == "response.completed").response
    assert said
    assert final.output_text == said
    assert events[-1].groundwire["status"] == "CHECKED"


def test_a_model_that_is_left_stops(proxied: openai.OpenAI) -> None:
    """The next question would wait for the only slot if the first answer went on being written."""
    stream = proxied.chat.completions.create(**ASK | {"max_tokens": 3000}, stream=True)
    next(iter(stream))
    stream.close()
    assert proxied.chat.completions.create(**ASK | {"max_tokens": 2}).choices[0].message.content
