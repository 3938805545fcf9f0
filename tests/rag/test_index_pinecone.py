"""What is Pinecone's own: its errors in one line each, and documents split_passages short."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.rag.pinecone_server import KEY, PineconeServer

from groundwire.config import RagConfig
from groundwire.errors import BackendDown, BackendError, ConfigError, GroundwireError, RateLimited
from groundwire.rag.index import IndexedDocument
from groundwire.rag.index_pinecone import PineconeIndex, open_index
from groundwire.rag.ingest import PassageSize, split_passages
from groundwire.types import Source

TEXT = " ".join(f"Room {n} has {n} windows." for n in range(6))


@pytest.fixture
def server() -> Iterator[PineconeServer]:
    running = PineconeServer()
    yield running
    running.close()


def connect(server: PineconeServer, key: str = KEY) -> PineconeIndex:
    return open_index(RagConfig.model_validate({"pinecone_api_key": key, "pinecone_host": server.url}))


def add(index: PineconeIndex, text: str) -> None:
    passages = split_passages("rooms", "Rooms", [Source("S0", text)], PassageSize(20, 0))
    index.add(IndexedDocument("rooms", "Rooms", "d", len(passages), len(text)), passages)


def test_interrupted_add_is_repeated(server: PineconeServer) -> None:
    index = connect(server)
    add(index, TEXT)
    server.fail = (400, "/vectors/upsert")
    with pytest.raises(BackendError, match="no more today"):
        add(index, TEXT + " Room 9 has 9 windows.")
    assert index.documents() == []  # its digest is gone: the next ingest reads it again
    server.fail = None
    add(index, "Room 1 has one window.")
    assert [document.passages for document in index.documents()] == [1]
    assert len(server.namespaces["groundwire"]) == 1
    index.close()


@pytest.mark.parametrize(("status", "error"), [(429, RateLimited), (403, BackendError), (422, BackendError)])
def test_pinecone_errors_are_translated(
    server: PineconeServer, status: int, error: type[GroundwireError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)  # the SDK waits before it tries again
    index = connect(server)
    server.fail = (status, "/query")
    with pytest.raises(error):
        index.search("How many windows has room 3?", 3)
    index.close()


def test_wrong_and_missing_key(server: PineconeServer) -> None:
    index = connect(server, "other")
    with pytest.raises(ConfigError, match="rejected the key"):
        index.documents()
    index.close()
    with pytest.raises(ConfigError, match=r"set rag\.pinecone_api_key"):
        open_index(RagConfig())


def test_unreachable_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    gone = PineconeServer()
    index = connect(gone)
    gone.close()
    with pytest.raises(BackendDown, match="cannot be reached"):
        index.documents()
    index.close()
