"""Add documents to an index; only new or changed ones are split and embedded.

A document is split into overlapping passages of whole sentences and table rows, with their offsets.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.rag.index import IndexedDocument, IndexedPassage, PassageIndex
from groundwire.retrieval.load import files_below, read_file, sources_in
from groundwire.text.structure import TextPiece, pieces
from groundwire.text.tokens import words
from groundwire.types import Source, UnitKind

Progress = Callable[[int, int], None]
"""Called with the number of documents done and the total."""
MAX_ID = 512
"""Characters: Pinecone's limit for an id."""


@dataclass(slots=True)
class IngestResult:
    """Document ids by outcome; `failed` contains error messages."""

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
        self._known = {document.id: document for document in index.documents()}

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
            known = self._known.get(str(path))
            if known is not None and known.digest == mark:
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
        known = self._known.get(name)
        if known is not None and known.digest == mark:
            self.done.unchanged.append(name)
            return known
        return self._add(name, title or name, [Source("S0", text)], mark)

    def _add(self, name: str, title: str, parts: Sequence[Source], mark: str) -> IndexedDocument:
        passages = split_passages(name, title, parts, self.size)
        size = sum(len(part.text) for part in parts)
        document = IndexedDocument(name, title, mark, len(passages), size)
        self.index.add(document, passages)
        (self.done.changed if name in self._known else self.done.added).append(name)
        self.done.passages += len(passages)
        self._known[name] = document
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


# Splitting.

SPLIT_VERSION = 1
"""Increase when the splitting changes, so that documents are indexed again."""


@dataclass(frozen=True, slots=True)
class PassageSize:
    """Length of a passage and its overlap with the previous one, in words."""

    words: int = 180
    overlap: int = 30

    @property
    def effective_overlap(self) -> int:
        return min(self.overlap, self.words // 2)


def digest(data: bytes, size: PassageSize, embedder: str) -> str:
    """Return a digest that changes if indexing the document again would change anything."""
    how = f"{SPLIT_VERSION}:{size.words}:{size.effective_overlap}:{embedder}:"
    return hashlib.sha256(how.encode() + data).hexdigest()


def split_passages(document: str, title: str, parts: Sequence[Source], size: PassageSize) -> list[IndexedPassage]:
    """Split a document whose texts are `parts`; no passage spans two texts.

    >>> text = "# Fees\\nThe fee is 50. It is due in May.\\n# Hours\\nWe open at nine."
    >>> passages = split_passages("d", "Guide", [Source("S0", text)], PassageSize(words=6, overlap=0))
    >>> [(passage.heading, passage.text) for passage in passages]
    [('Fees', 'The fee is 50.'), ('Fees', 'It is due in May.'), ('Hours', 'We open at nine.')]
    """
    found: list[IndexedPassage] = []
    for part in parts:
        name = part.id if len(parts) > 1 else ""
        for run, heading in _group_pieces(pieces(part.text, rendered=False), size):
            text, start, end = _passage_text(part.text, run), run[0].start, run[-1].end
            found.append(IndexedPassage(document, 0, text, start, end, title, heading, name))
    return [replace(passage, number=number) for number, passage in enumerate(found)]


def _group_pieces(found: Sequence[TextPiece], size: PassageSize) -> Iterator[tuple[list[TextPiece], str]]:
    """Group pieces into passages, with the heading above them; a heading starts a new passage."""
    run: list[TextPiece] = []
    length, has_new, heading = 0, False, ""  # `has_new`: the run is more than the overlap
    for piece in found:
        piece_words = len(words(piece.text))
        if run and (piece.heading or length + piece_words > size.words):
            if has_new:
                yield run, heading
            limit = min(size.effective_overlap, size.words - piece_words)
            run = [] if piece.heading else _overlap(run, limit)
            length, has_new = sum(len(words(overlap.text)) for overlap in run), False
        if piece.heading:
            heading = piece.text.lstrip("# ").strip()
        else:
            run.append(piece)
            length, has_new = length + piece_words, True
    if has_new:
        yield run, heading


def _overlap(run: Sequence[TextPiece], limit: int) -> list[TextPiece]:
    """Return the last pieces within the overlap, but never the whole passage."""
    overlap: list[TextPiece] = []
    for piece in reversed(run[1:]):
        limit -= len(words(piece.text))
        if limit < 0:
            break
        overlap.insert(0, piece)
    return overlap


def _passage_text(text: str, run: Sequence[TextPiece]) -> str:
    """Return prose as written, and table rows with their column names."""
    if all(piece.kind is UnitKind.SENTENCE for piece in run):
        return text[run[0].start : run[-1].end]
    return "\n".join(f"{piece.under} {piece.text}" if piece.under else piece.text for piece in run)
