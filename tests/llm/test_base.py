from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from groundwire.errors import ConfigError
from groundwire.llm.base import Endpoint, retry_after, status_error, unsupported_option

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("-4", 0.0),
        ("Thu, 01 Jan 2026 00:00:30 GMT", 30.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("tomorrow", None),
    ],
)
def test_retry_after(header: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": header}, NOW) == seconds


@given(st.text(max_size=40))
def test_any_retry_after_is_a_wait_or_none(header: str) -> None:
    wait = retry_after({"retry-after": header}, NOW)
    assert wait is None or wait >= 0


def test_a_password_in_the_address_is_not_shown() -> None:
    endpoint = Endpoint("openai", "https://user:hunter2@llm.example:8443/v1", "m")
    assert endpoint.host == "llm.example:8443"
    assert "hunter2" not in str(status_error(endpoint, 404, {}, ""))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://localhost/v1", True),
        ("http://10.0.0.1/v1", False),
        ("https://localhost.example/v1", False),
    ],
)
def test_loopback(url: str, expected: bool) -> None:
    assert Endpoint("openai", url, "m").is_loopback is expected


@pytest.mark.parametrize(
    ("message", "option"),
    [
        ("Field 'n': Value must be between 1 <= value <= 2, but got 4", "n"),
        ("top_logprobs is not supported", "top_logprobs"),
        ("invalid request: n must not be read from any word", None),
        ("Invalid 'messages'", None),
        ("temperature: fine today", None),
    ],
)
def test_which_option_was_refused(message: str, option: str | None) -> None:
    assert unsupported_option(message, ["n", "logprobs", "top_logprobs", "temperature"]) == option


@pytest.mark.parametrize(
    "url", ["", "localhost:8080", "ftp://host/v1", "http://", "http://[bad/v1", "http://h:port/v1"]
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError, match=r"openai\.base_url"):
        Endpoint("openai", url, "m")


def test_the_same_name_on_two_servers_is_two_models() -> None:
    ours, theirs = (Endpoint("openai", f"http://{host}/v1", "m").name for host in ("one:1", "two:1"))
    assert ours != theirs
    assert Endpoint("openai", "https://api.openai.com/v1", "m").name == "openai/m"


def test_a_key_is_trimmed_and_must_be_sendable() -> None:
    url = "https://llm.example/v1"
    assert Endpoint("openai", url, "m", SecretStr(" sk-1\n")).key() == "sk-1"
    with pytest.raises(ConfigError) as caught:
        Endpoint("openai", url, "m", SecretStr("“sk-1”")).key()
    assert "sk-1" not in str(caught.value)


@pytest.mark.parametrize(
    ("section", "message", "key"),
    [
        ("llm", "request (7001 tokens) exceeds the available context size (4096 tokens)", "openai"),
        ("openai", "This model's maximum context length is 8192 tokens.", "openai"),
        ("anthropic", "prompt is too long: 210000 tokens > 200000 maximum", "anthropic"),
    ],
)
def test_a_context_that_is_too_long_names_the_key_that_bounds_it(section: str, message: str, key: str) -> None:
    error = status_error(Endpoint(section, "http://127.0.0.1:1/v1", "m"), 400, {}, message)
    assert error.hint.startswith(f"lower {key}.context_tokens")
    assert not error.retryable
    other = status_error(Endpoint(section, "http://127.0.0.1:1/v1", "m"), 400, {}, "no such role")
    assert "context_tokens" not in other.hint
