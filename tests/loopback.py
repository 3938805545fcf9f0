"""A server on the loopback interface that speaks OpenAI's and Anthropic's shapes, and every awkward one.

The real SDKs are pointed at it. `server.script(...)` says what it answers, in order, the last one forever;
`server.requests` is what it was asked.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import log
from typing import Any, NoReturn

import pytest

from groundwire.errors import MissingExtra

Json = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """One HTTP answer. `cut` promises more than it sends; `hang` never answers at all."""

    body: Json | str = field(default_factory=dict)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    cut: bool = False
    hang: bool = False

    @property
    def content(self) -> bytes:
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


@dataclass(frozen=True)
class Request:
    path: str
    headers: Mapping[str, str]
    body: Json


Script = Callable[[Request], Reply]


def chat(*texts: str | None, top: Mapping[str, float] | None = None, **more: Any) -> Reply:
    """A chat completion, a choice a text; `top` are the probabilities at the first token."""
    logprobs = {"content": [position(top)]} if top else None
    choices = [
        {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": text}, "logprobs": logprobs}
        for i, text in enumerate(texts)
    ]
    usage = {
        "prompt_tokens": 12,
        "completion_tokens": 1,
        "total_tokens": 13,
        "prompt_tokens_details": {"cached_tokens": 8},
    }
    return Reply(
        {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": choices, "usage": usage, **more}
    )


def position(top: Mapping[str, float]) -> Json:
    ranked = [{"token": token, "logprob": log(p), "bytes": None} for token, p in top.items()]
    return {**ranked[0], "top_logprobs": ranked}


def claude(*texts: str) -> Reply:
    """A message of Anthropic's API."""
    content = [{"type": "text", "text": text} for text in texts]
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 0}
    return Reply(
        {"id": "x", "type": "message", "role": "assistant", "model": "claude-test", "content": content,
         "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}
    )  # fmt: skip


def refusal(status: int, message: str, **headers: str) -> Reply:
    """An error in the shape both APIs use."""
    body = {"type": "error", "error": {"type": "e", "message": message, "code": None, "param": None}}
    return Reply(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


class Loopback:
    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.release = threading.Event()
        self._script: Script = lambda _: chat("YES")
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(self, *replies: Reply | Script) -> None:
        if len(replies) == 1 and not isinstance(replies[0], Reply):
            self._script = replies[0]
            return
        remaining = [reply for reply in replies if isinstance(reply, Reply)]
        self._script = lambda _: remaining.pop(0) if len(remaining) > 1 else remaining[0]

    def answer(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            return self._script(request)

    def close(self) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is what some tests are about, and no news."""


def _handler(loopback: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            body = json.loads(self.rfile.read(length) or b"{}")
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._send(loopback.answer(Request(self.path, headers, body)))

        def _send(self, reply: Reply) -> None:
            if reply.hang:
                loopback.release.wait()
                self.close_connection = True
                return
            self.send_response(reply.status)
            self.send_header("content-type", reply.content_type)
            self.send_header("content-length", str(len(reply.content) + (100 if reply.cut else 0)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.content)
            self.close_connection = reply.cut

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    server = Loopback()
    yield server
    server.close()


@pytest.fixture(scope="session")
def smollm() -> Iterator[str]:
    """The address of a real, small language model: started once, for all tests marked `llm`."""
    from groundwire.llm.gguf import GgufServer

    try:
        server = GgufServer()
        server.start()
    except MissingExtra as missing:
        do_without(missing)
    yield server.url
    server.stop()


def do_without(missing: MissingExtra) -> NoReturn:
    """On one's own machine a missing model skips its tests; where all must run it fails them."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"the tests with a real model must run here: {missing}")
    pytest.skip(str(missing))
