"""Streams as no documentation shows them: not a byte may be lost, added or moved."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections.abc import Sequence

import httpx
import openai
import pytest
from tests.proxy.requests import BAD, FIXED, GOOD, MESSAGES, mode
from tests.proxy.scripted import Scripted, ScriptedUpstream, chat_stream, chunk, event
from tests.serving import Served

from groundwire.sse import SseParser

BODY = {"model": "m", "messages": MESSAGES, "stream": True}
SSE = ("content-type", "text/event-stream")
HEBREW = [event(chunk({"content": text})) for text in ("שלום ", "🦉 ", "Paris is the capital ", "of France.")]


def fetched(proxy: Served, name: str = "observe", **more: str) -> bytes:
    got = proxy.client.post("/v1/chat/completions", json=BODY, headers=mode(name, **more))
    assert got.status_code == 200
    return got.content


def split(frames: Sequence[bytes], size: int) -> list[bytes]:
    text = b"".join(frames)
    return [text[n : n + size] for n in range(0, len(text), size)]


STREAMS = {
    "byte by byte, so within characters and frames": split([*HEBREW, event("[DONE]")], 1),
    "in sevens": split(chat_stream(GOOD), 7),
    "all at once": [b"".join(chat_stream(GOOD))],
    "crlf": chat_stream(GOOD, end="\r\n"),
    "crlf, cut between its halves": split(chat_stream(GOOD, end="\r\n"), 5),
    "cr": chat_stream(GOOD, end="\r"),
    "comments": [
        b": hello\n\n",
        b":\n\n",
        *chat_stream(GOOD)[:3],
        b": OPENROUTER PROCESSING\n\n",
        *chat_stream(GOOD)[3:],
    ],
    "no [DONE]": chat_stream(GOOD, done=False),
    "no usage": chat_stream(GOOD, usage=False),
    "[DONE] without a blank line": [*chat_stream(GOOD)[:-1], b"data: [DONE]"],
    "tight [DONE]": [*chat_stream(GOOD)[:-1], b"data:[DONE]\n\n"],
    "more behind [DONE]": [*chat_stream(GOOD), b": bye\n\n"],
    "[DONE] within a text": [event(chunk({"content": "data: [DONE]\n\n"})), *chat_stream(GOOD)],
    "nothing at all": [],
    "no events": [b"hello\n\n\n\nworld"],
    "broken JSON": [b"data: {\n\n", b"data: \n\n", b"data\n\n", *chat_stream(GOOD)],
    "not UTF-8": [b'data: {"choices":[{"delta":{"content":"\xff\xfe"}}]}\n\n', *chat_stream(GOOD)],
    "null bytes": [b"data: \x00\n\n", *chat_stream(GOOD)],
    "a giant frame": [event(chunk({"content": "word " * 400_000})), event("[DONE]")],
    "a byte order mark": [b"\xef\xbb\xbf", *chat_stream(GOOD)],
}

CARRIED = [name for name in STREAMS if name not in ("a giant frame", "[DONE] within a text")]


@pytest.mark.parametrize("name", STREAMS)
def test_observe_keeps_every_byte(proxy: Served, upstream: ScriptedUpstream, name: str) -> None:
    upstream.script(Scripted(STREAMS[name]))
    assert fetched(proxy, x_groundwire_event="off") == b"".join(STREAMS[name])


@pytest.mark.parametrize("name", CARRIED)
@pytest.mark.parametrize("how", ["annotate", "block", "fix"])
def test_supported_answers_are_not_changed(proxy: Served, upstream: ScriptedUpstream, name: str, how: str) -> None:
    upstream.script(Scripted(STREAMS[name]))
    assert fetched(proxy, how, x_groundwire_event="off") == b"".join(STREAMS[name])


@pytest.mark.parametrize("name", ["in sevens", "crlf", "cr", "comments", "no [DONE]", "[DONE] without a blank line"])
def test_report_is_a_separate_event(proxy: Served, upstream: ScriptedUpstream, name: str) -> None:
    upstream.script(Scripted(STREAMS[name]))
    got = fetched(proxy)
    start = got.index(b'data: {"id":"c1","object":"chat.completion.chunk"')
    end = got.index(b"\n\n", start) + 2
    assert json.loads(got[start + 6 : end])["groundwire"]["status"] == "CHECKED"
    assert got[:start] + got[end:] == b"".join(STREAMS[name])
    assert b"[DONE]" not in got[:start]


def test_last_event_without_blank_line_is_verified(proxy: Served, upstream: ScriptedUpstream) -> None:
    wrong = event(chunk({"content": "Paris has 9.7 million inhabitants."})).rstrip()
    upstream.script(Scripted([event(chunk({"content": "Paris is the capital of France. "})), wrong + b"\n"]))
    last = SseParser().feed(fetched(proxy))[-1]
    assert json.loads(last.data)["groundwire"]["flagged_claims"] == 1


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
@pytest.mark.parametrize("how", ["observe", "fix"])
def test_compressed_stream_is_decompressed(proxy: Served, upstream: ScriptedUpstream, pack: object, how: str) -> None:
    assert callable(pack)
    coding = "gzip" if pack is gzip.compress else "deflate"
    packed = split([pack(b"".join(chat_stream(BAD)))], 50)
    upstream.script(Scripted(packed, headers=[SSE, ("content-encoding", coding)]))
    got = fetched(proxy, how)
    said = [json.loads(f[6:]) for f in got.decode().split("\n\n") if f.startswith("data: {")]
    text = "".join(c["delta"].get("content") or "" for e in said for c in e["choices"])
    assert text == (BAD if how == "observe" else FIXED)


def test_unsupported_encoding_is_relayed(proxy: Served, upstream: ScriptedUpstream) -> None:
    headers = [SSE, ("content-encoding", "x-own")]
    upstream.script(Scripted([b"\x01\x02\x03"], headers=headers))
    assert fetched(proxy) == b"\x01\x02\x03"


def test_body_without_length_ends_with_the_connection(proxy: Served, upstream: ScriptedUpstream) -> None:
    pieces = chat_stream(GOOD)
    upstream.script(Scripted(pieces, chunked=False))
    assert fetched(proxy, x_groundwire_event="off") == b"".join(pieces)


def test_slow_client_receives_everything(proxy: Served, upstream: ScriptedUpstream) -> None:
    """It reads nothing until far more waits than any buffer holds."""
    frames = [event(chunk({"content": "x" * 60_000, "number": n})) for n in range(150)]
    upstream.script(Scripted([*frames, event("[DONE]")]))
    with httpx.stream(
        "POST",
        f"{proxy.url}/v1/chat/completions",
        json=BODY,
        headers=mode("observe", x_groundwire_event="off"),
        timeout=60,
    ) as got:
        threading.Event().wait(0.3)
        assert b"".join(got.iter_raw()) == b"".join([*frames, event("[DONE]")])


def test_text_is_sent_while_the_upstream_is_still_writing(proxy: Served, upstream: ScriptedUpstream) -> None:
    first, *_ = chat_stream(GOOD)
    upstream.script(Scripted([first], hang=True))
    with httpx.stream("POST", f"{proxy.url}/v1/chat/completions", json=BODY, timeout=30) as got:
        assert next(got.iter_raw()) == first
    assert upstream.gone.wait(10), "a client that leaves takes the upstream's work along"


@pytest.mark.parametrize("how", ["observe", "annotate", "block", "fix"])
def test_done_is_sent_although_the_upstream_stays_open(
    sdk: openai.OpenAI, upstream: ScriptedUpstream, how: str
) -> None:
    upstream.script(Scripted(chat_stream(GOOD), hang=True))
    with sdk.chat.completions.create(model="m", messages=MESSAGES, stream=True, extra_headers=mode(how)) as stream:
        assert list(stream)[-1].model_extra
    assert upstream.gone.wait(10)


def test_client_disconnect_closes_the_upstream_connection(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    upstream.script(Scripted(chat_stream(GOOD)[:5], hang=True))
    stream = sdk.chat.completions.create(model="m", messages=MESSAGES, stream=True)
    next(iter(stream))
    stream.close()
    assert upstream.gone.wait(10)


@pytest.mark.parametrize("how", ["observe", "annotate", "block", "fix"])
def test_concurrent_streams_do_not_mix(proxy: Served, upstream: ScriptedUpstream, how: str) -> None:
    pieces = split(chat_stream(GOOD), 11)
    upstream.script(Scripted(pieces, pause=0.001))
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(fetched(proxy, how, x_groundwire_event="off"))) for _ in range(24)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [b"".join(pieces)] * 24
