"""Markdown blocks: their kinds, their exact places, and that nothing hostile slows them down."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.growth import assert_linear

from groundwire.text.sentences import Block, BlockKind, blocks, place_spans
from groundwire.types import Span

ANSWER = """\
# Sights ##
Para one
continues here.

- item one
  continued
- [x] done
1. first
2) second

> quoted
> > more

| A | B |
|---|:-:|
| 1 | 2 |
| 3 | |

```python
code()
```
Setext
---
text after
***
[^1]: a foot note

<p>html text</p>
"""


def shown(text: str) -> list[tuple[str, list[str]]]:
    return [(block.kind.value, [text[line.start : line.end] for line in block.lines]) for block in blocks(text)]


@pytest.mark.spec("SPEC-08.08")
def test_blocks_of_a_whole_answer() -> None:
    assert shown(ANSWER) == [
        ("heading", ["Sights"]),
        ("paragraph", ["Para one", "continues here."]),
        ("item", ["item one", "continued"]),
        ("item", ["done"]),
        ("item", ["first"]),
        ("item", ["second"]),
        ("quote", ["quoted", "more"]),
        ("header", ["A", "B"]),
        ("row", ["1", "2"]),
        ("row", ["3", ""]),
        ("code", ["```python", "code()", "```"]),
        ("heading", ["Setext"]),
        ("paragraph", ["text after"]),
        ("definition", ["a foot note"]),
        ("html", ["<p>html text</p>"]),
    ]


def test_a_row_knows_its_columns_and_an_item_its_bullet() -> None:
    found = blocks(ANSWER)
    rows = [block for block in found if block.kind is BlockKind.ROW]
    assert [row.header for row in rows] == [("A", "B"), ("A", "B")]
    assert [block.marker for block in found if block.kind is BlockKind.ITEM] == ["-", "-", "1.", "2)"]


def test_an_answer_wrapped_in_a_markdown_fence_is_still_an_answer() -> None:
    text = "```markdown\nParis is big.\n```\nMore.\n```js\nx\n```"
    assert shown(text) == [("paragraph", ["Paris is big."]), ("paragraph", ["More."]), ("code", ["```js", "x", "```"])]


@pytest.mark.spec("SPEC-16.38")
def test_an_unclosed_fence_hides_nothing() -> None:
    assert shown("```\nParis has 999 million people.") == [("paragraph", ["Paris has 999 million people."])]


MARKUP = st.text(alphabet=st.sampled_from("ab1 #>-*+|`~:=_[]^.()<!\n\r\t"), max_size=150)


def inside(block: Block, text: str) -> bool:
    return all(block.start <= line.start <= line.end <= block.end <= len(text) for line in block.lines)


@pytest.mark.spec("SPEC-16.37")
@settings(max_examples=150, deadline=None)
@given(st.one_of(MARKUP, st.text(max_size=80)))
def test_blocks_are_ordered_within_the_text_and_keep_every_letter(text: str) -> None:
    found = blocks(text)
    at = 0
    for block in found:
        assert at <= block.start <= block.end
        assert inside(block, text)
        at = block.end
    kept = {i for block in found for line in block.lines for i in range(line.start, line.end)}
    lost = "".join(char for i, char in enumerate(text) if i not in kept and char in "ab")
    assert not lost or any(mark in text for mark in ("[", "`", "~", ")"))  # definitions, fence names, "a)"


HOSTILE: dict[str, tuple[Callable[[int], str], int]] = {
    "quote marks": (lambda n: ">" * n, 50_000),
    "spaced quote marks": (lambda n: "> " * n, 25_000),
    "one fence": (lambda n: "`" * n, 50_000),
    "open fences": (lambda n: "```md\n" * n + "```", 7_500),
    "shrinking fences": (lambda n: "\n".join("`" * (3 + k % 600) for k in range(n, 0, -1)), 150),
    "tables": (lambda n: "|a|\n|-|\n" * n, 5_000),
    "a long delimiter": (lambda n: "a|b\n" + "-|" * n + "x", 25_000),
    "closing hashes": (lambda n: "# " + " #" * n + "x", 25_000),
    "bullets": (lambda n: "* " * n + "x", 25_000),
}


@pytest.mark.spec("SPEC-16.38")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_markup_takes_linear_time(name: str) -> None:
    make, size = HOSTILE[name]
    assert_linear(blocks, make, size)


def test_text_without_its_markup_still_points_at_its_characters() -> None:
    raw = "It is **bright** red [S1], truly."
    clean = "It is bright red, truly."
    at = clean.index("red")
    (found,) = place_spans(clean, raw, [Span(at, at + 3)], 10)
    assert raw[found.start - 10 : found.end - 10] == "red"


def test_reworded_text_is_matched_as_far_as_it_goes() -> None:
    raw, clean = "| France | 999 million |", "Country: France; Population: 999 million"
    at = clean.index("999")
    (found,) = place_spans(clean, raw, [Span(at, at + 11)])
    assert raw[found.start : found.end] == "999 million"


@given(st.text(max_size=60), st.text(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_spans_never_leave_the_text(clean: str, raw: str, a: int, b: int) -> None:
    start, end = sorted((min(a, len(clean)), min(b, len(clean))))
    for span in place_spans(clean, raw, [Span(start, end)] if clean != raw else []):
        assert 0 <= span.start < span.end <= len(raw)
