"""A piece of a text and how prose falls into pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from groundwire.text.segment import Block, BlockKind, blocks, sentences
from groundwire.types import UnitKind

_MAX_PIECE = 1200
_PARAGRAPH = 4000  # characters; what is longer is not kept


@dataclass(frozen=True, slots=True)
class Piece:
    """`text[start:end]` in readable form. `label` is the path or key that `text` begins with.

    `bare` is a value of structured data without quotes of its own: what replaces it must bring them.
    `under` is the heading above a line of data, which says what the line is about.
    """

    start: int
    end: int
    text: str
    kind: UnitKind = UnitKind.SENTENCE
    label: str = ""
    bare: bool = False
    heading: bool = False
    under: str = ""


def labelled(label: str, text: str) -> str:
    return f"{label}: {text}" if label else text


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Sentences, and parts of one that does not end for very long.

    The contexts of one answer's claims differ in a few paragraphs only, so the others are cut once.
    """
    yield from _kept_spans(text) if len(text) <= _PARAGRAPH else _spans(text)


@lru_cache(maxsize=1024)
def _kept_spans(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(_spans(text))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    for span in sentences(text):
        yield from chunks(text, span.start, span.end)


def chunks(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A range in parts of a readable length, without the white space around them."""
    while start < end:
        cut = end
        if end - start > _MAX_PIECE:
            space = text.rfind(" ", start + _MAX_PIECE // 2, start + _MAX_PIECE)
            cut = space if space > 0 else start + _MAX_PIECE
        raw = text[start:cut]
        if raw.strip():
            yield start + len(raw) - len(raw.lstrip()), start + len(raw.rstrip())
        start = cut


def prose(text: str, start: int, end: int) -> Iterator[Piece]:
    """The sentences of Markdown or plain text; code line by line."""
    for block in blocks(text[start:end]):
        heading = block.kind is BlockKind.HEADING
        for first, last in _parts(text, block, start):
            yield Piece(first, last, " ".join(text[first:last].split()), heading=heading)


def _parts(text: str, block: Block, offset: int) -> Iterator[tuple[int, int]]:
    first, last = block.start + offset, block.end + offset
    if block.kind is BlockKind.HEADING:
        yield from chunks(text, first, last)
    elif block.kind is BlockKind.CODE:
        for line in block.lines:
            if not text.startswith(("```", "~~~"), line.start + offset):
                yield from chunks(text, line.start + offset, line.end + offset)
    elif _is_whole(text, block, offset):
        yield from _shifted(text, first, last)
    else:
        for line in block.lines:
            yield from _shifted(text, line.start + offset, line.end + offset)


def _shifted(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for first, last in spans(text[start:end]):
        yield start + first, start + last


def _is_whole(text: str, block: Block, offset: int) -> bool:
    """Whether nothing but white space (no quote mark, no pipe) stands between the block's lines."""
    pairs = zip(block.lines, block.lines[1:], strict=False)
    return all(not text[a.end + offset : b.start + offset].strip() for a, b in pairs)
