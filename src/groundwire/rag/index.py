"""What an index of passages can do: take documents in, let them go, find what a question is about."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from groundwire._optional import load
from groundwire.config import Config
from groundwire.rag.passages import Document, Passage

_OPENERS = {
    "sqlite": "groundwire.rag.sqlite:open_index",
    "pinecone": "groundwire.rag.pinecone:open_index",
}


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found. `score` orders the hits of one search and means nothing beside another's."""

    passage: Passage
    score: float


class PassageIndex(Protocol):
    """Safe to use from several threads and by several processes at once.

    `embedder` names what meanings are compared by; "" where passages are found by their words alone.
    """

    @property
    def embedder(self) -> str: ...

    def add(self, document: Document, passages: Sequence[Passage]) -> None:
        """The document with these passages, in place of what stood under its id: all of it, or nothing."""

    def delete(self, ids: Collection[str]) -> int:
        """Let documents go; how many there were."""

    def search(self, query: str, k: int) -> list[Hit]:
        """The best `k` passages, best first; none where nothing speaks of it."""

    def documents(self) -> list[Document]:
        """All documents, by id."""

    def close(self) -> None: ...


def open_index(config: Config, *, create: bool = True) -> PassageIndex:
    """The configured index (`rag.index`). Close it with `close()`. Without `create` it must be there."""
    kind = config.rag.index
    opener = load(_OPENERS[kind], feature=f"the index '{kind}'", extra=kind)
    index: PassageIndex = opener(config.rag, create=create)
    return index
