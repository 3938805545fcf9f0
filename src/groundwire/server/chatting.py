"""The chatbot behind the service: its index and its model, opened when first asked for."""

from __future__ import annotations

import asyncio

from groundwire.cli.models import open_writer
from groundwire.config import Config
from groundwire.errors import InputError, MissingExtra
from groundwire.llm import Generator
from groundwire.rag.chatbot import Chatbot
from groundwire.rag.index import PassageIndex, open_index
from groundwire.server.admission import Admission


class Chatting:
    """`admission` bounds how many answers are written at once: they mostly wait for the model, and must not
    take the places of requests that keep the verifier busy.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lock = asyncio.Lock()
        self._index: PassageIndex | None = None
        self._writer: Generator | None = None
        self.admission = Admission(config.server.capacity)

    async def index(self) -> PassageIndex:
        async with self._lock:
            if self._index is None:
                self._index = await asyncio.to_thread(open_index, self._config)
            return self._index

    async def bot(self) -> Chatbot:
        return Chatbot(await self.index(), await self.writer(), self._config.rag)

    async def writer(self) -> Generator:
        """The model that answers are written with."""
        async with self._lock:
            if self._writer is None:
                self._writer = await asyncio.to_thread(_open_writer, self._config)
            return self._writer

    async def aclose(self) -> None:
        if self._index is not None:
            await asyncio.to_thread(self._index.close)
        if self._writer is not None:
            await self._writer.aclose()


def _open_writer(config: Config) -> Generator:
    try:
        return open_writer(config)
    except InputError as error:  # nothing that the caller could do better
        raise MissingExtra("a language model to answer with", "llm") from error
