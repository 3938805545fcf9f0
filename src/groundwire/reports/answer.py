"""An answer as blocks of marked text: the headings, lists, tables and code of its Markdown, for HTML.

The page draws the same blocks in JavaScript (`server/page/answer.js`); a browser test compares the two.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from groundwire.reports.plaintext import is_wrapped
from groundwire.text.markdown import Block, BlockKind, blocks
from groundwire.types import ClaimVerification, Span, Status

_CODE = re.compile(r"(`+)([^`\n]+)\1")
_STRONG = re.compile(r"(\*\*|__)(?=\S)([^\n]+?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<![\w*])([*_])(?![\s*_])([^*_\n]+?)(?<!\s)\1(?![\w*])")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_TAGS = {
    BlockKind.HEADING: "h3",
    BlockKind.ITEM: "li",
    BlockKind.DEFINITION: "li",
    BlockKind.QUOTE: "blockquote",
}
_WORST = (Status.CONTRADICTED, Status.NOT_IN_CONTEXT, Status.UNCHECKED, Status.UNVERIFIABLE, Status.ENTAILED)
_INDENT = 2
"""Columns of indentation per level of a nested list."""
_MAX_DEPTH = 3


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """A piece of a line: within one claim or none, of one style, and unsupported (`hot`) or not."""

    text: str
    claim: ClaimVerification | None = None
    hot: bool = False
    style: str = ""


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """A paragraph, heading, list item, quotation, piece of code, or table row; `tag` says which.

    A row has one cell per column, any other block has one. `marker` is the bullet or number of an item and
    `depth` its nesting.
    """

    tag: str
    cells: tuple[tuple[AnswerPiece, ...], ...]
    marker: str = ""
    depth: int = 0


def answer_blocks(
    text: str, claims: Sequence[ClaimVerification], spans: Sequence[Span]
) -> Iterator[AnswerBlock]:
    """The blocks of an answer with its claims and unsupported spans."""
    cutter = _Cutter(text, claims, spans)
    for block in blocks(text):
        if block.kind in (BlockKind.HEADER, BlockKind.ROW):
            cells = tuple(tuple(cutter.inline(cell)) for cell in block.lines)
            yield AnswerBlock("th" if block.kind is BlockKind.HEADER else "td", cells)
        elif block.kind is BlockKind.CODE:
            yield AnswerBlock("pre", ((AnswerPiece(_code(text[block.start : block.end])),),))
        else:
            pieces = tuple(cutter.lines(block.lines))
            depth = _depth(text, block) if block.kind is BlockKind.ITEM else 0
            yield AnswerBlock(_TAGS.get(block.kind, "p"), (pieces,), block.marker, depth)


def _code(text: str) -> str:
    """A piece of code without its fences."""
    lines = text.split("\n")
    if _FENCE.match(lines[0]):
        lines = lines[1:-1] if len(lines) > 1 and _FENCE.match(lines[-1]) else lines[1:]
    return "\n".join(lines)


def _depth(text: str, block: Block) -> int:
    """The nesting of a list item, by the indentation of its line."""
    line = text[text.rfind("\n", 0, block.start) + 1 : block.start]
    return min((len(line) - len(line.lstrip())) // _INDENT, _MAX_DEPTH)


class _Cutter:
    """Cuts ranges of the answer at claims, spans and inline markup."""

    def __init__(self, text: str, claims: Sequence[ClaimVerification], spans: Sequence[Span]) -> None:
        self._text = text
        self._claims = sorted(claims, key=lambda claim: _WORST.index(claim.status))
        self._spans = spans
        places = [(part.start, part.end) for part in claims] + [(part.start, part.end) for part in spans]
        self._edges = sorted({edge for place in places for edge in place})

    def lines(self, lines: Sequence[Span]) -> Iterator[AnswerPiece]:
        """The lines of a paragraph: joined where a text width broke them, else with a line break."""
        for number, line in enumerate(lines):
            yield from self.inline(line)
            if number < len(lines) - 1:
                wrapped = is_wrapped(self._text[line.start : line.end])
                yield AnswerPiece(" " if wrapped else "\n")

    def inline(self, line: Span) -> Iterator[AnswerPiece]:
        """One line with its emphasis and code; the marks themselves are left out."""
        styles = list(_styles(self._text[line.start : line.end], line.start))
        at = line.start
        for start, end, width, style in styles:
            yield from self.pieces(at, start)
            yield from self.pieces(start + width, end - width, style)
            at = end
        yield from self.pieces(at, line.end)

    def pieces(self, start: int, end: int, style: str = "") -> Iterator[AnswerPiece]:
        inside = self._edges[bisect_right(self._edges, start) : bisect_left(self._edges, end)]
        for begin, stop in pairwise((start, *inside, end)) if start < end else ():
            claim = next((c for c in self._claims if c.start < stop and begin < c.end), None)
            hot = any(span.start < stop and begin < span.end for span in self._spans)
            yield AnswerPiece(self._text[begin:stop], claim, hot, style)


def _styles(line: str, offset: int) -> Iterator[tuple[int, int, int, str]]:
    """Styled ranges in order, without overlap: start, end, width of the mark, tag."""
    at = 0
    found = [
        (match.start(), match.end(), len(match[1]), tag)
        for tag, pattern in (("code", _CODE), ("b", _STRONG), ("i", _EMPHASIS))
        for match in pattern.finditer(line)
    ]
    for start, end, width, tag in sorted(found):
        if start >= at:
            yield start + offset, end + offset, width, tag
            at = end
