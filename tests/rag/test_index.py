"""What every index of passages does alike: the embedded one, with and without meanings, and Pinecone's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rag.pinecone_server import KEY, PineconeServer

from groundwire.config import Config, RagConfig
from groundwire.rag import index_pinecone, index_sqlite
from groundwire.rag.index import IndexedDocument, IndexedPassage, PassageIndex, default_embedder, open_index
from groundwire.rag.ingest import Ingest, PassageSize, split_passages
from groundwire.types import Source

FEES = "# Fees\nRenting the hall costs 300 shekels. The deposit is 500 shekels.\n# Hours\nWe open at eight."
HEBREW = 'השמאי המכריע קבע כי הבעלים זכאי לפיצוי בסך 50,000 ש"ח. הדיון התקיים בחיפה.'


@pytest.fixture(params=["sqlite", "words", "pinecone"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PassageIndex]:
    if request.param == "pinecone":
        server = PineconeServer()
        settings = RagConfig.model_validate({"pinecone_api_key": KEY, "pinecone_host": server.url})
        remote = index_pinecone.open_index(settings)
        yield remote
        remote.close()
        server.close()
        return
    embedder = default_embedder() if request.param == "sqlite" else None
    found = index_sqlite.SqliteIndex(tmp_path / "rag.db", embedder)
    yield found
    found.close()


def add(index: PassageIndex, name: str, text: str, words: int = 12) -> list[IndexedPassage]:
    passages = split_passages(name, f"{name}.md", [Source("S0", text)], PassageSize(words, 0))
    index.add(IndexedDocument(name, f"{name}.md", f"digest of {text}", len(passages), len(text)), passages)
    return passages


def test_added_passages_are_found_with_offsets(index: PassageIndex) -> None:
    passages = add(index, "fees", FEES)
    add(index, "menu", "The café serves tea, coffee and cake in the garden.")
    (best, *_) = index.search("How much is the deposit?", 5)
    assert best.passage in passages
    assert "deposit" in best.passage.text
    assert (best.passage.heading, best.passage.title) == ("Fees", "fees.md")
    assert FEES[best.passage.start : best.passage.end] == best.passage.text


def test_hits_are_ranked_and_limited(index: PassageIndex) -> None:
    for number in range(12):
        add(index, f"d{number}", f"Room {number} has {number} windows and one door.")
    hits = index.search("Which room has 7 windows?", 3)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert hits[0].passage.document == "d7"
    assert len(index.search("windows and a door", 3)) == 3


def test_hebrew_is_found_with_and_without_its_prefixes(index: PassageIndex) -> None:
    add(index, "ruling", HEBREW)
    add(index, "other", "בית הקפה מגיש תה ועוגות בגינה.")
    for question in ("כמה פיצוי קבע השמאי?", "מה קבע שמאי מכריע", "איפה היה הדיון, בחיפה?"):
        assert [hit.passage.document for hit in index.search(question, 1)] == ["ruling"], question


def test_scripts_without_spaces_are_found(index: PassageIndex) -> None:
    add(index, "tower", "東京タワーの高さは333メートルです。")
    add(index, "tea", "この店ではお茶とケーキを出します。")
    assert [hit.passage.document for hit in index.search("東京タワーの高さは", 1)] == ["tower"]


def test_unrelated_question_finds_nothing(index: PassageIndex) -> None:
    add(index, "fees", FEES)
    for question in ("Who painted the Mona Lisa?", "xyzzy", "", "?!", '" OR NEAR(', "של את"):
        assert index.search(question, 5) == [], question


def test_empty_index_finds_nothing(index: PassageIndex) -> None:
    assert (index.search("anything at all", 5), index.documents()) == ([], [])
    assert index.delete(["nothing"]) == 0


def test_document_is_replaced_atomically(index: PassageIndex) -> None:
    add(index, "fees", FEES, words=6)
    add(index, "fees", "The deposit is 900 shekels.")
    hits = index.search("What is the deposit in shekels?", 10)
    assert [hit.passage.text for hit in hits] == ["The deposit is 900 shekels."]
    assert index.search("When do we open? At eight?", 10) == []
    assert [(d.id, d.passages) for d in index.documents()] == [("fees", 1)]


def test_deleted_documents_are_not_found(index: PassageIndex) -> None:
    add(index, "fees", FEES)
    add(index, "ruling", HEBREW)
    assert index.delete(["fees", "unknown"]) == 1
    assert [document.id for document in index.documents()] == ["ruling"]
    assert index.search("What is the deposit?", 5) == []
    assert index.search("מה קבע השמאי?", 5) != []


def test_document_ids_may_be_any_text(index: PassageIndex) -> None:
    for name in ("תעריפים.md", "a b/ç#1.txt", "x" * 500):
        add(index, name, f"The deposit of {name} is 500 shekels.")
    assert {document.id for document in index.documents()} == {"תעריפים.md", "a b/ç#1.txt", "x" * 500}
    assert index.delete(["תעריפים.md"]) == 1


def test_concurrent_adds_lose_nothing(index: PassageIndex) -> None:
    def work(number: int) -> None:
        add(index, f"d{number}", f"Room {number} has a blue door.")
        index.search("Which room has a blue door?", 3)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(index.documents()) == 8


def test_unchanged_documents_are_recognised(index: PassageIndex) -> None:
    config = Config.load()
    first = Ingest(index, config)
    first.text("fees", "Fees", FEES)
    first.text("hours", "Hours", "We open at eight.")
    again = Ingest(index, config)
    again.text("fees", "Fees", FEES)
    again.text("hours", "Hours", "We open at nine.")
    assert (again.done.unchanged, again.done.changed, again.done.added) == (["fees"], ["hours"], [])


def test_configured_index_is_opened(tmp_path: Path) -> None:
    index = open_index(Config.load(overrides={"rag.path": str(tmp_path / "here.db")}))
    index.close()
    assert (tmp_path / "here.db").is_file()
