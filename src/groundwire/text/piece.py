"""A piece of a text and how prose falls into pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from groundwire.text.segment import Block, BlockKind, blocks, sentences
from groundwire.types import UnitKind

_MAX_PIECE = 1200


@dataclass(frozen=True, slots=True)
class Piece:
    """`text[start:end]` in readable form. `label` is the path or key that `text` begins with.

    `bare` is a value of structured data without quotes of its own: what replaces it must bring them.
    """

    start: int
    end: int
    text: str
    kind: UnitKind = UnitKind.SENTENCE
    label: str = ""
    bare: bool = False
    heading: bool = False


def labelled(label: str, text: str) -> str:
    return f"{label}: {text}" if label else text


def prose(text: str, start: int, end: int) -> Iterator[Piece]:
    """The sentences of Markdown or plain text; code line by line."""
    for block in blocks(text[start:end]):
        for first, last in _parts(text, block, start):
            yield from _chunks(text, first, last, block.kind is BlockKind.HEADING)


def _parts(text: str, block: Block, offset: int) -> Iterator[tuple[int, int]]:
    first, last = block.start + offset, block.end + offset
    if block.kind is BlockKind.HEADING:
        yield first, last
    elif block.kind is BlockKind.CODE:
        for line in block.lines:
            if not text[line.start + offset : line.end + offset].startswith(("```", "~~~")):
                yield line.start + offset, line.end + offset
    elif _is_whole(text, block, offset):
        for span in sentences(text[first:last]):
            yield first + span.start, first + span.end
    else:
        for line in block.lines:
            for span in sentences(text[line.start + offset : line.end + offset]):
                yield line.start + offset + span.start, line.start + offset + span.end


def _is_whole(text: str, block: Block, offset: int) -> bool:
    """Whether nothing but white space (no quote mark, no pipe) stands between the block's lines."""
    pairs = zip(block.lines, block.lines[1:], strict=False)
    return all(not text[a.end + offset : b.start + offset].strip() for a, b in pairs)


def _chunks(text: str, start: int, end: int, heading: bool) -> Iterator[Piece]:
    """One piece, or several where no sentence ends for very long."""
    while end - start > _MAX_PIECE:
        cut = max(text.rfind(" ", start + _MAX_PIECE // 2, start + _MAX_PIECE), 0) or start + _MAX_PIECE
        yield from _chunks(text, start, cut, heading)
        start = cut
    raw = text[start:end]
    start, end = start + len(raw) - len(raw.lstrip()), end - len(raw) + len(raw.rstrip())
    if start < end:
        yield Piece(start, end, " ".join(text[start:end].split()), heading=heading)
