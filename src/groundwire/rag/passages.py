"""Split documents into overlapping passages of whole sentences and table rows, with their offsets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from groundwire.text.structure import TextPiece, pieces
from groundwire.text.tokens import terms, words
from groundwire.types import Source, UnitKind

SPLIT_VERSION = 1
"""Increase when the splitting changes, so that documents are indexed again."""


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document in an index. `digest` identifies its bytes and the splitting parameters."""

    id: str
    title: str
    digest: str
    passages: int = 0
    characters: int = 0


@dataclass(frozen=True, slots=True)
class IndexedPassage:
    """`text` is shown to the model; `start` and `end` are offsets in the document, or in its `part` if a file
    contains several texts. `heading` is the nearest heading above.
    """

    document: str
    number: int
    text: str
    start: int
    end: int
    title: str = ""
    heading: str = ""
    part: str = ""

    @property
    def id(self) -> str:
        return f"{self.document}#{self.number}"

    @property
    def about(self) -> str:
        """The text with its heading, as it is indexed."""
        return f"{self.heading}\n{self.text}" if self.heading else self.text

    @property
    def terms(self) -> list[str]:
        """The terms by which it is found, in order."""
        return terms(f"{self.title}\n{self.about}")


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
        found += _split_text(part.text, IndexedPassage(document, 0, "", 0, 0, title, part=name), size)
    return [replace(passage, number=number) for number, passage in enumerate(found)]


def _split_text(text: str, blank: IndexedPassage, size: PassageSize) -> Iterator[IndexedPassage]:
    for run, heading in _group_pieces(pieces(text, rendered=False), size):
        start, end = run[0].start, run[-1].end
        yield replace(blank, text=_passage_text(text, run), start=start, end=end, heading=heading)


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
