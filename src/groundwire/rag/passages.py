"""Documents cut into passages: whole sentences and rows, overlapping, each knowing where it stood."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from groundwire.text.structure import TextPiece, pieces
from groundwire.text.tokens import words
from groundwire.types import Source, UnitKind

CUT_VERSION = 1
"""Raised when the same text would be cut otherwise: documents are then read again."""


@dataclass(frozen=True, slots=True)
class Document:
    """What an index knows of a document. `digest` stands for its bytes and for how they were cut."""

    id: str
    title: str
    digest: str
    passages: int = 0
    characters: int = 0


@dataclass(frozen=True, slots=True)
class Passage:
    """`text` is what is shown to a model; `start` and `end` are its place in the document (in its `part`,
    where a file holds several texts). `heading` is what it stands under.
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
        """The text with what it stands under, as it is searched."""
        return f"{self.heading}\n{self.text}" if self.heading else self.text


@dataclass(frozen=True, slots=True)
class Cutting:
    """How long a passage is, and how much of the one before it repeats."""

    words: int = 180
    overlap: int = 30

    @property
    def shared(self) -> int:
        return min(self.overlap, self.words // 2)


def digest(data: bytes, cutting: Cutting, embedder: str) -> str:
    """Equal only where reading the document again would change nothing."""
    how = f"{CUT_VERSION}:{cutting.words}:{cutting.shared}:{embedder}:"
    return hashlib.sha256(how.encode() + data).hexdigest()


def cut(document: str, title: str, parts: Sequence[Source], cutting: Cutting) -> list[Passage]:
    """The passages of a document whose texts are `parts`; none reaches from one text into the next.

    >>> text = "# Fees\\nThe fee is 50. It is due in May.\\n# Hours\\nWe open at nine."
    >>> [(p.heading, p.text) for p in cut("d", "Guide", [Source("S0", text)], Cutting(words=6, overlap=0))]
    [('Fees', 'The fee is 50.'), ('Fees', 'It is due in May.'), ('Hours', 'We open at nine.')]
    """
    found: list[Passage] = []
    for part in parts:
        name = part.id if len(parts) > 1 else ""
        found += _of_one(part.text, Passage(document, 0, "", 0, 0, title, part=name), cutting)
    return [replace(passage, number=number) for number, passage in enumerate(found)]


def _of_one(text: str, blank: Passage, cutting: Cutting) -> Iterator[Passage]:
    for run, heading in _runs(pieces(text, rendered=False), cutting):
        start, end = run[0].start, run[-1].end
        yield replace(blank, text=_shown(text, run), start=start, end=end, heading=heading)


def _runs(found: Sequence[TextPiece], cutting: Cutting) -> Iterator[tuple[list[TextPiece], str]]:
    """Pieces that fit into one passage, with the heading above; a heading begins a passage of its own."""
    run: list[TextPiece] = []
    size, fresh, heading = 0, False, ""
    for piece in found:
        long = len(words(piece.text))
        if run and (piece.heading or size + long > cutting.words):
            if fresh:
                yield run, heading
            run = [] if piece.heading else _tail(run, min(cutting.shared, cutting.words - long))
            size, fresh = sum(len(words(kept.text)) for kept in run), False
        if piece.heading:
            heading = piece.text.lstrip("# ").strip()
        else:
            run.append(piece)
            size, fresh = size + long, True
    if fresh:
        yield run, heading


def _tail(run: Sequence[TextPiece], limit: int) -> list[TextPiece]:
    """The last pieces of a passage, as many as the overlap allows; never all, or it would come twice."""
    kept: list[TextPiece] = []
    for piece in reversed(run[1:]):
        limit -= len(words(piece.text))
        if limit < 0:
            break
        kept.insert(0, piece)
    return kept


def _shown(text: str, run: Sequence[TextPiece]) -> str:
    """Prose as it was written; rows and data with their names, which may stand far above."""
    if all(piece.kind is UnitKind.SENTENCE for piece in run):
        return text[run[0].start : run[-1].end]
    return "\n".join(f"{piece.under} {piece.text}" if piece.under else piece.text for piece in run)
