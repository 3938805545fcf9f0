"""Scan JSON and Python literals and keep the offset of each value.

`json` and `ast` do not report character offsets, which evidence needs. One scanner reads both notations. It
evaluates nothing and returns None for anything else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

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
        return self.container(token, depth)

    def container(self, opening: re.Match[str], depth: int) -> Node:
        items: list[tuple[str, Node]] = []
        closing = _CLOSING[opening["mark"]]
        while not self.closes(closing):
            key = self.key() if closing == "}" else ""
            items.append((key, self.value(depth + 1)))
            if not self.separated(closing):
                break
        kind: Literal["object", "array"] = "object" if closing == "}" else "array"
        return Node(kind, opening.start("mark"), self.at, tuple(items))

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

    def separated(self, closing: str) -> bool:
        mark = self.token()["mark"]
        if mark not in (",", closing):
            raise _NotALiteral
        return mark == ","


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
