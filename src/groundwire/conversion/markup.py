"""The text of Word files and of HTML pages: paragraphs, lists and tables in order.

A Word file is read element by element, so that its parts that are not text (pictures, themes) cost nothing.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import IO

from lxml import etree
from lxml.etree import _Element

from groundwire.conversion.formats import MAX_TAGS, joined, too_many_tags
from groundwire.errors import InputError

UNPACKED_FACTOR = 20  # how much larger than the limit for files the contents of a Word file may be
MAX_CELLS = 500_000  # table cells in a file, counting those that a cell spans
_OLD_WORD = b"\xd0\xcf\x11\xe0"  # the container of Word's old format, and of files with a password
_WRAPPERS = frozenset((
    "sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo", "hyperlink", "fldSimple", "dir", "bdo",
    "r",
))  # fmt: skip
"""Elements that only wrap text. Deleted text is in others, so it is not read."""
_CHARS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_INLINE = frozenset(("t", *_CHARS))
_LAYOUT_BREAKS = ("page", "column")


def word_text(data: bytes, name: str, max_bytes: int) -> str:
    """Paragraphs and tables of a Word file, in order."""
    if data.startswith(_OLD_WORD):
        raise InputError(f"{name} is an encrypted or old Word file", hint="save it as docx without a password")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(part.file_size for part in archive.infolist()) > max_bytes * UNPACKED_FACTOR:
            hint = "split it, or raise limits.max_source_bytes"
            raise InputError(f"{name} unpacks to more than {UNPACKED_FACTOR} times the limit", hint=hint)
        return joined(_WordFile(archive, name, max_bytes).blocks(), name, max_bytes)


class _WordFile:
    def __init__(self, archive: zipfile.ZipFile, name: str, max_bytes: int) -> None:
        self._archive, self._name, self._max_bytes = archive, name, max_bytes
        self._main = self._find_main()
        self._styles = dict(self._read_styles())
        self._cells = 0

    def blocks(self) -> Iterator[str]:
        for element in self._elements(self._main, "p", "tbl", "sdt"):
            parent = element.getparent()
            if parent is None or _local(parent) != "body":
                continue
            for block in [element] if _local(element) != "sdt" else _within(element, "p", "tbl"):
                yield self._table(block) if _local(block) == "tbl" else self._paragraph(block)
            element.clear()  # what was read need not stay in memory

    def _find_main(self) -> str:
        for relation in self._elements("_rels/.rels", "Relationship"):
            if relation.get("Type", "").endswith("/officeDocument"):
                return str(relation.get("Target", "")).lstrip("/")
        raise ValueError("it has no document in it")

    def _read_styles(self) -> Iterator[tuple[str, str]]:
        """The names of paragraph styles by id. The ids depend on the language of Word, the names do not."""
        part = posixpath.join(posixpath.dirname(self._main), "styles.xml")
        if part in self._archive.namelist():
            for style in self._elements(part, "style"):
                yield _value(style, "styleId"), _value(_child(style, "name"), "val").lower()

    def _elements(self, part: str, *names: str) -> Iterator[_Element]:
        """Elements of a part by local name, each when it is complete."""
        with self._archive.open(part) as stream:
            counted = _CountedXml(stream, self._name)
            tags = [f"{{*}}{name}" for name in names]
            for _, element in etree.iterparse(
                counted, tag=tags, resolve_entities=False, no_network=True, remove_comments=True
            ):
                yield element

    def _paragraph(self, paragraph: _Element) -> str:
        style = self._styles.get(_value(_child(_child(paragraph, "pPr"), "pStyle"), "val"), "")
        text = _text(paragraph)
        if style.startswith(("heading", "title")):
            return f"# {text.strip()}"
        return f"- {text.strip()}" if style.startswith("list") else text

    def _table(self, table: _Element) -> str:
        found = [[(cell, _span(cell)) for cell in _within(row, "tc")] for row in _within(table, "tr")]
        width = max((len(row) for row in found), default=0)
        above: dict[int, str] = {}
        lines: list[str] = []
        size = 0
        for row in found:
            lines.append(" | ".join(self._row(row, width, above)))
            size += len(lines[-1])
            if size > self._max_bytes:  # a long cell that spans many rows
                break
        rule = ["---|---"] if len(lines) > 1 and "|" in lines[0] else []
        return "\n".join([*lines[:1], *rule, *lines[1:]])

    def _row(self, row: list[tuple[_Element, int]], width: int, above: dict[int, str]) -> list[str]:
        """The cells of a row. One that spans columns is followed by empty ones, which keeps the columns in
        line; one that spans rows is repeated, so that each row can be understood alone.
        """
        texts: list[str] = []
        for cell, span in row:
            column = len(texts)
            if not _continues(cell):
                above[column] = _cell_text(cell)
            texts.append(above.get(column, ""))
            texts.extend([""] * min(span - 1, width - len(texts)))
        self._cells += len(texts)
        if self._cells > MAX_CELLS:
            raise InputError(f"{self._name} has more than {MAX_CELLS:,} table cells", hint="split it")
        return texts


class _CountedXml:
    """A part of the archive that may hold only so many tags."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream, self._name = stream, name
        self._tags = 0

    def read(self, size: int = -1) -> bytes:
        chunk = self._stream.read(size)
        self._tags += chunk.count(b"<")
        if self._tags > MAX_TAGS:
            raise too_many_tags(self._name)
        return chunk


def _local(element: _Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _within(element: _Element, *wanted: str) -> Iterator[_Element]:
    """The elements of these names inside another one, in order, looked for through wrappers only."""
    for child in element:
        name = _local(child)
        if name in wanted:
            yield child
        elif name in _WRAPPERS:
            yield from _within(child, *wanted)


def _child(element: _Element | None, name: str) -> _Element | None:
    return None if element is None else next((one for one in element if _local(one) == name), None)


def _value(element: _Element | None, name: str) -> str:
    """An attribute by its local name; empty if there is none."""
    found = () if element is None else element.items()
    return next((value for key, value in found if key.rpartition("}")[2] == name), "")


def _text(paragraph: _Element) -> str:
    return "".join(
        (part.text or "") if _local(part) == "t" else _CHARS[_local(part)]
        for part in _within(paragraph, *_INLINE)
        if _value(part, "type") not in _LAYOUT_BREAKS
    )


def _cell_text(cell: _Element) -> str:
    """All text of a cell on one line, that of tables within it included."""
    parts: list[str] = []
    for block in _within(cell, "p", "tbl"):
        if _local(block) == "p":
            parts.append(_text(block))
        else:
            parts.extend(_cell_text(inner) for row in _within(block, "tr") for inner in _within(row, "tc"))
    return " ".join(" ".join(parts).split())


def _span(cell: _Element) -> int:
    given = _value(_child(_child(cell, "tcPr"), "gridSpan"), "val")
    return int(given) if given.isdecimal() and len(given) < 6 else 1


def _continues(cell: _Element) -> bool:
    """True for the lower cells of one that spans rows."""
    merge = _child(_child(cell, "tcPr"), "vMerge")
    return merge is not None and _value(merge, "val") != "restart"


# A parsed HTML page as text: only what a reader sees, with its blocks, lists and tables.

_UNSEEN = frozenset((
    "script", "style", "template", "noscript", "svg", "math", "object", "embed", "iframe", "canvas", "audio",
    "video", "head", "select", "datalist",
))  # fmt: skip
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog",
    "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html",
    "main", "nav", "ol", "p", "pre", "section", "summary", "table", "ul", "h1", "h2", "h3", "h4", "h5", "h6",
))  # fmt: skip
_CELLS = ("td", "th")
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_SPACE = re.compile(r"[ \t\r\n\f\v]+")
_TRAILING = re.compile(r"[ \t]+(?=\n)")
_GAPS = re.compile(r"\n{3,}")


def page_text(root: _Element) -> str:
    """Everything visible, a block a paragraph, a row or list item a line."""
    out: list[str] = []
    spaced = True
    for chunk, preserved in _walk(root):
        said = chunk if preserved or not spaced else chunk.lstrip(" ")
        if said:
            out.append(said)
            spaced = said.endswith((" ", "\n"))
    return _GAPS.sub("\n\n", _TRAILING.sub("", "".join(out))).strip()


def _walk(root: _Element) -> Iterator[tuple[str, bool]]:
    """Depth first without recursion: pages nest deeper than Python's stack. Text, and whether to keep it."""
    stack: list[tuple[_Element, bool]] = [(root, False)]
    layout = _around_tables(root)
    preserved = cells = 0
    while stack:
        element, closing = stack.pop()
        tag = element.tag if isinstance(element.tag, str) else ""
        if closing:
            yield _after(tag, cells), False
            preserved -= tag == "pre"
            cells -= tag in _CELLS and element not in layout
        elif tag and tag not in _UNSEEN and element.get("hidden") is None:
            yield _before(element, tag, cells), False
            preserved += tag == "pre"
            cells += tag in _CELLS and element not in layout
            yield _said(element.text, preserved, cells)
            stack.append((element, True))
            stack.extend((child, False) for child in reversed(element))
            continue
        if element is not root:
            yield _said(element.tail, preserved, cells)


def _around_tables(root: _Element) -> set[_Element]:
    """Everything that holds a table. A cell that does is there for the layout and holds no data."""
    found: set[_Element] = set()
    for table in root.iter("table"):
        for outer in table.iterancestors():
            if outer in found:  # with everything around it: each element is visited once
                break
            found.add(outer)
    return found


def _said(text: str | None, preserved: int, cells: int) -> tuple[str, bool]:
    if not text:
        return "", False
    return (text, True) if preserved and not cells else (_SPACE.sub(" ", text), False)


def _before(element: _Element, tag: str, cells: int) -> str:
    if tag in _CELLS:
        return " | " if element.getprevious() is not None else ""
    if cells:
        return " " if tag in _BLOCKS or tag in ("br", "li") else ""
    if tag in ("tr", "br", "li"):
        return "\n- " if tag == "li" else "\n"
    if tag == "pre":
        return "\n\n```\n"
    return "\n\n" + _HEADINGS.get(tag, "") if tag in _BLOCKS else ""


def _after(tag: str, cells: int) -> str:
    if cells:
        return " " if tag in _BLOCKS else ""
    if tag == "pre":
        return "\n```\n\n"
    return "\n\n" if tag in _BLOCKS else ""
