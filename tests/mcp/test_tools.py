"""The tools as an MCP client sees them: the SDK's own client, in this process."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import jsonschema
import mcp_types as wire
import pytest
from mcp.shared.exceptions import MCPError
from typer.testing import CliRunner

from groundwire import _loop, audit_reasoning, audit_trace, check, verify_claim, verify_claims
from groundwire.cli import main
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.mcp import server as mcp_server
from groundwire.mcp.server import LocalToolService, create_server
from groundwire.mcp.tools import TOOLS
from groundwire.reports.json import audit_object, claim_object, report_object
from groundwire.verifiers.fake import FakeVerifier
from mcp import Client

T = TypeVar("T")
SOURCE = "The population of France is 67 million. Paris is the capital of France."
ANSWER = "Paris is the capital of France [S0]. It has 999 million people [S7]."
STEPS: list[Mapping[str, object] | str] = [
    {"claim": "Paris is the capital of France", "cites": ["S0"]},
    "So Paris is a town of 999 million",
]


@asynccontextmanager
async def connected(backend: str = "local", **changes: Any) -> AsyncIterator[Client]:
    config = Config.load(None, {"hallucination.backend.type": backend, **changes})
    async with Groundwire(config) as engine, Client(create_server(LocalToolService(engine))) as client:
        yield client


async def called(name: str, arguments: dict[str, Any], backend: str = "local") -> wire.CallToolResult:
    async with connected(backend) as client:
        return await client.call_tool(name, arguments)


def text_of(result: wire.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, wire.TextContent)
    return content.text


async def test_tool_schemas_have_no_references() -> None:
    async with connected("fake") as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == [
        "check", "verify_claim", "verify_claims", "audit_reasoning", "audit_trace",
        "check_actions", "detect_hallucination", "audit_trace_budget",
    ]  # fmt: skip
    for tool in tools:
        assert tool.output_schema
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert "$ref" not in json.dumps(schema)
        assert tool.description
        assert tool.annotations
        assert tool.annotations.read_only_hint
        assert len(json.dumps(tool.input_schema)) < 6000, "a model has to read it"
        for name, argument in tool.input_schema["properties"].items():
            assert "description" in argument or "enum" in argument, f"{tool.name}.{name}"


async def test_tools_return_what_the_engine_returns() -> None:
    sources = {"S0": SOURCE}
    asked: dict[str, tuple[dict[str, Any], object]] = {
        "check": (
            {"answer": ANSWER, "sources": sources, "question": "Where?", "target": 0.9},
            report_object(check(ANSWER, sources, question="Where?", target=0.9, response_id="response")),
        ),
        "verify_claim": (
            {"claim": "Paris is the capital.", "evidence": SOURCE, "confidence": 0.8},
            claim_object(verify_claim("Paris is the capital.", SOURCE, 0.8)),
        ),
        "verify_claims": (
            {"text": ANSWER, "context": [SOURCE]},
            {"flagged": True, "claims": [claim_object(c) for c in verify_claims(ANSWER, [SOURCE])]},
        ),
        "audit_reasoning": (
            {"steps": STEPS, "sources": sources},
            {"flagged": True, "claims": [claim_object(c) for c in audit_reasoning(STEPS, sources)]},
        ),
        "audit_trace": (
            {"steps": STEPS, "context": sources, "question": "What is Paris?", "answer": "A capital."},
            audit_object(audit_trace(STEPS, "What is Paris?", sources, "A capital.")),
        ),
    }
    async with connected() as client:
        for name, (arguments, expected) in asked.items():
            result = await client.call_tool(name, arguments)
            assert not result.is_error, text_of(result)
            assert result.structured_content == json.loads(json.dumps(expected)), name
            assert json.loads(text_of(result)) == result.structured_content


async def test_profile_and_repair_arguments() -> None:
    wanted = {"answer": ANSWER, "sources": {"S0": SOURCE}, "profile": "rag", "fix": True}
    found = (await called("check", wanted)).structured_content
    assert found is not None
    assert found["profile"] == "rag"
    assert found["repair"]["text"] != ANSWER


async def test_feedback_is_attached() -> None:
    """As every other door shows it."""
    answer, source = "The tower is 999 metres tall.", "The tower is 330 metres tall."
    CliRunner().invoke(main.app, ["check", answer, "-s", source, "--backend", "fake"])
    assert CliRunner().invoke(main.app, ["feedback", "c1", "wrong"]).exit_code == 0
    found = (await called("check", {"answer": answer, "sources": source}, "fake")).structured_content
    assert found is not None
    assert found["claims"][0]["feedback"]["right"] is False


async def test_accepted_forms_of_sources() -> None:
    async with connected("fake") as client:
        for sources, name in (
            (SOURCE, "S0"),
            ({"a": SOURCE}, "a"),
            (["Cats.", SOURCE], "S1"),
            ([{"id": "x", "text": SOURCE}], "x"),
        ):
            answer = {"answer": "Paris is the capital of France.", "sources": sources}
            found = (await client.call_tool("check", answer)).structured_content
            assert found is not None
            assert found["claims"][0]["evidence"][0]["source"] == name


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("check", {}, "'answer': field required"),
        ("check", {"answer": "", "sources": "x"}, "'answer': string should have at least 1 character"),
        ("check", {"answer": " ", "sources": "x"}, "the answer is empty"),
        ("check", {"answer": "x" * 1_000_001, "sources": "x"}, "at most 1000000 characters"),
        ("check", {"answer": "It is red."}, "there are no sources"),
        ("check", {"answer": "It is red.", "sources": 7}, "should be a text, texts by id, or a list"),
        ("check", {"answer": "It is red.", "sources": {"a": 7}}, "'sources.a': input should be a valid string"),
        ("check", {"answer": "It is red.", "sources": [{"id": "a"}]}, "'sources.0.text': field required"),
        ("check", {"answer": "It is red.", "sources": ["x"] * 2001}, "at most 2000 items"),
        ("check", {"answer": "It is red.", "sorces": "x"}, "'sorces': extra inputs are not permitted"),
        ("check", {"answer": "It is red.", "sources": "x", "target": 95}, "less than or equal to 1"),
        ("check", {"answer": "It is red.", "sources": "x", "kb": True}, "store.db"),
        ("verify_claim", {"claim": "It is red.", "evidence": ""}, "there are no sources"),
        ("audit_reasoning", {"steps": [], "sources": "x"}, "'steps': list should have at least 1 item"),
        ("audit_reasoning", {"steps": [7], "sources": "x"}, "should be a text or {claim, cites}"),
    ],
)
async def test_invalid_arguments_are_one_line(name: str, arguments: dict[str, Any], complaint: str) -> None:
    result = await called(name, arguments, "fake")
    assert result.is_error
    assert result.structured_content is None
    assert complaint in text_of(result)
    assert text_of(result).startswith(f"{name}: ")
    assert "\n" not in text_of(result)


async def test_too_long_sources_are_rejected() -> None:
    async with connected("fake", **{"limits.max_source_bytes": 100}) as client:
        result = await client.call_tool("check", {"answer": "It is red.", "sources": "x" * 101})
        assert "sources are too long: 101 characters: the limit is 100" in text_of(result)
        spans = [{"sid": "S0", "text": "x" * 101}]
        result = await client.call_tool("detect_hallucination", {"answer": "It is red.", "spans": spans})
        assert "the limit is 100" in text_of(result)


async def test_text_of_a_long_report_lists_only_flagged_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.mcp.tools.MAX_TEXT_BYTES", 1000)
    async with connected("fake") as client:
        result = await client.call_tool("check", {"answer": f"It is red. {ANSWER}", "sources": "It is red."})
        assert result.structured_content is not None
        assert len(result.structured_content["claims"]) == 3
        shown = json.loads(text_of(result))
        assert [claim["text"] for claim in shown["claims"]] == [
            "Paris is the capital of France.",
            "It has 999 million people.",
        ]
        assert "structured content" in shown["note"]
        monkeypatch.setattr("groundwire.mcp.tools.MAX_RESULT_BYTES", 1000)
        result = await client.call_tool("check", {"answer": ANSWER, "sources": "It is red."})
        assert result.is_error
        assert "bytes: check the answer in parts" in text_of(result)


async def test_unknown_tool_is_a_protocol_error() -> None:
    async with connected("fake") as client:
        with pytest.raises(MCPError, match="unknown tool 'chek'"):
            await client.call_tool("chek", {})


async def test_unchecked_is_not_reported_as_unflagged(monkeypatch: pytest.MonkeyPatch) -> None:
    from groundwire.errors import BackendTimeout

    failing = FakeVerifier(failing=[BackendTimeout("too slow")] * 9)
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda **_: failing)
    found = (await called("verify_claims", {"text": "It is red.", "context": "x"}, "fake")).structured_content
    assert found is not None
    assert found["flagged"] is None
    assert found["claims"][0]["status"] == "UNCHECKED"


class Endless(LocalToolService):
    """Work that never ends by itself, and says when somebody ended it."""

    begun, ended = threading.Event(), threading.Event()

    async def work(self, job: Callable[[], Coroutine[Any, Any, T]], size: int = 0) -> T:
        job().close()
        return await _loop.run_on_shared_loop(self._wait())

    async def _wait(self) -> Any:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


async def test_cancelled_call_stops_the_work() -> None:
    held = Endless(Groundwire(Config(), backend="fake"))
    async with Client(create_server(held)) as client:
        call = asyncio.ensure_future(client.call_tool("check", {"answer": "It is red.", "sources": "x"}))
        assert await asyncio.to_thread(held.begun.wait, 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await asyncio.to_thread(held.ended.wait, 10)
        await client.list_tools()


def test_each_tool_uses_the_backend_of_its_operation() -> None:
    chosen = {"type": "configurable", "default": "fake", "operations": {"trace": "local"}}
    held = LocalToolService(Groundwire(Config.load(None, {"hallucination.backend": chosen})))
    asked = {tool.name: held.engine_for(tool.operation).backend.name for tool in TOOLS}
    assert {name for name, backend in asked.items() if backend == "local"} == {
        "audit_reasoning", "audit_trace", "audit_trace_budget",
    }  # fmt: skip
    assert held.engine_for("trace") is held.engine_for("trace")
    _loop.run(held.aclose())


async def test_long_calls_report_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "_PROGRESS_SECONDS", 0.01)
    go_on = asyncio.Event()
    held = FakeVerifier(hold=go_on)
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda **_: held)
    heard: list[float] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)
        if len(heard) == 3:
            await _loop.run_on_shared_loop(_set(go_on))

    async with connected("fake") as client:
        asked = {"answer": "It is red.", "sources": "x"}
        result = await client.call_tool("check", asked, progress_callback=listen)
        assert not result.is_error
        assert heard == sorted(heard)


async def _set(event: asyncio.Event) -> None:
    event.set()


async def test_an_agent_checks_what_it_says_it_did() -> None:
    call = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "pytest"}'}}
    messages = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "1 failed, 3 passed"},
    ]
    arguments = {"messages": messages, "answer": "All tests pass."}
    found = (await called("check_actions", arguments, "fake")).structured_content
    assert found["flagged"] is True
    assert [action["status"] for action in found["actions"]] == ["contradicted"]
