"""A completion as an async iterator of text: who reads slowly slows the model down, who leaves stops it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence

from groundwire.llm.base import Completion, Generator, Message, completed

ROOM = 16
"""So many pieces wait for a reader before the model has to."""


async def tokens(
    generator: Generator,
    messages: Sequence[Message],
    *,
    max_tokens: int = 256,
    temperature: float = 0.0,
) -> AsyncGenerator[str]:
    """The pieces of text as they come; all at once from a generator that cannot stream.

    Raises what the generator raises, after the pieces that came before. Closing it, or cancelling whoever
    waits for it, ends the request.
    """
    pipe = _Pipe()
    work = completed(generator, messages, pipe.take, max_tokens=max_tokens, temperature=temperature)
    task = asyncio.ensure_future(work)
    task.add_done_callback(pipe.end)
    try:
        while (piece := await pipe.next()) is not None:
            yield piece
        await task
    finally:
        await _stopped(task)


async def _stopped(task: asyncio.Task[Completion]) -> None:
    """Cancelled and over: nothing of it is left running when this returns."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # was raised to the reader, or he is gone


class _Pipe:
    """Between a model that is called back on each piece and a reader who asks for the next."""

    def __init__(self) -> None:
        self._pieces: deque[str] = deque()
        self._over = False
        self._news = asyncio.Event()
        self._room: asyncio.Future[None] | None = None

    def take(self, piece: str) -> asyncio.Future[None] | None:
        self._pieces.append(piece)
        self._news.set()
        if len(self._pieces) < ROOM:
            return None
        if self._room is None or self._room.done():
            self._room = asyncio.get_running_loop().create_future()
        return self._room

    def end(self, _: object) -> None:
        self._over = True
        self._news.set()

    async def next(self) -> str | None:
        """None when all was read."""
        while not self._pieces:
            if self._over:
                return None
            self._news.clear()
            await self._news.wait()
        piece = self._pieces.popleft()
        if self._room is not None and not self._room.done() and len(self._pieces) < ROOM:
            self._room.set_result(None)
        return piece
