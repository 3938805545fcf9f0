"""Split Markdown into blocks with exact character offsets, and map spans of clean text back to raw text.

CommonMark parsers report lines, not characters, and may be quadratic on nested quotes. Claims need less:
prose, headings, items, rows and code. Each line is looked at once. Text that Markdown would turn into code
by accident (indentation, an unclosed fence without a language) stays prose, so that no claim is missed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import pairwise

from groundwire.types import Span

NEWLINE = re.compile(r"\r\n|[\n\r\v\f\x85\u2028\u2029]")

_QUOTE = re.compile(r"(?:[ \t]*>)*[ \t]*")
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*\Z")
_HEADING = re.compile(r"#{1,6}(?=[ \t]|\Z)")
_HEADING_TAIL = re.compile(r"[ \t]+#+\Z")
_RULE = re.compile(r"(?:-[ \t]*){3,}\Z|(?:\*[ \t]*){3,}\Z|(?:_[ \t]*){3,}\Z|={3,}[ \t]*\Z")
_UNDERLINE = re.compile(r"=+[ \t]*\Z|-{2,}[ \t]*\Z")
_BULLET = re.compile(r"(?:[-*+•▪●◦‣∙·–—]|\d{1,3}[.)]|\(?[a-zA-Z]\)|\([0-9ivx]{1,4}\))(?=[ \t]|\Z)[ \t]*")
_TASK = re.compile(r"\[[ xX✓]\](?=[ \t]|\Z)[ \t]*")
_DELIMITER = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?\Z")
_DEFINITION = re.compile(r"\[\^?[^\]\s]{1,80}\]:(?=[ \t]|\Z)[ \t]*")
_HTML = re.compile(r"</?[A-Za-z][^<>]{0,400}>|<!--|</?(?:p|div|table|tr|td|th|ul|ol|li|br|hr|details|summary)\b")
_PROSE_FENCES = frozenset(("", "markdown", "md", "text", "txt", "plain", "plaintext"))


class BlockKind(StrEnum):
    PARAGRAPH = "paragraph"
    HEADING = "heading"
    ITEM = "item"
    HEADER = "header"
    ROW = "row"
    CODE = "code"
    QUOTE = "quote"
    HTML = "html"
    DEFINITION = "definition"


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a Markdown text.

    `lines` are the contents line by line without bullets, quote marks and the like; `start` and `end` enclose
    them. For a table's `HEADER` and `ROW`s, `lines` has one span per column, and a row has the column names
    in `header`. `marker` is the prefix that was removed: "-", "2.", "[^1]:".
    """

    kind: BlockKind
    start: int
    end: int
    lines: tuple[Span, ...]
    header: tuple[str, ...] = ()
    marker: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the text; `start` is after quote marks and indentation."""

    begin: int
    start: int
    end: int
    body: str
    quoted: bool

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


def blocks(text: str) -> list[Block]:
    """All blocks of a Markdown text, in order, never overlapping.

    >>> text = "# Sights\\n- the *tower*"
    >>> [(b.kind.value, text[b.start : b.end]) for b in blocks(text)]
    [('heading', 'Sights'), ('item', 'the *tower*')]
    """
    return list(_BlockReader(list(_read(text))).blocks())


def _read(text: str) -> Iterator[_Line]:
    start = 0
    ends = [(match.start(), match.end()) for match in NEWLINE.finditer(text)]
    for stop, following in [*ends, (len(text), len(text))]:
        raw = text[start:stop]
        prefix = _QUOTE.match(raw)
        skip = prefix.end() if prefix else 0
        body = raw[skip:].rstrip()
        yield _Line(start, start + skip, start + skip + len(body), body, ">" in raw[:skip])
        start = following


class _BlockReader:
    """Reads the lines once; `_open` is the block that the next plain line would continue."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        self._lines = lines
        self._closers = _longest_closers(lines)
        self._prose_until = -1
        self._open: list[_Line] = []
        self._kind = BlockKind.PARAGRAPH
        self._marker = ""

    def blocks(self) -> Iterator[Block]:
        at = 0
        while at < len(self._lines):
            step = self._special(at)
            if step is None:
                yield from self._plain(self._lines[at])
                at += 1
            else:
                found, at = step
                yield from self._close()
                yield from found
        yield from self._close()

    def _special(self, at: int) -> tuple[list[Block], int] | None:
        """Blocks recognised by their first line: fences, tables, headings, rules and blank lines."""
        line = self._lines[at]
        if not line.body:
            return [], at + 1
        return self._fence(at) or self._table(at) or self._heading(at) or self._underlined(at)

    def _fence(self, at: int) -> tuple[list[Block], int] | None:
        line = self._lines[at]
        fence = _FENCE.match(line.body)
        if not fence:
            return None
        mark, prose = fence[1], fence[2].lower() in _PROSE_FENCES
        if at == self._prose_until or (prose and fence[2] and at < self._prose_until):
            return [], at + 1
        if self._closers[at].get(mark[0], 0) < len(mark):
            return ([], at + 1) if prose else ([_code(self._lines[at:])], len(self._lines))
        last = next(i for i in range(at + 1, len(self._lines)) if _closes(self._lines[i].body, mark))
        if fence[2] and prose:  # an answer wrapped in ```markdown is still an answer
            self._prose_until = last
            return [], at + 1
        return [_code(self._lines[at : last + 1])], last + 1

    def _table(self, at: int) -> tuple[list[Block], int] | None:
        head = self._lines[at]
        if "|" not in head.body or at + 1 >= len(self._lines):
            return None
        under = self._lines[at + 1].body
        if "-" not in under or not _DELIMITER.match(under) or not ("|" in under or ":" in under):
            return None
        columns = _cells(head)
        names = tuple(head.body[c.start - head.start : c.end - head.start] for c in columns)
        found = [_row(BlockKind.HEADER, columns, names)]
        last = at + 2
        while last < len(self._lines) and "|" in self._lines[last].body:
            found.append(_row(BlockKind.ROW, _cells(self._lines[last]), names))
            last += 1
        return [block for block in found if block.lines], last

    def _heading(self, at: int) -> tuple[list[Block], int] | None:
        line = self._lines[at]
        mark = _HEADING.match(line.body)
        if not mark:
            return ([], at + 1) if _RULE.match(line.body) and not self._open else None
        tail = _HEADING_TAIL.search(line.body[-40:])
        start = line.start + mark.end() + len(line.body[mark.end() :]) - len(line.body[mark.end() :].lstrip())
        end = line.end - (len(tail[0]) if tail else 0)
        if start >= end:
            return [], at + 1
        return [Block(BlockKind.HEADING, start, end, (Span(start, end),), marker=mark[0])], at + 1

    def _underlined(self, at: int) -> tuple[list[Block], int] | None:
        """A line of === or --- makes a single line of prose above it a heading; otherwise it is a rule."""
        body = self._lines[at].body
        if not self._open or not (_RULE.match(body) or _UNDERLINE.match(body)):
            return None
        if len(self._open) == 1 and self._kind is BlockKind.PARAGRAPH and _UNDERLINE.match(body):
            self._kind = BlockKind.HEADING
        return [], at + 1

    def _plain(self, line: _Line) -> Iterator[Block]:
        """A line of prose begins an item, a definition or a paragraph, or continues the open block."""
        definition = _DEFINITION.match(line.body)
        bullet = None if definition else _BULLET.match(line.body)
        mark = definition or bullet
        if mark:
            yield from self._close()
            task = _TASK.match(line.body, mark.end()) if bullet else None
            skip = (task or mark).end()
            self._kind = BlockKind.DEFINITION if definition else BlockKind.ITEM
            self._marker = mark[0].strip()
            line = _Line(line.begin, line.start + skip, line.end, line.body[skip:], line.quoted)
        elif not self._open or self._open[-1].quoted != line.quoted:
            yield from self._close()
            self._kind, self._marker = _prose_kind(line), ""
        if line.body:
            self._open.append(line)

    def _close(self) -> Iterator[Block]:
        if self._open:
            lines = tuple(line.span for line in self._open)
            yield Block(self._kind, lines[0].start, lines[-1].end, lines, marker=self._marker)
        self._open, self._marker = [], ""


def _prose_kind(line: _Line) -> BlockKind:
    if line.quoted:
        return BlockKind.QUOTE
    return BlockKind.HTML if _HTML.match(line.body) else BlockKind.PARAGRAPH


def _closes(body: str, mark: str) -> bool:
    return body.startswith(mark) and not body.strip(mark[0])


def _longest_closers(lines: Sequence[_Line]) -> list[dict[str, int]]:
    """The longest bare fence after each line, so that the search for a closing fence always succeeds."""
    after: list[dict[str, int]] = []
    longest: dict[str, int] = {}
    for line in reversed(lines):
        after.append(longest)
        if line.body.startswith(("```", "~~~")) and _closes(line.body, line.body[:3]):
            char = line.body[0]
            longest = {**longest, char: max(longest.get(char, 0), len(line.body))}
    return after[::-1]


def _code(lines: Sequence[_Line]) -> Block:
    return Block(BlockKind.CODE, lines[0].start, lines[-1].end, tuple(line.span for line in lines))


def _row(kind: BlockKind, cells: tuple[Span, ...], header: tuple[str, ...]) -> Block:
    start, end = (cells[0].start, cells[-1].end) if cells else (0, 0)
    return Block(kind, start, end, cells, header)


def _cells(line: _Line) -> tuple[Span, ...]:
    """The trimmed cells of a table line; an empty cell is an empty span."""
    edges = [i for i, char in enumerate(line.body) if char == "|" and line.body[i - 1 : i] != "\\"]
    if not line.body.startswith("|"):
        edges.insert(0, -1)
    if not edges or edges[-1] != len(line.body) - 1:
        edges.append(len(line.body))
    cells = []
    for left, right in pairwise(edges):
        cell = line.body[left + 1 : right]
        start = line.start + left + 1 + len(cell) - len(cell.lstrip())
        cells.append(Span(start, max(start, line.start + left + 1 + len(cell.rstrip()))))
    return tuple(cells)


MATCH_LIMIT = 4_000_000
"""Limit for the product of the lengths, since matching is quadratic; beyond it the whole claim is marked."""


def place_spans(clean: str, raw: str, spans: Sequence[Span], offset: int = 0) -> tuple[Span, ...]:
    """Map ranges of `clean` to ranges of `raw`, shifted by `offset`; ranges without a counterpart are
    dropped.

    >>> place_spans("It is red.", "It is **red**.", [Span(6, 9)], 100)
    (Span(start=108, end=111, score=1.0),)
    """
    if clean == raw:
        return tuple(Span(s.start + offset, s.end + offset, s.score) for s in spans)
    if not spans:
        return ()
    positions = _positions(clean, raw)
    placed = []
    for span in spans:
        there = [p for p in positions[span.start : span.end] if p is not None]
        if there:
            placed.append(Span(there[0] + offset, there[-1] + 1 + offset, span.score))
    return tuple(placed)


def _positions(clean: str, raw: str) -> list[int | None]:
    """The position in `raw` of each character of `clean`."""
    positions: list[int | None] = [None] * len(clean)
    at = 0
    for i, character in enumerate(clean):
        at = raw.find(character, at)
        if at < 0:
            return _matched(clean, raw)
        positions[i] = at
        at += 1
    return positions


def _matched(clean: str, raw: str) -> list[int | None]:
    """The slow path, for text that was also reworded (a table row with its column names)."""
    positions: list[int | None] = [None] * len(clean)
    if len(clean) * len(raw) <= MATCH_LIMIT:
        for a, b, size in SequenceMatcher(None, clean, raw, autojunk=False).get_matching_blocks():
            positions[a : a + size] = range(b, b + size)
    return positions
