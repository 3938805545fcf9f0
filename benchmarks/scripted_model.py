"""A scripted language model for `benchmarks.proxy`: an OpenAI-compatible server that streams at a fixed pace.

What it says follows from the number in the request's last message, so that every stream is another one and a
byte in the wrong stream shows. Run as `python -m benchmarks.scripted_model`; it ends with its stdin.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

LISTENING = "listening "
_NUMBER = re.compile(rb"number (\d+)")
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\nx-request-id: req\r\n\r\n"
)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds before the first token and between tokens, and how many sentences an answer has."""

    first: float = 0.2
    token: float = 0.02
    sentences: int = 16


def facts(number: int, sentences: int) -> list[str]:
    """What an answer says, and its source too."""
    return [
        f"Plant {number}-{n} opened in {1950 + (number * 7 + n) % 70} and employs "
        f"{100 + (number * 31 + n * 17) % 900} people."
        for n in range(sentences)
    ]


def frames(number: int, sentences: int) -> Iterator[bytes]:
    """The stream of an answer: role, words, the end, usage, [DONE]."""
    text = " ".join(facts(number, sentences))
    words = [f"{word} " for word in text.split(" ")]
    yield _frame(number, {"role": "assistant", "content": ""})
    for word in words:
        yield _frame(number, {"content": word})
    yield _frame(number, {}, "stop")
    yield b"data: [DONE]\n\n"


def _frame(number: int, delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    return f"data: {json.dumps({**head, 'choices': [choice]})}\n\n".encode()


class Scripted(asyncio.Protocol):
    """One connection; requests one after the other."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._buffer = b""
        self._transport: asyncio.Transport | None = None
        self._telling: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, body = self._buffer.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not end or len(body) < (int(length[1]) if length else 0):
            return
        self._buffer = b""
        asked = _NUMBER.findall(body)
        self._telling = asyncio.get_running_loop().create_task(self._tell(int(asked[-1]) if asked else 0))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (whatever the reason)
        if self._telling is not None:
            self._telling.cancel()

    async def _tell(self, number: int) -> None:
        assert self._transport is not None
        loop = asyncio.get_running_loop()
        due = loop.time() + self._pace.first
        self._transport.write(_HEAD)
        for frame in frames(number, self._pace.sentences):
            await asyncio.sleep(max(0.0, due - loop.time()))
            due += self._pace.token
            self._transport.write(b"%x\r\n%s\r\n" % (len(frame), frame))
        self._transport.write(b"0\r\n\r\n")


async def _serve(pace: Pace) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Scripted(pace), "127.0.0.1", 0, backlog=1024)
    print(f"{LISTENING}http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


if __name__ == "__main__":
    first, token, count = sys.argv[1:4] or ("0.2", "0.02", "16")
    asyncio.run(_serve(Pace(float(first), float(token), int(count))))
