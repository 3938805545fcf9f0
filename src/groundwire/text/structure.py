"""Cut any text into the pieces a claim can be compared with, each with exact offsets and in readable form.

JSON and Python literals give their leaves (`hours Monday: 17:30-23:0`), tables their rows with the column
names, `key: value` lines their values, Markdown and prose their sentences. A rendered context
(`[S0] …` blocks) reads like its sources: the ids are no part of any piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from groundwire.text import literal, tables
from groundwire.text.leaves import leaves
from groundwire.text.piece import Piece, labelled, prose, spans
from groundwire.types import UnitKind

__all__ = ["HEADER", "MARKERS", "Piece", "pieces", "readable"]

MARKERS = ("[EVIDENCE REMOVED]", "[REDACTED]")
"""What stands where evidence was taken out; a piece that is nothing else says nothing and is left out."""

HEADER = re.compile(r"\[[\w.:\-]{1,64}\](?!\()[ \t]+")
"""How a rendered source begins."""

_KEY = re.compile(
    r"""(?P<indent>[ \t]*)(?:(?:[-*•+]|\d{1,3}[.)])[ \t]+)?
    (?P<key>[^\s:|{}\[\]"<>#][^:|{}\[\]"<>\n]{0,59})[ \t]*:[*_]{0,2}(?:[ \t]+(?P<value>\S.*))?[ \t\r]*$""",
    re.VERBOSE,
)
_LINE = re.compile(r"[^\s:.][^:.]{0,40}:\s\S.{0,60}$")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_KEY_SHARE = 0.6
_MAX_KEY_WORDS = 7
_LONG_VALUE = 160
_LONG_ROW = 1200
_FAILED_SCAN = 64  # what a vain attempt to read data costs beside the characters it read
_VAIN_SCANS = 20_000

Line = tuple[int, int]
Found = tuple[list[Piece], int]


def pieces(text: str, *, rendered: bool = True) -> list[Piece]:
    """All pieces of a text, in order, never overlapping. Only a `rendered` one has ids before its blocks.

    >>> [p.text for p in pieces('{"hours": {"Monday": "9-17"}, "WiFi": false}')]
    ['hours Monday: 9-17', 'WiFi: no']
    >>> [p.text for p in pieces("City | People\\nLyon | 522,000")]
    ['City: Lyon; People: 522,000']
    """
    found = _under_headings(_Reader(text, rendered).pieces())
    return [piece for piece in found if piece.text.strip() and not _is_marker(text, piece)]


def _under_headings(found: Iterable[Piece]) -> Iterator[Piece]:
    """Lines of data are told what heading they stand under; sentences mostly say themselves what is meant."""
    heading = ""
    for piece in found:
        if piece.heading:
            heading = piece.text
        data = piece.kind is UnitKind.LEAF or (_LINE.match(piece.text) and not piece.heading)
        yield replace(piece, under=heading) if heading and data else piece


def readable(text: str) -> str:
    """The pieces of a text, one a line.

    >>> readable("title: In Rainbows\\nLength: 42")
    'title: In Rainbows\\nLength: 42'
    """
    return "\n".join(piece.text for piece in pieces(text))


def _is_marker(text: str, piece: Piece) -> bool:
    return text[piece.start : piece.end].strip("\"'| \t") in MARKERS


class _Reader:
    """Walks over the lines once; what is neither data, table nor keys is left to the Markdown reader.

    Each kind remembers how far it has looked in vain, so that no line is tried again and again.
    """

    def __init__(self, text: str, rendered: bool) -> None:
        self.text = text
        self.rendered = rendered
        self.lines = _lines(text)
        self.free: Line | None = None
        self.fences = _fences(text, self.lines)
        self.scans_left = _VAIN_SCANS + len(text) // 2
        self.no_table_before = 0
        self.no_keys_before = 0

    def pieces(self) -> Iterator[Piece]:
        at = 0
        while at < len(self.lines):
            if at in self.fences:
                at = self._take(at, self.fences[at])
                continue
            if self._cut_header(at):
                yield from self._prose()
            found = self._data(at) or self._table(at) or self._keys(at)
            if found:
                yield from self._prose()
                yield from found[0]
                at = found[1]
            else:
                at = self._take(at, at)
        yield from self._prose()

    def _cut_header(self, at: int) -> bool:
        start, end = self.lines[at]
        header = HEADER.match(self.text, start, end) if self.rendered else None
        if header:
            self.lines[at] = (header.end(), end)
        return header is not None

    def _take(self, first: int, last: int) -> int:
        self.free = (self.lines[first][0] if self.free is None else self.free[0], self.lines[last][1])
        return last + 1

    def _prose(self) -> Iterator[Piece]:
        if self.free:
            start, end = self.free
            self.free = None
            yield from prose(self.text, start, end)

    def _data(self, at: int) -> Found | None:
        start, end = self.lines[at]
        start += len(self.text[start:end]) - len(self.text[start:end].lstrip())
        if self.text[start : start + 1] not in ("{", "[") or self.scans_left <= 0:
            return None
        node, stop = literal.scan(self.text, start)
        if node is None or not node.items:
            self.scans_left -= stop - start + _FAILED_SCAN
            return None
        last = at
        while self.lines[last][1] < stop:
            last += 1
        if self.text[stop : self.lines[last][1]].strip():
            return None
        return list(leaves(self.text, node)), last + 1

    def _table(self, at: int) -> Found | None:
        if at < self.no_table_before:
            return None
        table, after = tables.find(self.text, self.lines, at, MARKERS)
        if table is None:
            self.no_table_before = after
            return None
        return [piece for row in table.rows for piece in _row(self.text, table.names, row)], after

    def _keys(self, at: int) -> Found | None:
        """A run of lines most of which are `key: value`; judged once, at its first line."""
        if at < self.no_keys_before or not self.text[slice(*self.lines[at])].strip():
            return None
        last = at
        while last < len(self.lines) and self.text[slice(*self.lines[last])].strip():
            last += 1
        run = self.lines[at:last]
        matches = [_key(self.text, line) for line in run]
        valued = sum(match is not None and match["value"] is not None for match in matches)
        rules = sum(not self.text[start:end].strip("-=*_ \t\r") for start, end in run)
        if valued < 2 or sum(match is not None for match in matches) < _KEY_SHARE * (len(run) - rules):
            self.no_keys_before = last
            return None
        return list(_keyed(self.text, run, matches)), last


def _lines(text: str) -> list[Line]:
    found, start = [], 0
    while (stop := text.find("\n", start)) >= 0:
        found.append((start, stop))
        start = stop + 1
    return [*found, (start, len(text))]


def _fences(text: str, lines: Sequence[Line]) -> dict[int, int]:
    """The first line of each fenced block and its last; an unclosed fence is no fence."""
    found: dict[int, int] = {}
    opened, mark = -1, ""
    for number, (start, end) in enumerate(lines):
        fence = _FENCE.match(text, start, end)
        if fence and opened < 0:
            opened, mark = number, fence[1]
        elif (
            fence and text[start:end].strip().startswith(mark) and not text[start:end].strip().strip(mark[0])
        ):
            found[opened] = number
            opened = -1
    return found


def _row(text: str, names: Sequence[str], row: tables.Row) -> Iterator[Piece]:
    """A row with its column names; one with whole texts in its cells falls into their sentences."""
    if row.end - row.start > _LONG_ROW:
        for start, end in spans(text[row.start : row.end]):
            said = " ".join(text[row.start + start : row.start + end].split())
            yield Piece(row.start + start, row.start + end, said, UnitKind.ROW)
        return
    cells = []
    for number, cell in enumerate(row.cells):
        name = names[number] if number < len(names) else ""
        if cell:
            cells.append(labelled(name, cell))
    yield Piece(row.start, row.end, "; ".join(cells), UnitKind.ROW)


def _key(text: str, line: Line) -> re.Match[str] | None:
    match = _KEY.match(text, *line)
    return match if match and len(match["key"].split()) <= _MAX_KEY_WORDS else None


def _keyed(text: str, run: Sequence[Line], matches: Sequence[re.Match[str] | None]) -> Iterator[Piece]:
    """Values with their keys; a key without a value is the parent of the lines indented below it."""
    parents: list[tuple[int, str]] = []
    for (start, end), match in zip(run, matches, strict=True):
        if match is None:
            yield from prose(text, start, end)
            continue
        indent = len(match["indent"])
        parents = [parent for parent in parents if parent[0] < indent]
        key = match["key"].strip("*_` \t")
        if match["value"] is None:
            parents.append((indent, key))
        else:
            label = " ".join([*(parent for _, parent in parents), key])
            yield from _value(text, match.start("value"), match.end("value"), label)


def _value(text: str, start: int, end: int, label: str) -> Iterator[Piece]:
    end = start + len(text[start:end].rstrip())
    value = text[start:end]
    for first, last in spans(value) if len(value) > _LONG_VALUE else [(0, len(value))]:
        said = labelled(label, " ".join(value[first:last].split()))
        yield Piece(start + first, start + last, said, UnitKind.LEAF, label)
