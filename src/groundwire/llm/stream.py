"""A completion as an async iterator of text, with backpressure and cancellation."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence

from groundwire.llm.base import Completion, Generator, Message, completed

MAX_BUFFERED = 16
"""Pieces buffered for a slow reader before the model has to wait."""


async def tokens(
    generator: Generator,
    messages: Sequence[Message],
    *,
    max_tokens: int = 256,
    temperature: float = 0.0,
) -> AsyncGenerator[str]:
    """Yield text as it is generated; in one piece if the generator cannot stream.

    Errors of the generator are raised after the text that came before. Closing the iterator or cancelling its
    reader cancels the request.
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
        await _cancel(task)


async def _cancel(task: asyncio.Task[Completion]) -> None:
    """Cancel the task and wait until it has ended."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # mark as retrieved: it was raised to the reader, or the reader is gone


class _Pipe:
    """A bounded buffer between the model's callback and the reader."""

    def __init__(self) -> None:
        self._pieces: deque[str] = deque()
        self._over = False
        self._news = asyncio.Event()
        self._room: asyncio.Future[None] | None = None

    def take(self, piece: str) -> asyncio.Future[None] | None:
        self._pieces.append(piece)
        self._news.set()
        if len(self._pieces) < MAX_BUFFERED:
            return None
        if self._room is None or self._room.done():
            self._room = asyncio.get_running_loop().create_future()
        return self._room

    def end(self, _: object) -> None:
        self._over = True
        self._news.set()

    async def next(self) -> str | None:
        """The next piece; None at the end."""
        while not self._pieces:
            if self._over:
                return None
            self._news.clear()
            await self._news.wait()
        piece = self._pieces.popleft()
        if self._room is not None and not self._room.done() and len(self._pieces) < MAX_BUFFERED:
            self._room.set_result(None)
        return piece
