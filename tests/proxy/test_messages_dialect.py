"""Anthropic's Messages API through the proxy, with the official SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import pytest
from tests.proxy.requests import BAD, DOCUMENT, FIXED, GOOD, mode
from tests.proxy.scripted import Scripted, ScriptedUpstream, event, whole, words
from tests.serving import Served

from groundwire.proxy.evidence import read_request

INSTEAD = "I cannot confirm from the sources what I was about to say here."
SYSTEM = [{"type": "text", "text": f'Answer from the documents.\n<document id="S0">{DOCUMENT}</document>'}]
ASK: dict[str, Any] = {
    "model": "m",
    "max_tokens": 100,
    "system": SYSTEM,
    "messages": [{"role": "user", "content": "Tell me about Paris."}],
}
CALLED = [
    {"role": "user", "content": "Run the tests."},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "pytest"}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1 failed, 3 passed"}]},
]
CITATION = {
    "type": "char_location", "document_index": 0, "document_title": "d", "file_id": None,
    "start_char_index": 0, "end_char_index": 3,
}  # fmt: skip
TOOLS = [{"name": "bash", "input_schema": {"type": "object"}}]


@pytest.fixture
def claude(proxy: Served) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=proxy.url, api_key="sk-caller", max_retries=0, timeout=60) as client:
        yield client


def message(*texts: str) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "stop_sequence": None, "content": [{"type": "text", "text": text} for text in texts],
        "usage": {"input_tokens": 12, "output_tokens": 7},
    }  # fmt: skip


def block(index: int, start: dict[str, Any], deltas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text_block(index: int, text: str) -> list[dict[str, Any]]:
    return block(index, {"type": "text", "text": ""}, [{"type": "text_delta", "text": word} for word in words(text)])


def stream_of(*blocks: list[dict[str, Any]]) -> Scripted:
    start = {"type": "message_start", "message": message() | {"stop_reason": None}}
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    events = [
        start,
        *(one for part in blocks for one in part),
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    return Scripted([event(one, one["type"]) for one in events])


THOUGHTS = block(0, {"type": "thinking", "thinking": "", "signature": ""},
                 [{"type": "thinking_delta", "thinking": "Hm."}, {"type": "signature_delta", "signature": "s"}])  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"), [("observe", BAD), ("fix", FIXED), ("block", f"Paris is the capital of France.\n\n{INSTEAD}")]
)
def test_an_answer_in_each_mode(
    claude: anthropic.Anthropic, upstream: ScriptedUpstream, name: str, expected: str
) -> None:
    upstream.script(whole(message(BAD)))
    raw = claude.messages.with_raw_response.create(**ASK, extra_headers=mode(name))
    assert raw.headers["x-groundwire-flagged"] == "1"
    found = raw.parse()
    assert found.content[0].text.startswith(expected)
    assert found.stop_reason == ("refusal" if name == "block" else "end_turn")
    assert found.usage.output_tokens == 7
    assert upstream.calls[-1].target == "/v1/messages"


@pytest.mark.parametrize("name", ["observe", "annotate", "block", "fix"])
def test_a_supported_stream_in_each_mode(claude: anthropic.Anthropic, upstream: ScriptedUpstream, name: str) -> None:
    upstream.script(stream_of(THOUGHTS, text_block(1, GOOD)))
    with claude.messages.stream(**ASK, extra_headers=mode(name)) as stream:
        assert "".join(stream.text_stream) == GOOD
        final = stream.get_final_message()
    assert [part.type for part in final.content] == ["thinking", "text"]
    assert final.stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("observe", BAD),
        ("annotate", f"{BAD}\n\n---\nNot supported by the sources:\n"),
        ("fix", FIXED),
        ("block", f"Paris is the capital of France.\n\n{INSTEAD}"),
    ],
)
def test_a_contradicted_stream_in_each_mode(
    claude: anthropic.Anthropic, upstream: ScriptedUpstream, name: str, expected: str
) -> None:
    # Citations cut the answer into blocks in the middle of a sentence.
    first, last = BAD[:50], BAD[50:]
    upstream.script(stream_of(text_block(0, first), text_block(1, last)))
    with claude.messages.stream(**ASK, extra_headers=mode(name)) as stream:
        events = list(stream)
        final = stream.get_final_message()
    texts = [part.text for part in final.content if part.type == "text"]
    assert "".join(texts).startswith(expected)
    assert final.stop_reason == ("refusal" if name == "block" else "end_turn")
    kinds = [e.type for e in events]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_stop", "groundwire.report"]


def test_a_repaired_stream_has_no_empty_text_blocks(claude: anthropic.Anthropic, upstream: ScriptedUpstream) -> None:
    """The citations of all blocks are those of the first, and the indices are the places of the blocks."""
    first, rest = BAD.split(". ", 1)
    cited = [{"type": "citations_delta", "citation": CITATION | {"cited_text": text}} for text in ("one", "two")]
    blocks = [
        block(1, {"type": "text", "text": "", "citations": []}, [{"type": "text_delta", "text": first}, cited[0]]),
        block(2, {"type": "text", "text": "", "citations": []}, [{"type": "text_delta", "text": f". {rest}"}, cited[1]]),
        block(3, {"type": "tool_use", "id": "t1", "name": "bash", "input": {}},
              [{"type": "input_json_delta", "partial_json": '{"command": "ls"}'}]),
    ]  # fmt: skip
    upstream.script(stream_of(THOUGHTS, *blocks))
    with claude.messages.stream(**ASK, extra_headers=mode("fix")) as stream:
        parts: list[Any] = list(stream.get_final_message().content)
    assert [part.type for part in parts] == ["thinking", "text", "tool_use"]
    _, text, call = parts
    assert text.text == FIXED
    assert [citation.cited_text for citation in text.citations] == ["one", "two"]
    assert call.input == {"command": "ls"}


def test_the_report_event_ends_the_stream(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.script(stream_of(text_block(0, BAD)))
    raw = httpx.post(f"{proxy.url}/v1/messages", json=ASK | {"stream": True}, timeout=60).text
    assert "[DONE]" not in raw
    last = raw.strip().rpartition("data: ")[2]
    assert json.loads(last)["groundwire"]["flagged"] is True


def test_an_action_that_its_tool_result_contradicts_is_reported(
    claude: anthropic.Anthropic, upstream: ScriptedUpstream
) -> None:
    upstream.script(whole(message("All tests pass.")))
    asked = ASK | {"messages": CALLED, "tools": TOOLS, "system": "Be brief."}
    raw = claude.messages.with_raw_response.create(**asked, extra_headers=mode("annotate"))
    assert raw.headers["x-groundwire-actions-flagged"] == "1"
    assert "contradicted, its result says: 1 failed, 3 passed" in raw.parse().content[0].text


def test_documents_search_results_and_tool_results_are_evidence() -> None:
    cited = {
        "type": "document",
        "title": "Paris",
        "source": {"type": "text", "media_type": "text/plain", "data": "Paris has parks."},
        "citations": {"enabled": True},
    }
    pieces = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "A. B."}]}}
    found = {
        "type": "search_result",
        "source": "https://a.example",
        "title": "Rome",
        "content": [{"type": "text", "text": "Rome is old."}],
    }
    content = [cited, pieces, found, {"type": "text", "text": "Compare them."}]
    evidence = read_request({"messages": [{"role": "user", "content": content}, *CALLED[1:]], "tools": TOOLS})
    texts = {source.id: source.text for source in evidence.sources}
    assert texts["Paris"] == "Paris has parks."
    assert texts["Rome"] == "Rome is old."
    assert texts["bash"] == "1 failed, 3 passed"
    assert "A. B." in texts.values()
    assert evidence.question == "Compare them."
    assert evidence.ledger is not None
    assert [call.name for call in evidence.ledger.calls] == ["bash"]


def test_a_configured_key_goes_into_anthropics_header() -> None:
    from groundwire.proxy.upstream import Upstream, UpstreamRequest

    request = UpstreamRequest("POST", "messages", b"", [(b"x-api-key", b"caller")], b"{}")
    sent = Upstream("a", "https://api.example/v1", "house").http_request(request, 5.0)
    assert dict(sent.headers)[b"x-api-key"] == b"house"
    assert b"authorization" not in dict(sent.headers)
