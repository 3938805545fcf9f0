"""Split any text into pieces with exact offsets and in readable form, the units of evidence.

JSON and Python literals yield their leaves (`hours Monday: 17:30-23:0`), tables their rows with column names,
`key: value` lines their values, Markdown and prose their sentences. In a rendered context (`[S0] …`
blocks), the ids are not part of any piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from groundwire.text import tables
from groundwire.text.sentences import Block, BlockKind, blocks, sentences
from groundwire.text.tables import Node, decode
from groundwire.text.tokens import cached
from groundwire.types import UnitKind

_MAX_PIECE = 1200  # characters of a piece: a very long sentence; longer ones are split
_MAX_CACHED = 4000  # characters; longer paragraphs are not cached


@dataclass(frozen=True, slots=True)
class TextPiece:
    """`text[start:end]` in readable form. `label` is the path or key that `text` begins with.

    `bare` marks an unquoted value of structured data, whose replacement must be quoted. `under` is the
    heading above a line of data.
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
    """Sentences; very long ones are split. Cached, since the contexts of one answer share most paragraphs."""
    yield from _cached_spans(text)


@cached(1024, _MAX_CACHED)
def _cached_spans(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(_spans(text))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    for span in sentences(text):
        yield from chunks(text, span.start, span.end)


def chunks(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Split a range into parts of at most _MAX_PIECE characters, without surrounding white space."""
    while start < end:
        cut = end
        if end - start > _MAX_PIECE:
            space = text.rfind(" ", start + _MAX_PIECE // 2, start + _MAX_PIECE)
            cut = space if space > 0 else start + _MAX_PIECE
        raw = text[start:cut]
        if raw.strip():
            yield start + len(raw) - len(raw.lstrip()), start + len(raw.rstrip())
        start = cut


def prose(text: str, start: int, end: int) -> Iterator[TextPiece]:
    """Pieces of Markdown or plain text: sentences, and code line by line."""
    for block in blocks(text[start:end]):
        heading = block.kind is BlockKind.HEADING
        for first, last in _parts(text, block, start):
            yield TextPiece(first, last, " ".join(text[first:last].split()), heading=heading)


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
    """True if only white space (no quote mark, no pipe) lies between the lines of the block."""
    pairs = zip(block.lines, block.lines[1:], strict=False)
    return all(not text[a.end + offset : b.start + offset].strip() for a, b in pairs)


_LONG_VALUE = 160  # characters; a longer string value is prose and split into sentences
_LIST_CHARS = 300  # characters of adjacent list elements that form one piece
_MAX_PART = 60  # characters of one part of a label
_NAMES = ("name", "title", "category", "label")
_PAIR_NAMES = frozenset(("name", "key", "label", "property", "attribute", "field"))
_PAIR_VALUES = frozenset(("value", "values", "val"))
_WORDS = {"true": "yes", "false": "no", "null": "not given", "none": "not given"}

Path = tuple[str, ...]


def leaves(text: str, node: Node, path: Path = ()) -> Iterator[TextPiece]:
    """Every scalar below `node`, in order. Short lists of scalars are one piece; long strings are split."""
    if node.kind in ("string", "bare"):
        yield from _leaf(text, node, path)
    elif node.kind == "object":
        yield from _object(text, node, path)
    elif any(item.items or item.kind in ("object", "array") for _, item in node.items):
        for number, (_, item) in enumerate(node.items, 1):
            yield from leaves(text, item, (*path, *_element(text, item, number, len(node.items))))
    else:
        for group in _groups([item for _, item in node.items]):
            yield from _list(text, group, path)


def _object(text: str, node: Node, path: Path) -> Iterator[TextPiece]:
    pair = _pair(text, node)
    if pair:
        yield from leaves(text, pair[1], (*path, pair[0]))
        return
    for key, item in node.items:
        yield from leaves(text, item, (*path, key))


def _pair(text: str, node: Node) -> tuple[str, Node] | None:
    """`{"name": "Weight", "value": "210 g"}` is read as `Weight: 210 g`."""
    if len(node.items) != 2:
        return None
    (first, name), (second, value) = node.items
    if first.lower() not in _PAIR_NAMES or second.lower() not in _PAIR_VALUES or name.kind != "string":
        return None
    content = decode(text, name.start, name.end)[0].strip()
    return (content or first, value) if len(content) <= _MAX_PART else None


def _element(text: str, item: Node, number: int, count: int) -> Path:
    """The label of a list element: its own name, else its number."""
    if _pair(text, item):
        return ()
    for key, value in item.items:
        if key.lower() in _NAMES and value.kind == "string" and 0 < value.end - value.start <= _MAX_PART:
            return (decode(text, value.start, value.end)[0],)
    return (str(number),) if count > 1 else ()


def _leaf(text: str, node: Node, path: Path) -> Iterator[TextPiece]:
    label = _label(path)
    value, where = decode(text, node.start, node.end)
    if node.kind == "bare":
        content = labelled(label, _WORDS.get(value.lower(), value))
        yield TextPiece(node.start, node.end, content, UnitKind.LEAF, label, bare=True)
    elif len(value) <= _LONG_VALUE:
        lead, tail = len(value) - len(value.lstrip()), len(value.rstrip())
        if lead < tail:
            content = labelled(label, " ".join(value.split()))
            yield TextPiece(where[lead], where[tail], content, UnitKind.LEAF, label)
    else:
        for start, end in spans(value):
            content = labelled(label, " ".join(value[start:end].split()))
            yield TextPiece(where[start], where[end], content, UnitKind.LEAF, label)


def _groups(items: Sequence[Node]) -> Iterator[list[Node]]:
    """Group adjacent scalars up to _LIST_CHARS characters."""
    group: list[Node] = []
    for item in items:
        if group and item.end - group[0].start > _LIST_CHARS:
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def _list(text: str, group: list[Node], path: Path) -> Iterator[TextPiece]:
    if len(group) == 1:
        yield from _leaf(text, group[0], path)
        return
    label = _label(path)
    values = [decode(text, item.start, item.end)[0].strip() for item in group]
    content = ", ".join(
        _WORDS.get(value.lower(), value) if item.kind == "bare" else value
        for item, value in zip(group, values, strict=True)
    )
    start, end = group[0].outer[0], group[-1].outer[1]
    yield TextPiece(start, end, labelled(label, content), UnitKind.LEAF, label, bare=True)


def _label(path: Path) -> str:
    return " ".join(" ".join(part.replace("_", " ").split())[:_MAX_PART] for part in path if part.strip())


MARKERS = ("[EVIDENCE REMOVED]", "[REDACTED]")
"""Placeholders for removed evidence; a piece that consists of one is dropped."""


def evidence_removed(context: str) -> bool:
    """Whether the context is one from which evidence was taken out, to estimate p0."""
    return any(marker in context for marker in MARKERS)


HEADER = re.compile(r"\[[\w.:\-]{1,64}\](?!\()[ \t]+")
"""The id at the beginning of a rendered source."""

_KEY = re.compile(
    r"""(?P<indent>[ \t]*)(?:(?:[-*•+]|\d{1,3}[.)])[ \t]+)?
    (?P<key>[^\s:|{}\[\]"<>#][^:|{}\[\]"<>\n]{0,59})[ \t]*:[*_]{0,2}(?:[ \t]+(?P<value>\S.*))?[ \t\r]*$""",
    re.VERBOSE,
)
_LINE = re.compile(r"[^\s:.][^:.]{0,40}:\s\S.{0,60}$")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_KEY_SHARE = 0.6  # share of `key: value` lines from which a run of lines is one; by convention
_MAX_KEY_WORDS = 7  # more words before a colon are a sentence
_LONG_ROW = 1200  # characters; a longer table row is split into sentences
# Failed attempts to parse data are limited, or text full of brackets would take quadratic time.
_FAILED_SCAN = 64  # cost of an attempt besides the characters it read
_SCAN_BUDGET = 20_000  # total cost allowed besides half of the text's length

Line = tuple[int, int]
Found = tuple[list[TextPiece], int]


def pieces(text: str, *, rendered: bool = True) -> list[TextPiece]:
    """Split a text into pieces, in order, without overlaps.

    Args:
        rendered: the text is a rendered context, whose source ids (`[S0] …`) are skipped.

    >>> [p.text for p in pieces('{"hours": {"Monday": "9-17"}, "WiFi": false}')]
    ['hours Monday: 9-17', 'WiFi: no']
    >>> [p.text for p in pieces("City | People\\nLyon | 522,000")]
    ['City: Lyon; People: 522,000']
    """
    found = _under_headings(_PieceReader(text, rendered).pieces())
    return [
        piece for piece in found if piece.text.strip() and text[piece.start : piece.end].strip("\"'| \t") not in MARKERS
    ]


def _under_headings(found: Iterable[TextPiece]) -> Iterator[TextPiece]:
    """Attach the heading above to lines of data; sentences usually name their subject themselves."""
    heading = ""
    for piece in found:
        if piece.heading:
            heading = piece.text
        data = piece.kind is UnitKind.LEAF or (_LINE.match(piece.text) and not piece.heading)
        yield replace(piece, under=heading) if heading and data else piece


class _PieceReader:
    """Reads the lines once; text that is not data, table or key-value lines goes to the Markdown reader.

    Each kind remembers how far it has searched without success, so that no line is tried repeatedly.
    """

    def __init__(self, text: str, rendered: bool) -> None:
        self.text = text
        self.rendered = rendered
        self.lines = _lines(text)
        self.free: Line | None = None
        self.fences = _fences(text, self.lines)
        self.scans_left = _SCAN_BUDGET + len(text) // 2
        self.no_table_before = 0
        self.no_keys_before = 0

    def pieces(self) -> Iterator[TextPiece]:
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

    def _prose(self) -> Iterator[TextPiece]:
        if self.free:
            start, end = self.free
            self.free = None
            yield from prose(self.text, start, end)

    def _data(self, at: int) -> Found | None:
        start, end = self.lines[at]
        start += len(self.text[start:end]) - len(self.text[start:end].lstrip())
        if self.text[start : start + 1] not in ("{", "[") or self.scans_left <= 0:
            return None
        node, stop = tables.scan(self.text, start)
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
        """A run of lines most of which are `key: value`; decided once, at its first line."""
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
    """The first and last line of each fenced block; unclosed fences are ignored."""
    found: dict[int, int] = {}
    opened, mark = -1, ""
    for number, (start, end) in enumerate(lines):
        fence = _FENCE.match(text, start, end)
        if fence and opened < 0:
            opened, mark = number, fence[1]
        elif fence and text[start:end].strip().startswith(mark) and not text[start:end].strip().strip(mark[0]):
            found[opened] = number
            opened = -1
    return found


def _row(text: str, names: Sequence[str], row: tables.TableRow) -> Iterator[TextPiece]:
    """A row with its column names; a very long row is split into sentences."""
    if row.end - row.start > _LONG_ROW:
        for start, end in spans(text[row.start : row.end]):
            content = " ".join(text[row.start + start : row.start + end].split())
            yield TextPiece(row.start + start, row.start + end, content, UnitKind.ROW)
        return
    cells = []
    for number, cell in enumerate(row.cells):
        name = names[number] if number < len(names) else ""
        if cell:
            cells.append(labelled(name, cell))
    yield TextPiece(row.start, row.end, "; ".join(cells), UnitKind.ROW)


def _key(text: str, line: Line) -> re.Match[str] | None:
    match = _KEY.match(text, *line)
    return match if match and len(match["key"].split()) <= _MAX_KEY_WORDS else None


def _keyed(text: str, run: Sequence[Line], matches: Sequence[re.Match[str] | None]) -> Iterator[TextPiece]:
    """Values with their keys; a key without a value is the parent of the indented lines below it."""
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


def _value(text: str, start: int, end: int, label: str) -> Iterator[TextPiece]:
    end = start + len(text[start:end].rstrip())
    value = text[start:end]
    for first, last in spans(value) if len(value) > _LONG_VALUE else [(0, len(value))]:
        content = labelled(label, " ".join(value[first:last].split()))
        yield TextPiece(start + first, start + last, content, UnitKind.LEAF, label)
