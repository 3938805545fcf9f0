"""Literals keep their places, whatever they hold."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.text.tables import Node, decode, scan

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


def value_of(text: str, node: Node) -> object:
    """What a node means, read back from its offsets alone."""
    if node.kind == "object":
        return {key: value_of(text, item) for key, item in node.items}
    if node.kind == "array":
        return [value_of(text, item) for _, item in node.items]
    if node.kind == "string":
        return decode(text, node.start, node.end)[0]
    return ast.literal_eval(
        {"true": "True", "false": "False", "null": "None"}.get(text[node.start : node.end], text[node.start : node.end])
    )


def plain(value: object) -> object:
    """Control characters are read as spaces; nothing else may differ."""
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return "".join(" " if char in "\b\f" else char for char in value)
    return value


@settings(max_examples=60, deadline=None)
@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_json_is_read_as_json_reads_it(value: object, escaped: bool, indent: int | None) -> None:
    text = json.dumps([value], ensure_ascii=escaped, indent=indent)
    node, end = scan(text)
    assert node is not None
    assert end == len(text)
    assert plain(value_of(text, node)) == plain([value])


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_python_literals_are_read_as_python_reads_them(value: object) -> None:
    text = repr([value])
    node, _ = scan(text)
    assert node is not None
    assert value_of(text, node) == [value]


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="{}[]()\"':,\\ 1aetru\n", max_size=60))
def test_anything_else_is_given_up_quietly(text: str) -> None:
    node, end = scan(text)
    assert node is None or node.end <= len(text)
    assert 0 <= end <= len(text)


@pytest.mark.parametrize(
    "text", ["[S0] x", "{a: 1}", "{'a', 'b'}", "[1 2]", '{"a" 1}', '{"a": 1', "[" * 500, "", "17", '"x"']
)
def test_what_is_no_container_is_none(text: str) -> None:
    assert scan(text)[0] is None


def test_a_lone_surrogate_does_not_survive() -> None:
    assert decode(r"\ud83d\ude00 \ud83d!", 0, 20)[0] == "😀 \ufffd!"
