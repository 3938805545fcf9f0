"""Answers on their way to the client: relayed, streamed through a mode, or told whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import aclosing

from starlette.types import Send

from groundwire.proxy.flow import Flow
from groundwire.proxy.headers import Mode, own, to_client
from groundwire.proxy.modes import MODES
from groundwire.proxy.protocol import Json, Spoken
from groundwire.proxy.upstream import Answer
from groundwire.proxy.verifier import State, Watch
from groundwire.proxy.whole import judged

Headers = Sequence[tuple[bytes, bytes]]
JSON: Headers = ((b"content-type", b"application/json"),)


async def streamed(send: Send, answer: Answer, flow: Flow, mode: Mode) -> None:
    """What the mode makes of the stream."""
    headers = to_client(answer.head.headers, changed=True, decoded=bool(answer.coding))
    told = own({"mode": mode, "status": State.PENDING.value})
    await _begun(send, answer.head.status, [*headers, *told, (b"x-accel-buffering", b"no")])
    async with aclosing(MODES[mode](flow)) as pieces:
        async for piece in pieces:
            if piece:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def relayed(send: Send, answer: Answer) -> None:
    """What is not ours to judge, exactly as it is."""
    await _begun(send, answer.head.status, to_client(answer.head.headers))
    async for chunk in answer.raw():
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def told_whole(send: Send, answer: Answer, watch: Watch, spoken: Spoken) -> None:
    """An answer in one piece, with what was found out in its headers."""
    content = await answer.whole()
    found = object_in(content)
    headers = to_client(answer.head.headers, decoded=bool(answer.coding))
    if found is None:
        await whole(send, 200, headers, content)
        return
    outcome, changed = await judged(found, watch, spoken)
    if changed is not None:
        content = json.dumps(changed, ensure_ascii=False).encode("utf-8", "replace")
        headers = to_client(answer.head.headers, changed=True, decoded=bool(answer.coding))
    await whole(send, 200, [*headers, *own(outcome.figures)], content)


async def failed(send: Send, status: int, body: bytes) -> None:
    await whole(send, status, JSON, body)


async def whole(send: Send, status: int, headers: Headers, body: bytes) -> None:
    kept = [(name, value) for name, value in headers if name != b"content-length"]
    await _begun(send, status, [*kept, (b"content-length", str(len(body)).encode())])
    await send({"type": "http.response.body", "body": body})


async def _begun(send: Send, status: int, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})


def object_in(body: bytes) -> Json | None:
    """The JSON object that a body is; None for whatever else it is."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
