"""Find tables (Markdown, pipes, tabs, CSV) and literals (JSON, Python) in plain text, with offsets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*+\|?\s*$")
_NUMBER = re.compile(r"[\s\d.,%$€£+\-]+$")
_THOUSANDS = re.compile(r"\d{3}(?!\d)")
_QUOTED = re.compile(r'\s*+"((?:[^"]|"")*+)"\s*+')
_BAR = re.compile(r"(?<!\\)\|")
_MAX_NAME = 60  # characters of a column name; a longer first line is prose
_SEPARATORS = "|\t,;"

Line = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: its range from the first to the last cell, and the text of each cell."""

    start: int
    end: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Column names, which are not evidence by themselves, and the rows below them."""

    names: tuple[str, ...]
    rows: tuple[TableRow, ...]


def find(text: str, lines: Sequence[Line], at: int, markers: Sequence[str] = ()) -> tuple[Table | None, int]:
    """The table whose column names are in line `at`, if any, and the first line not consumed.

    Args:
        lines: (start, end) of each line of the text.
        markers: placeholders for removed evidence; a row that consists of one does not end the table.
    """
    reach = at + 1
    for separator in _SEPARATORS:
        if separator in text[slice(*lines[at])]:
            table, after = _table(text, lines, at, separator, markers)
            if table:
                return table, after
            reach = max(reach, after)
    return None, reach


def _table(
    text: str, lines: Sequence[Line], at: int, separator: str, markers: Sequence[str]
) -> tuple[Table | None, int]:
    head = row(text, *lines[at], separator)
    rows: list[TableRow] = []
    ruled = False
    after = at + 1
    while after < len(lines):
        raw = text[slice(*lines[after])]
        if separator == "|" and "-" in raw and _RULE.match(raw):
            ruled = True
        else:
            candidate = row(text, *lines[after], separator)
            alike = len(candidate.cells) == len(head.cells) or (ruled and "|" in raw)
            if not raw.strip() or not (alike or raw.strip("| \t\r") in markers):
                break
            rows.append(candidate)
        after += 1
    if rows and (ruled or _plausible(text[lines[at][0] : lines[after - 1][1]], separator, head, len(rows))):
        return Table(head.cells, tuple(rows)), after
    return None, after


def _plausible(raw: str, separator: str, head: TableRow, rows: int) -> bool:
    """Distinguish CSV from prose: column names are short, and there is no space after the commas."""
    if any(len(cell) > _MAX_NAME or _NUMBER.match(cell) for cell in head.cells):
        return False
    if separator in "|\t":
        return True
    pairs = pairwise(head.cells)
    if separator == "," and any(left[-1:].isdigit() and _THOUSANDS.match(right) for left, right in pairs):
        return False  # the comma is part of a number: 8,580
    return rows >= 2 and all(head.cells) and raw.count(separator + " ") * 4 <= raw.count(separator)


def row(text: str, start: int, end: int, separator: str) -> TableRow:
    """Split one line into cells; the range leaves out outer pipes and spaces.

    >>> row("| a | b |", 0, 9, "|")
    TableRow(start=2, end=7, cells=('a', 'b'))
    >>> row('"x, y",2', 0, 8, ",").cells
    ('x, y', '2')
    """
    outer = "| \t\r" if separator == "|" else " \r"
    raw = text[start:end]
    start += len(raw) - len(raw.lstrip(outer))
    body = raw.strip(outer)
    cells = bars(raw) if separator == "|" else fields(body, separator)
    return TableRow(start, start + len(body), tuple(cells))


def bars(line: str) -> list[str]:
    """Cells between pipes, including empty ones."""
    body = line.strip()
    cells = [cell.strip() for cell in _BAR.split(body)]
    if body.startswith("|"):
        cells = cells[1:]
    return cells[:-1] if len(cells) > 1 and not cells[-1] and body.endswith("|") else cells


def fields(line: str, separator: str) -> list[str]:
    """The unquoted CSV fields of one line."""
    if '"' not in line:
        return [cell.strip() for cell in line.split(separator)]
    cells: list[str] = []
    at = 0
    while at <= len(line):
        quoted = _QUOTED.match(line, at)
        if quoted and (quoted.end() == len(line) or line[quoted.end()] == separator):
            cells.append(quoted[1].replace('""', '"').strip())
            at = quoted.end() + 1
            continue
        stop = line.find(separator, at)
        stop = len(line) if stop < 0 else stop
        cells.append(line[at:stop].strip())
        at = stop + 1
    return cells


# Scan JSON and Python literals and keep the offset of each value.
#
# `json` and `ast` do not report character offsets, which evidence needs. One scanner reads both notations. It
# evaluates nothing and returns None for anything else.

_TOKEN = re.compile(
    r"""[ \t\r\n]*+(?:
      (?P<string>"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')
    | (?P<bare>-?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?(?![\w.])|-?(?:
        true|false|null|True|False|None|NaN|nan|Infinity|inf)\b)
    | (?P<mark>[{}\[\](),:])
    )""",
    re.VERBOSE,
)
_ESCAPE = re.compile(
    r"\\(?:u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|u(?P<u>[0-9a-fA-F]{4})|x(?P<x>[0-9a-fA-F]{2})|U(?P<U>[0-9a-fA-F]{8})|(?P<one>.))",
    re.DOTALL,
)
_PLAIN = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " ", "0": " ", "a": " ", "v": " "}
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_MAX_DEPTH = 60  # nested containers; deeper input would exhaust the recursion limit


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its range; the range of a string excludes its quotes."""

    kind: Literal["object", "array", "string", "bare"]
    start: int
    end: int
    items: tuple[tuple[str, Node], ...] = ()

    @property
    def outer(self) -> tuple[int, int]:
        """The range including the quotes."""
        quote = self.kind == "string"
        return self.start - quote, self.end + quote


class _NotALiteral(Exception):
    """The text at this position is not part of a literal."""


class _Scanner:
    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start

    def token(self) -> re.Match[str]:
        match = _TOKEN.match(self.text, self.at)
        if not match:
            raise _NotALiteral
        self.at = match.end()
        return match

    def value(self, depth: int = 0) -> Node:
        token = self.token()
        if token["string"] is not None:
            return Node("string", token.start("string") + 1, token.end() - 1)
        if token["bare"] is not None:
            return Node("bare", token.start("bare"), token.end())
        if token["mark"] not in _CLOSING or depth > _MAX_DEPTH:
            raise _NotALiteral
        items: list[tuple[str, Node]] = []
        closing, mark = _CLOSING[token["mark"]], ","
        while mark == "," and not self.closes(closing):
            key = self.key() if closing == "}" else ""
            items.append((key, self.value(depth + 1)))
            mark = self.token()["mark"]
            if mark not in (",", closing):
                raise _NotALiteral
        return Node("object" if closing == "}" else "array", token.start("mark"), self.at, tuple(items))

    def key(self) -> str:
        name = self.token()
        if name["mark"] is not None or self.token()["mark"] != ":":
            raise _NotALiteral
        if name["bare"] is not None:
            return name["bare"]
        return decode(self.text, name.start("string") + 1, name.end() - 1)[0]

    def closes(self, closing: str) -> bool:
        match = _TOKEN.match(self.text, self.at)
        if match and match["mark"] == closing:
            self.at = match.end()
            return True
        return False


def scan(text: str, start: int = 0) -> tuple[Node | None, int]:
    """The container that begins at `start`, or None, and how far the scanner got.

    >>> node, end = scan("{'a': [1, 'x']}")
    >>> end, [key for key, _ in node.items]
    (15, ['a'])
    >>> scan("[S0] not a literal")[0] is None
    True
    """
    scanner = _Scanner(text, start)
    try:
        node = scanner.value()
    except _NotALiteral:
        return None, scanner.at
    return (node if node.kind in ("object", "array") else None), scanner.at


def decode(text: str, start: int, end: int) -> tuple[str, Sequence[int]]:
    r"""Decode a string, and return the offset in `text` of each character and of the end.

    >>> value, where = decode(r'a\u00e9\n!', 0, 10)
    >>> value, list(where)
    ('aé\n!', [0, 1, 7, 9, 10])
    """
    raw = text[start:end]
    if "\\" not in raw:
        return raw, range(start, end + 1)
    out: list[str] = []
    where: list[int] = []
    at = 0
    for match in _ESCAPE.finditer(raw):
        out.append(raw[at : match.start()])
        where.extend(range(start + at, start + match.start()))
        out.append(_meaning(match))
        where.append(start + match.start())
        at = match.end()
    out.append(raw[at:])
    where.extend(range(start + at, end + 1))
    return "".join(out), where


def _meaning(match: re.Match[str]) -> str:
    if match["high"]:
        return chr(0x10000 + (int(match["high"], 16) - 0xD800) * 0x400 + int(match["low"], 16) - 0xDC00)
    code = match["u"] or match["x"] or match["U"]
    if code:
        number = int(code, 16)
        # A lone surrogate cannot be written out again as UTF-8.
        return "\ufffd" if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF else chr(number)
    return _PLAIN.get(match["one"], match["one"])
