"""Upstreams that fail, verifiers that fail: the client hears the truth about either."""

from __future__ import annotations

import json
import socket
from typing import Any

import httpx
import openai
import pytest
from tests.proxy.requests import BAD, GOOD, MESSAGES, mode
from tests.proxy.scripted import Scripted, ScriptedUpstream, chat_stream, completion, whole
from tests.serving import Served, serving

BODY = {"model": "m", "messages": MESSAGES, "stream": True}
JSON = ("content-type", "application/json")
MODES = ["observe", "annotate", "block", "fix"]


def read_into(got: bytearray, answer: httpx.Response) -> None:
    for piece in answer.iter_raw():
        got += piece


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, openai.AuthenticationError), (429, openai.RateLimitError), (500, openai.InternalServerError)],
)
def test_upstream_errors_are_relayed(
    sdk: openai.OpenAI, upstream: ScriptedUpstream, status: int, kind: type[openai.APIStatusError]
) -> None:
    body = json.dumps({"error": {"message": "theirs", "type": "t", "code": "c", "param": None}}).encode()
    upstream.script(Scripted([body], status=status, headers=[JSON, ("retry-after", "7"), ("x-ratelimit-limit", "3")]))
    for stream in (False, True):
        with pytest.raises(kind, match="theirs") as caught:
            sdk.chat.completions.create(model="m", messages=MESSAGES, stream=stream)
        assert caught.value.response.headers["retry-after"] == "7"
        assert caught.value.response.headers["x-ratelimit-limit"] == "3"
        assert not any(name.startswith("x-groundwire") for name in caught.value.response.headers)


@pytest.mark.parametrize("how", MODES)
def test_upstream_disconnect_in_the_middle_of_a_stream(proxy: Served, upstream: ScriptedUpstream, how: str) -> None:
    pieces = chat_stream(GOOD)[:-3]
    upstream.script(Scripted(pieces, cut=True))
    got = bytearray()
    with (
        httpx.stream("POST", f"{proxy.url}/v1/chat/completions", json=BODY, headers=mode(how), timeout=60) as answer,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        read_into(got, answer)
    assert got.startswith(b"".join(pieces))
    assert b"[DONE]" not in got
    assert json.loads(got.split(b"data: ")[-1])["groundwire"]["claims"] == 2


@pytest.mark.parametrize("how", MODES)
def test_sdk_raises_for_an_interrupted_stream(sdk: openai.OpenAI, upstream: ScriptedUpstream, how: str) -> None:
    upstream.script(Scripted(chat_stream(GOOD)[:4], cut=True))
    with pytest.raises(openai.APIConnectionError):
        list(sdk.chat.completions.create(model="m", messages=MESSAGES, stream=True, extra_headers=mode(how)))


def test_no_report_is_inserted_into_a_partial_frame(proxy: Served, upstream: ScriptedUpstream) -> None:
    text = b"".join(chat_stream(GOOD))[:700]
    upstream.script(Scripted([text], cut=True))
    got = bytearray()
    with (
        httpx.stream("POST", f"{proxy.url}/v1/chat/completions", json=BODY, timeout=60) as answer,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        read_into(got, answer)
    assert got == text


def test_interrupted_json_answer_is_a_502(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    body = json.dumps(completion(GOOD)).encode()
    headers = [JSON, ("content-length", str(len(body) + 10))]
    upstream.script(Scripted([body], headers=headers, chunked=False, cut=True))
    with pytest.raises(openai.InternalServerError, match="disconnected") as caught:
        sdk.chat.completions.create(model="m", messages=MESSAGES)
    assert caught.value.status_code == 502
    assert caught.value.code == "broken_off"


@pytest.mark.parametrize("answer", [
    Scripted([], silent=True, cut=True, chunked=False),
    Scripted([b"SSH-2.0-OpenSSH\r\n\r\n"], silent=True, chunked=False),
])  # fmt: skip
def test_upstream_without_response_is_a_502(sdk: openai.OpenAI, upstream: ScriptedUpstream, answer: Scripted) -> None:
    upstream.script(answer)
    with pytest.raises(openai.InternalServerError, match="upstream 'local' gave no response") as caught:
        sdk.chat.completions.create(model="m", messages=MESSAGES)
    assert caught.value.status_code == 502
    assert "127.0.0.1" not in str(caught.value)


def test_unreachable_upstream_is_a_502_and_a_silent_one_a_504(upstream: ScriptedUpstream) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    settings = {
        "proxy.upstreams": {"silent": upstream.url, "gone": f"http://127.0.0.1:{port}/v1"},
        "proxy.read_timeout": 0.2,
    }
    upstream.script(Scripted([], silent=True, hang=True))
    with serving(settings) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as sdk:
        with pytest.raises(openai.InternalServerError, match="'gone' cannot be reached") as caught:
            sdk.chat.completions.create(model="gone/m", messages=MESSAGES)
        assert (caught.value.status_code, caught.value.code) == (502, "upstream_down")
        with pytest.raises(openai.InternalServerError, match="'silent' did not answer in time") as caught:
            sdk.chat.completions.create(model="m", messages=MESSAGES)
        assert (caught.value.status_code, caught.value.code) == (504, "upstream_timeout")
        assert upstream.gone.wait(10)
        upstream.script(Scripted(chat_stream(GOOD)[:3], hang=True))
        with pytest.raises(openai.APIConnectionError):
            list(sdk.chat.completions.create(model="m", messages=MESSAGES, stream=True))


@pytest.mark.parametrize("kind", ["fails", "hangs"])
def test_failed_or_late_verification_does_not_delay_the_answer(
    upstream: ScriptedUpstream, cloud: ScriptedUpstream, kind: str
) -> None:
    """A verifier elsewhere that never answers, or only with errors."""
    silent = Scripted([], silent=True, hang=True)
    cloud.script(silent if kind == "hangs" else Scripted([b"{}"], status=500, headers=[JSON]))
    settings = {
        "proxy.upstreams": {"default": upstream.url},
        "proxy.report_timeout": 0.2 if kind == "hangs" else 20.0,
        "hallucination.backend.type": "external",
        "external.url": cloud.url,
        "limits.retries": 0,
    }
    with serving(settings) as url:
        for how in MODES:
            upstream.script(Scripted(chat_stream(BAD)))
            got = httpx.post(f"{url}/v1/chat/completions", json=BODY, headers=mode(how), timeout=60)
            *frames, told, done = got.content.split(b"\n\n")[:-1]
            assert done == b"data: [DONE]"
            assert b"\n\n".join([*frames, done, b""]) == b"".join(chat_stream(BAD))
            found: dict[str, Any] = json.loads(told.removeprefix(b"data: "))["groundwire"]
            assert found["status"] == "UNCHECKED"
            assert found["reason"]
            upstream.script(whole(completion(BAD)))
            plain = httpx.post(
                f"{url}/v1/chat/completions", json=BODY | {"stream": False}, headers=mode(how), timeout=60
            )
            assert plain.json() == completion(BAD)
            assert plain.headers["x-groundwire-status"] == "UNCHECKED"


def test_stream_without_report_event_does_not_wait(upstream: ScriptedUpstream, cloud: ScriptedUpstream) -> None:
    cloud.script(Scripted([], silent=True, hang=True))
    settings = {
        "proxy.upstreams": {"default": upstream.url},
        "proxy.report_timeout": 600.0,
        "hallucination.backend.type": "external",
        "external.url": cloud.url,
    }
    upstream.script(Scripted(chat_stream(BAD)))
    with serving(settings) as url:
        headers = {"x-groundwire-event": "off"}
        got = httpx.post(f"{url}/v1/chat/completions", json=BODY, headers=headers, timeout=60)
        assert got.content == b"".join(chat_stream(BAD))


def test_client_disconnect_cancels_the_upstream_request(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.script(Scripted([], silent=True, hang=True))
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{proxy.url}/v1/chat/completions", json={"messages": MESSAGES}, timeout=0.3)
    assert upstream.gone.wait(10)


def test_verification_is_skipped_under_load(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.script(Scripted(chat_stream(BAD)))
    admission = proxy.service.admission
    with admission.admitted(admission.capacity * 20_000), admission.admitted(admission.capacity * 20_000):
        got = proxy.client.post("/v1/chat/completions", json=BODY)
    told = json.loads(got.content.split(b"\n\n")[-3].removeprefix(b"data: "))["groundwire"]
    assert (told["status"], told["reports"]) == ("SKIPPED", [])
