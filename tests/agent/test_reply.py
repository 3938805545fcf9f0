"""Code and answers told apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.agent.loop import read_reply, without_code


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
def test_what_is_run_and_what_is_answered(text: str, code: str, answer: str) -> None:
    reply = read_reply(text)
    assert (reply.code, reply.answer) == (code, answer)


def test_what_stands_behind_code_was_never_seen() -> None:
    assert read_reply("Look:\n```python\nx\n```\nIt printed 5.").kept == "Look:\n```python\nx\n```"


def test_words_without_code() -> None:
    assert without_code("It may be 3.\n```python\nx\n```") == "It may be 3."
    assert without_code("```python\nx\n```\nFINAL: 3") == "3"


@given(st.text())
def test_any_text_is_code_or_an_answer(text: str) -> None:
    reply = read_reply(text)
    assert not (reply.code and reply.answer)
    assert text.startswith(reply.kept)
