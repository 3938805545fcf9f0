"""A parsed HTML page as text: only what a reader sees, with its blocks, lists and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element

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
