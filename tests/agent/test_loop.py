"""Parsing of model replies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.agent.loop import answer_text, parse_reply


@pytest.mark.parametrize(
    ("text", "code", "answer"),
    [
        ("Paris.", "", "Paris."),
        ("FINAL: Paris.", "", "Paris."),
        ("Thinking.\n**FINAL:** Paris.", "", "Paris."),
        ("FINAL ANSWER: Paris.", "", "Paris."),
        ("```python\nprint(1)\n```", "print(1)\n", ""),
        ("```py\na\n```\nand\n```repl\nb\n```", "a\n\nb\n", ""),
        ("```python\nprint(1)", "print(1)", ""),
        ("```python\nprint(1)\n```\nFINAL: made up", "print(1)\n", ""),
        ("FINAL: use\n```python\nprint(1)\n```", "", "use\n```python\nprint(1)\n```"),
        ("```\nno language, no code\n```", "", "```\nno language, no code\n```"),
        ("", "", ""),
    ],
)
def test_reply_is_code_or_answer(text: str, code: str, answer: str) -> None:
    reply = parse_reply(text)
    assert (reply.code, reply.answer) == (code, answer)


def test_text_after_code_is_dropped() -> None:
    assert parse_reply("Look:\n```python\nx\n```\nIt printed 5.").text == "Look:\n```python\nx\n```"


def test_answer_text_has_no_code() -> None:
    assert answer_text("It may be 3.\n```python\nx\n```") == "It may be 3."
    assert answer_text("```python\nx\n```\nFINAL: 3") == "3"


@given(st.text())
def test_any_text_is_code_or_answer(text: str) -> None:
    reply = parse_reply(text)
    assert not (reply.code and reply.answer)
    assert text.startswith(reply.text)
