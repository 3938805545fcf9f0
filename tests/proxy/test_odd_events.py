"""What an upstream may send that no API document describes: any JSON in any place."""

from __future__ import annotations

from typing import Any

import pytest
from tests.growth import ALLOWED, FACTOR, SLACK, _seconds

from groundwire.proxy.dialects import ApiDialect, ChatDialect, MessagesDialect, ResponsesDialect

CHAT, MESSAGES, RESPONSES = ChatDialect(), MessagesDialect(), ResponsesDialect()


@pytest.mark.parametrize("kind", [[], {}, None, 5, ["response.completed"]])
@pytest.mark.parametrize("dialect", [CHAT, MESSAGES, RESPONSES])
def test_an_event_whose_type_is_no_text_ends_nothing(dialect: ApiDialect, kind: object) -> None:
    assert not dialect.is_end({"type": kind})
    assert dialect.deltas({"type": kind}) == []


@pytest.mark.parametrize("message", [None, "text", [], {}])
def test_a_second_choice_of_the_same_number_may_lack_its_message(message: object) -> None:
    body = {"choices": [{"index": 0, "message": {"content": "a"}}, {"index": 0, "message": message}]}
    changed = CHAT.replace_texts(body, {(0,): "b"}, {(0,): "stopped"})
    assert changed["choices"][0]["message"] == {"content": "b", "refusal": "stopped"}
    assert changed["choices"][1]["message"] == message


@pytest.mark.parametrize("citations", [5, "all", {"a": 1}, None])
def test_citations_that_are_no_list_are_left_alone(citations: object) -> None:
    body: dict[str, Any] = {"content": [{"type": "text", "text": "a", "citations": citations}]}
    changed = MESSAGES.replace_texts(body, {(0,): "b"}, {})
    assert changed["content"] == [{"type": "text", "text": "b", "citations": citations}]


@pytest.mark.parametrize("part", [{}, {"part": None}, {"part": "text"}])
def test_a_closing_event_may_lack_its_part(part: dict[str, object]) -> None:
    event = {"type": "response.content_part.done", "output_index": 0, "content_index": 0, **part}
    assert RESPONSES.replace_repeated(event, {(0, 0): "b"}) == event


def test_many_text_blocks_are_joined_in_linear_time() -> None:
    def replaced(blocks: int) -> float:
        content = [{"type": "text", "text": f"{n}"} for n in range(blocks)]
        return min(
            _seconds(lambda _: MESSAGES.replace_texts({"content": content}, {(0,): "b"}, {}), "") for _ in range(3)
        )

    small, large = replaced(1000), replaced(FACTOR * 1000)
    assert large <= ALLOWED * small + SLACK
