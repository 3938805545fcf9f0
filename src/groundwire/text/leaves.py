"""The leaves of JSON or of a Python literal, each said with its path: `attributes WiFi: free`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groundwire.text.literal import Node, decode
from groundwire.text.piece import Piece, labelled, spans
from groundwire.types import UnitKind

_LONG_VALUE = 160
_LIST_CHARS = 300
_MAX_PART = 60
_NAMES = ("name", "title", "category", "label")
_PAIR_NAMES = frozenset(("name", "key", "label", "property", "attribute", "field"))
_PAIR_VALUES = frozenset(("value", "values", "val"))
_WORDS = {"true": "yes", "false": "no", "null": "not given", "none": "not given"}

Path = tuple[str, ...]


def leaves(text: str, node: Node, path: Path = ()) -> Iterator[Piece]:
    """Every scalar below `node`, in order. Short lists of scalars are one piece, long strings several."""
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


def _object(text: str, node: Node, path: Path) -> Iterator[Piece]:
    pair = _pair(text, node)
    if pair:
        yield from leaves(text, pair[1], (*path, pair[0]))
        return
    for key, item in node.items:
        yield from leaves(text, item, (*path, key))


def _pair(text: str, node: Node) -> tuple[str, Node] | None:
    """`{"name": "Weight", "value": "210 g"}` says `Weight: 210 g`."""
    if len(node.items) != 2:
        return None
    (first, name), (second, value) = node.items
    if first.lower() not in _PAIR_NAMES or second.lower() not in _PAIR_VALUES or name.kind != "string":
        return None
    said = decode(text, name.start, name.end)[0].strip()
    return (said or first, value) if len(said) <= _MAX_PART else None


def _element(text: str, item: Node, number: int, count: int) -> Path:
    """What to call an element of a list: by the name it has itself, else by its number."""
    if _pair(text, item):
        return ()
    for key, value in item.items:
        if key.lower() in _NAMES and value.kind == "string" and 0 < value.end - value.start <= _MAX_PART:
            return (decode(text, value.start, value.end)[0],)
    return (str(number),) if count > 1 else ()


def _leaf(text: str, node: Node, path: Path) -> Iterator[Piece]:
    label = _label(path)
    value, where = decode(text, node.start, node.end)
    if node.kind == "bare":
        said = labelled(label, _WORDS.get(value.lower(), value))
        yield Piece(node.start, node.end, said, UnitKind.LEAF, label, bare=True)
    elif len(value) <= _LONG_VALUE:
        lead, tail = len(value) - len(value.lstrip()), len(value.rstrip())
        if lead < tail:
            said = labelled(label, " ".join(value.split()))
            yield Piece(where[lead], where[tail], said, UnitKind.LEAF, label)
    else:
        for start, end in spans(value):
            said = labelled(label, " ".join(value[start:end].split()))
            yield Piece(where[start], where[end], said, UnitKind.LEAF, label)


def _groups(items: Sequence[Node]) -> Iterator[list[Node]]:
    """Neighbouring scalars up to a readable length; a long string stands alone."""
    group: list[Node] = []
    for item in items:
        if group and item.end - group[0].start > _LIST_CHARS:
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def _list(text: str, group: list[Node], path: Path) -> Iterator[Piece]:
    if len(group) == 1:
        yield from _leaf(text, group[0], path)
        return
    label = _label(path)
    values = [decode(text, item.start, item.end)[0].strip() for item in group]
    said = ", ".join(
        _WORDS.get(value.lower(), value) if item.kind == "bare" else value
        for item, value in zip(group, values, strict=True)
    )
    start, end = group[0].outer[0], group[-1].outer[1]
    yield Piece(start, end, labelled(label, said), UnitKind.LEAF, label, bare=True)


def _label(path: Path) -> str:
    return " ".join(" ".join(part.replace("_", " ").split())[:_MAX_PART] for part in path if part.strip())
