"""Add documents to an index; only new or changed ones are split and embedded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.rag.index import PassageIndex
from groundwire.rag.passages import IndexedDocument, PassageSize, digest, split_passages
from groundwire.retrieval.load import files_below, read_file, sources_in
from groundwire.types import Source

Progress = Callable[[int, int], None]
"""Called with the number of documents done and the total."""
MAX_ID = 512
"""Characters: Pinecone's limit for an id."""


@dataclass(slots=True)
class IngestResult:
    """Document ids by outcome; `failed` contains error build_messages."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    passages: int = 0


class Ingest:
    """One ingestion run. Each document is committed separately, so that a killed run can be resumed."""

    def __init__(self, index: PassageIndex, config: Config) -> None:
        self.index = index
        self.size = PassageSize(config.rag.passage_words, config.rag.overlap_words)
        self.max_bytes = config.limits.max_source_bytes
        self.done = IngestResult()
        self._known = {document.id: document.digest for document in index.documents()}

    def files(self, paths: Sequence[Path], *, prune: bool = False, progress: Progress | None = None) -> IngestResult:
        """Add files, and all files below folders. `prune` removes documents whose files no longer exist."""
        files = list(dict.fromkeys(_find_files(paths, self.done.failed.append)))
        all_readable = not self.done.failed
        for number, path in enumerate(files, start=1):
            self._file(path)
            if progress is not None:
                progress(number, len(files))
        if prune and all_readable:  # files in an unreadable folder still exist
            self._prune([path.resolve() for path in paths], {str(path) for path in files})
        return self.done

    def _file(self, path: Path) -> None:
        try:
            data = read_file(path, self.max_bytes)
            mark = digest(data, self.size, self.index.embedder)
            if self._known.get(str(path)) == mark:
                self.done.unchanged.append(str(path))
                return
            self._add(str(path), path.name, sources_in(data, path, self.max_bytes), mark)
        except InputError as error:
            self.done.failed.append(error.message)

    def text(self, name: str, title: str, text: str) -> IndexedDocument:
        """Add one text under an id; return its document."""
        if not text.strip():
            raise InputError("the document is empty", hint="give some text")
        if not name.strip() or len(name) > MAX_ID:
            raise InputError(f"a document id must have 1 to {MAX_ID} characters")
        if len(text.encode("utf-8", "replace")) > self.max_bytes:
            raise InputError("the document is too large", hint="split it, or raise limits.max_source_bytes")
        text = text.encode("utf-8", "replace").decode("utf-8")
        mark = digest(f"{title}\n{text}".encode(), self.size, self.index.embedder)
        if self._known.get(name) == mark:
            self.done.unchanged.append(name)
            return next(found for found in self.index.documents() if found.id == name)
        return self._add(name, title or name, [Source("S0", text)], mark)

    def _add(self, name: str, title: str, parts: Sequence[Source], mark: str) -> IndexedDocument:
        passages = split_passages(name, title, parts, self.size)
        size = sum(len(part.text) for part in parts)
        document = IndexedDocument(name, title, mark, len(passages), size)
        self.index.add(document, passages)
        (self.done.changed if name in self._known else self.done.added).append(name)
        self.done.passages += len(passages)
        self._known[name] = mark
        return document

    def _prune(self, roots: Sequence[Path], files: set[str]) -> None:
        """Delete documents that came from below these paths and no longer exist."""
        gone = [
            name
            for name in self._known
            if name not in files and any(Path(name) == root or root in Path(name).parents for root in roots)
        ]
        self.index.delete(gone)
        self.done.removed += gone


def _find_files(paths: Sequence[Path], report: Callable[[str], None]) -> Iterator[Path]:
    """Yield absolute paths, so that a document's id does not depend on the working directory."""
    for path in paths:
        if path.is_dir():
            yield from (found.resolve() for found in files_below(path, report))
        else:
            yield path.resolve()
