"""A completion as an async iterator of text, with backpressure and cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from groundwire.llm.base import Generator, Message, completed

MAX_BUFFERED = 16
"""Pieces buffered for a slow reader before the model has to wait."""


async def tokens(
    generator: Generator, messages: Sequence[Message], *, max_tokens: int = 256, temperature: float = 0.0
) -> AsyncGenerator[str]:
    """Yield text as it is generated; in one piece if the generator cannot stream.

    Errors of the generator are raised after the text that came before. Closing the iterator or cancelling its
    reader cancels the request.
    """
    pieces: asyncio.Queue[str | Exception | None] = asyncio.Queue(MAX_BUFFERED)

    async def generate() -> None:
        end: Exception | None = None
        try:
            await completed(generator, messages, pieces.put, max_tokens=max_tokens, temperature=temperature)
        except Exception as error:  # passed on: the reader raises it
            end = error
        await pieces.put(end)

    task = asyncio.create_task(generate())
    try:
        while isinstance(piece := await pieces.get(), str):
            yield piece
        if piece is not None:
            raise piece
    finally:
        task.cancel()
        await asyncio.wait({task})  # the request has ended when the iterator has
