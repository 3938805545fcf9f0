"""The handler is cancelled when the client disconnects; nothing else changes for the application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Send

from groundwire.server.middleware import CancelOnDisconnectMiddleware

BODY: Message = {"type": "http.request", "body": b"{}", "more_body": False}
GONE: Message = {"type": "http.disconnect"}


class Wire:
    """What the server hears of one client, and what it sends."""

    def __init__(self, *messages: Message) -> None:
        self.queue: asyncio.Queue[Message] = asyncio.Queue()
        self.sent: list[Message] = []
        for message in messages:
            self.queue.put_nowait(message)

    async def receive(self) -> Message:
        return await self.queue.get()

    async def send(self, message: Message) -> None:
        self.sent.append(message)


async def serve(app: ASGIApp, wire: Wire, kind: str = "http") -> None:
    async with asyncio.timeout(10):
        await CancelOnDisconnectMiddleware(app)({"type": kind, "path": "/v1/check"}, wire.receive, wire.send)


async def test_an_answer_goes_through_as_it_is() -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        assert await receive() == BODY
        await send({"type": "http.response.start", "status": 200})

    wire = Wire(BODY)
    await serve(app, wire)
    assert wire.sent == [{"type": "http.response.start", "status": 200}]


async def test_the_handler_is_cancelled_when_the_client_has_gone() -> None:
    seen: list[str] = []

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    await serve(app, Wire(BODY, GONE))
    assert seen == ["cancelled"]


async def test_work_after_the_response_is_finished() -> None:
    seen: list[str] = []

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "http.response.body", "body": b"all"})
        await asyncio.sleep(0.01)
        seen.append("done")

    await serve(app, Wire(BODY, GONE))
    assert seen == ["done"]


async def test_a_body_in_pieces_is_read_whole_first() -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        first, second = await receive(), await receive()
        await send({"type": "test", "parts": [first["body"], second["body"]]})

    wire = Wire({"type": "http.request", "body": b"a", "more_body": True}, {"type": "http.request", "body": b"b"})
    await serve(app, wire)
    assert wire.sent == [{"type": "test", "parts": [b"a", b"b"]}]


async def test_a_handler_that_awaits_the_disconnect_receives_it() -> None:
    """Streams listen by themselves: they are told, and the cancellation ends them if they do not stop."""
    heard: list[Message] = []

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        listening = asyncio.create_task(note(receive))
        try:
            await listening
        finally:
            await asyncio.gather(listening, return_exceptions=True)

    async def note(receive: Receive) -> None:
        heard.append(await receive())

    await serve(app, Wire(BODY, GONE))
    assert heard in ([GONE], [])


async def test_an_error_of_the_application_is_raised_as_ever() -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await serve(app, Wire(BODY))


async def test_a_server_that_stops_cancels_the_handler_too() -> None:
    ended = asyncio.Event()

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.create_task(serve(app, Wire(BODY)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_other_scopes_pass_through() -> None:
    seen: list[Callable[[], Any]] = []

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        seen.append(receive)

    wire = Wire()
    await serve(app, wire, "lifespan")
    assert seen == [wire.receive]
