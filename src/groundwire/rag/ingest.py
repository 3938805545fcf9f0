"""Documents into an index: only what is new or has changed is read, cut and embedded again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.rag.index import PassageIndex
from groundwire.rag.passages import Cutting, Document, cut, digest
from groundwire.retrieval.load import files_below, read_file, sources_in
from groundwire.types import Source

Seen = Callable[[int, int], None]
"""Hears how many documents are done, and of how many."""
MAX_ID = 512
"""Pinecone's limit for an id; room is left for a passage's number."""


@dataclass(slots=True)
class Ingested:
    """What became of the documents; `failed` says for each what was wrong with it."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    passages: int = 0


class Ingest:
    """One run over an index. Each document is committed by itself, so a killed run goes on from there."""

    def __init__(self, index: PassageIndex, config: Config) -> None:
        self.index = index
        self.cutting = Cutting(config.rag.passage_words, config.rag.overlap_words)
        self.max_bytes = config.limits.max_source_bytes
        self.done = Ingested()
        self._known = {document.id: document.digest for document in index.documents()}

    def files(self, paths: Sequence[Path], *, prune: bool = False, seen: Seen | None = None) -> Ingested:
        """Files, and all files below folders. `prune` removes documents whose files are gone from there."""
        there = list(dict.fromkeys(_all_of(paths, self.done.failed.append)))
        seen_all = not self.done.failed
        for number, path in enumerate(there, start=1):
            self._file(path)
            if seen is not None:
                seen(number, len(there))
        if prune and seen_all:  # what stands in a folder that cannot be read is not gone
            self._prune([path.resolve() for path in paths], {str(path) for path in there})
        return self.done

    def _file(self, path: Path) -> None:
        try:
            data = read_file(path, self.max_bytes)
            mark = digest(data, self.cutting, self.index.embedder)
            if self._known.get(str(path)) == mark:
                self.done.unchanged.append(str(path))
                return
            self._add(str(path), path.name, sources_in(data, path, self.max_bytes), mark)
        except InputError as error:
            self.done.failed.append(error.message)

    def text(self, name: str, title: str, text: str) -> Document:
        """One text under a name of its own; the document as the index now knows it."""
        if not text.strip():
            raise InputError("the document is empty", hint="give some text")
        if not name.strip() or len(name) > MAX_ID:
            raise InputError(f"a document's id has 1 to {MAX_ID} characters")
        if len(text.encode("utf-8", "replace")) > self.max_bytes:
            raise InputError("the document is too large", hint="split it, or raise limits.max_source_bytes")
        text = text.encode("utf-8", "replace").decode("utf-8")
        mark = digest(f"{title}\n{text}".encode(), self.cutting, self.index.embedder)
        if self._known.get(name) == mark:
            self.done.unchanged.append(name)
            return next(found for found in self.index.documents() if found.id == name)
        return self._add(name, title or name, [Source("S0", text)], mark)

    def _add(self, name: str, title: str, parts: Sequence[Source], mark: str) -> Document:
        passages = cut(name, title, parts, self.cutting)
        size = sum(len(part.text) for part in parts)
        document = Document(name, title, mark, len(passages), size)
        self.index.add(document, passages)
        (self.done.changed if name in self._known else self.done.added).append(name)
        self.done.passages += len(passages)
        self._known[name] = mark
        return document

    def _prune(self, roots: Sequence[Path], there: set[str]) -> None:
        """Only what came from below these paths: other folders' documents are nobody's business here."""
        gone = [
            name
            for name in self._known
            if name not in there and any(Path(name) == root or root in Path(name).parents for root in roots)
        ]
        self.index.delete(gone)
        self.done.removed += gone


def _all_of(paths: Sequence[Path], report: Callable[[str], None]) -> Iterator[Path]:
    """Every file by its full name, so that it is the same document from whichever folder one names it."""
    for path in paths:
        if path.is_dir():
            yield from (found.resolve() for found in files_below(path, report))
        else:
            yield path.resolve()
