"""A scripted upstream on loopback: it writes exactly the bytes it is told to, when, and breaks off on command.

`upstream.script(...)` says how it answers, in order, the last one for ever; `upstream.calls` is what it got,
`upstream.left` counts the clients that went before the end.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Scripted:
    """An answer: its pieces are sent one by one (as chunks, unless it is not `chunked`), with a breath between.

    `cut` closes the connection without an end, `hang` keeps it open and silent behind the pieces.
    """

    pieces: Sequence[bytes]
    status: int = 200
    headers: Sequence[tuple[str, str]] = (("content-type", "text/event-stream"),)
    chunked: bool = True
    cut: bool = False
    hang: bool = False
    pause: float = 0.0
    silent: bool = False


@dataclass(frozen=True)
class Call:
    method: str
    target: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Json:
        found: Json = json.loads(self.raw)
        return found


@dataclass
class ScriptedUpstream:
    calls: list[Call] = field(default_factory=list)
    left: int = 0
    connections: int = 0
    gone: threading.Event = field(default_factory=threading.Event)
    url: str = ""
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _script: list[Scripted] = field(default_factory=list)

    def forget(self) -> None:
        self.calls.clear()
        self.left = 0
        self.gone.clear()

    def script(self, *answers: Scripted) -> None:
        self._script = list(answers)

    def next(self) -> Scripted:
        return self._script.pop(0) if len(self._script) > 1 else self._script[0]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while call := await _read(reader):
                self.calls.append(call)
                if not await self._answer(self.next(), reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self._leave()
        finally:
            self._writers.discard(writer)
            writer.close()

    def drop(self) -> None:
        """Close all connections, as a server does with those that wait too long."""
        for writer in list(self._writers):
            self._loop.call_soon_threadsafe(writer.transport.abort)

    async def _answer(self, answer: Scripted, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if not answer.silent:
            writer.write(_head(answer))
        for piece in answer.pieces:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if answer.chunked else piece)
            await writer.drain()
            await asyncio.sleep(answer.pause)
        if answer.hang:
            await reader.read(1)  # b"" once the client has gone
            self._leave()
            return False
        if answer.cut:
            return False
        if answer.chunked:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        return answer.chunked or any(name == "content-length" for name, _ in answer.headers)

    def _leave(self) -> None:
        self.left += 1
        self.gone.set()


async def _read(reader: asyncio.StreamReader) -> Call | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, target, _ = first.split(" ")
    pairs = [line.partition(":") for line in lines]
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Call(method, target, headers, body)


def _head(answer: Scripted) -> bytes:
    framing = [("transfer-encoding", "chunked")] if answer.chunked else []
    lines = [f"{name}: {value}\r\n" for name, value in (*answer.headers, *framing)]
    return f"HTTP/1.1 {answer.status} Scripted\r\n{''.join(lines)}\r\n".encode("latin-1")


@contextmanager
def scripted() -> Iterator[ScriptedUpstream]:
    upstream = ScriptedUpstream()
    loop = upstream._loop
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(
        asyncio.start_server(upstream.serve, "127.0.0.1", 0, limit=2**24), loop
    ).result()
    upstream.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield upstream
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def whole(body: Json, **headers: str) -> Scripted:
    """A JSON answer in one piece."""
    content = json.dumps(body).encode()
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    pairs = [("content-type", "application/json"), ("content-length", str(len(content))), *named]
    return Scripted([content], headers=pairs, chunked=False)


def completion(*texts: str, **more: Any) -> Json:
    choices = [
        {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": text}, "logprobs": None}
        for i, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": choices,
        "usage": usage,
    } | more


def chunk(delta: Json, finish: str | None = None, index: int = 0, **more: Any) -> Json:
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]} | more


def event(data: Json | str, name: str = "", end: str = "\n") -> bytes:
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    head = f"event: {name}{end}" if name else ""
    return f"{head}data: {text}{end}{end}".encode()


def words(text: str) -> list[str]:
    """A text as a model would stream it, a word and its space at a time."""
    return [f"{word} " for word in text.split(" ")[:-1]] + text.split(" ")[-1:]


def chat_stream(text: str, *, usage: bool = True, done: bool = True, end: str = "\n") -> list[bytes]:
    frames = [event(chunk({"role": "assistant", "content": ""}), end=end)]
    frames += [event(chunk({"content": word}), end=end) for word in words(text)]
    frames.append(event(chunk({}, "stop"), end=end))
    if usage:
        numbers = {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19}
        frames.append(event(chunk({}) | {"choices": [], "usage": numbers}, end=end))
    return [*frames, event("[DONE]", end=end)] if done else frames


def response_object(text: str, status: str = "completed") -> Json:
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"id": "msg1", "type": "message", "role": "assistant", "status": status, "content": [part]}
    usage = {
        "input_tokens": 12, "output_tokens": 7, "total_tokens": 19,
        "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip
    return {
        "id": "r1", "object": "response", "created_at": 1, "model": "m", "status": status, "output": [item] if text else [],
        "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "temperature": 1.0, "top_p": 1.0,
    }  # fmt: skip


def response_stream(text: str) -> list[bytes]:
    place = {"item_id": "msg1", "output_index": 0, "content_index": 0}
    whole = response_object(text)
    item = whole["output"][0]
    empty = item | {"content": [], "status": "in_progress"}
    part = item["content"][0]
    events: list[Json] = [
        {"type": "response.created", "response": response_object("", "in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": empty},
        {"type": "response.content_part.added", **place, "part": part | {"text": ""}},
        *({"type": "response.output_text.delta", **place, "delta": w, "logprobs": []} for w in words(text)),
        {"type": "response.output_text.done", **place, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return [event(e | {"sequence_number": n}, e["type"]) for n, e in enumerate(events)]
