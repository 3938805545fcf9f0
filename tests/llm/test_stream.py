"""A completion as an async iterator: order, backpressure, and an end that leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from tests.llm.test_hosted import chunk, openai_at, sse
from tests.loopback import Loopback

from groundwire.errors import BackendDown
from groundwire.llm import Completion, Message, OnText
from groundwire.llm.base import MAX_BUFFERED, stream_text
from groundwire.llm.fake import ScriptedGenerator

HELLO = [Message("user", "Hello?")]


class Endless:
    """Says numbers until somebody stops it; `said` counts them."""

    name = "endless"

    def __init__(self, break_at: int | None = None) -> None:
        self.said = 0
        self.stopped = False
        self._break_at = break_at

    async def complete(self, messages: Sequence[Message], **_: object) -> list[Completion]:
        raise NotImplementedError

    async def stream(self, messages: Sequence[Message], on_text: OnText, **_: object) -> Completion:
        try:
            while self.said != self._break_at:
                self.said += 1
                if (wait := on_text(f"{self.said} ")) is not None:
                    await wait
                await asyncio.sleep(0)
        finally:
            self.stopped = True
        raise BackendDown("gone")

    async def aclose(self) -> None: ...


async def test_the_pieces_come_in_order() -> None:
    assert [p async for p in stream_text(ScriptedGenerator(["one two three"]), HELLO)] == ["one", " two", " three"]


async def test_who_does_not_read_holds_the_model() -> None:
    model = Endless()
    stream = stream_text(model, HELLO)
    assert await anext(stream) == "1 "
    for _ in range(200):
        await asyncio.sleep(0)
    assert model.said <= MAX_BUFFERED + 2
    assert [await anext(stream) for _ in range(40)] == [f"{n} " for n in range(2, 42)]
    await stream.aclose()
    assert model.stopped


async def test_who_leaves_leaves_no_task_behind() -> None:
    model = Endless()
    before = asyncio.all_tasks()
    async for _ in (stream := stream_text(model, HELLO)):
        break
    await stream.aclose()
    assert model.stopped
    assert asyncio.all_tasks() == before


async def test_a_reader_who_is_cancelled_stops_the_model() -> None:
    model = Endless()

    async def read() -> None:
        async for _ in stream_text(model, HELLO):
            await asyncio.sleep(0)

    reader = asyncio.create_task(read())
    for _ in range(20):
        await asyncio.sleep(0)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    for _ in range(5):
        await asyncio.sleep(0)
    assert model.stopped


async def test_what_was_said_before_a_failure_is_heard() -> None:
    stream = stream_text(Endless(break_at=3), HELLO)
    assert [await anext(stream) for _ in range(3)] == ["1 ", "2 ", "3 "]
    with pytest.raises(BackendDown):
        await anext(stream)


async def test_who_cannot_stream_says_it_at_once() -> None:
    class Plain:
        name = "plain"

        async def complete(self, messages: object, **_: object) -> list[Completion]:
            return [Completion("whole")]

        async def aclose(self) -> None: ...

    assert [piece async for piece in stream_text(Plain(), HELLO)] == ["whole"]


async def test_a_real_client_is_read_piece_by_piece(loopback: Loopback) -> None:
    loopback.script(sse(chunk("Hi "), chunk("you"), "[DONE]"))
    generator = openai_at(loopback)
    assert [piece async for piece in stream_text(generator, HELLO)] == ["Hi ", "you"]
    await generator.aclose()
