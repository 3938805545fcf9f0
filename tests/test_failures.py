"""Whatever goes wrong behind a backend, every interface says that it could not check, streaming or not.

The answer under test is its own source: only the failure of the backend can keep it from being clean.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console
from tests.llm.test_hosted import chunk, sse
from tests.loopback import Loopback, Reply, Request, chat, refusal
from tests.proxy.scripted import (
    Scripted,
    ScriptedUpstream,
    chat_stream,
    completion,
    response_object,
    response_stream,
    scripted,
    whole,
)
from tests.serving import Served, served
from typer.testing import CliRunner

from groundwire.cli import main
from groundwire.cli.batch import BatchArgs, run_batch
from mcp import Client as McpClient


def positive(word: str) -> Reply:
    reply = chat(word, top={word: 0.5})
    return Reply(reply.content.decode().replace("-0.6931471805599453", "0.6931471805599453"))


ANSWER = "Paris is the capital of France. The tower is 330 metres tall."
FAILURES = {
    "429": refusal(429, "slow down", retry_after="3600"),
    "500": refusal(500, "boom"),
    "wrong key": refusal(401, "who are you?"),
    "hang": Reply(hang=True),
    "truncated": Reply('{"choices": [', cut=True),
    "half a body": Reply('{"choices": ['),
    "wrong content type": Reply("<html>hello</html>", content_type="text/html"),
    "empty choices": Reply({"choices": [], "content": [], "estimates": []}),
    "empty body": Reply(""),
    "no number": Reply('{"probabilities": [NaN, NaN], "choices": NaN, "content": NaN}'),
    "no judgement": chat("As a language model I would rather not say."),
    "negated answer": chat("Not YES"),
    "two answers": chat("YES NO"),
    "positive logprobs": positive("YES"),
    "another word is likelier": chat("YES", top={"Paris": 0.98, "YES": 0.01}),
    "text and token disagree": chat("NO", top={"YES": 0.98, "NO": 0.01}),
    "sure of both": Reply({"estimates": [{"probability": 1.0, "p_no": 1.0}] * 2}),
}


def check(backend: str, url: str, folder: Path) -> tuple[int, str, str]:
    environment = {
        "GROUNDWIRE_OPENAI__BASE_URL": f"{url}/v1",
        "GROUNDWIRE_ANTHROPIC__BASE_URL": url,
        "GROUNDWIRE_EXTERNAL__URL": url,
        "GROUNDWIRE_HALLUCINATION__TIMEOUT": "300ms",
        "GROUNDWIRE_LIMITS__RETRIES": "0",
        "GROUNDWIRE_STORE__CACHE_PATH": str(folder / "cache.db"),
    }
    arguments = ["check", ANSWER, "-s", ANSWER, "--backend", backend, "--json"]
    found = CliRunner().invoke(main.app, arguments, env=environment, catch_exceptions=False)
    return found.exit_code, found.stdout, found.stderr


@pytest.mark.spec("SPEC-08.42", "SPEC-08.43")
@pytest.mark.parametrize("backend", ["openai", "haiku", "external"])
@pytest.mark.parametrize("failure", [*FAILURES, "connection refused"])
def test_could_not_check_is_exit_code_three_and_no_verdict(
    backend: str, failure: str, loopback: Loopback, tmp_path: Path
) -> None:
    url = loopback.url if failure in FAILURES else nobody()
    loopback.script(FAILURES.get(failure, Reply()))
    code, out, logged = check(backend, url, tmp_path)
    found = json.loads(out)
    assert code == 3
    assert [claim["status"] for claim in found["claims"]] == ["UNCHECKED", "UNCHECKED"]
    assert (found["flagged"], found["risk"], found["grounding_ratio"]) == (None, None, None)
    assert found["error"].startswith("2 of 2 claims could not be checked: ")
    assert "Traceback" not in logged
    assert "330 metres" not in logged


def nobody() -> str:
    """An address where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


@dataclass(frozen=True)
class World:
    """A server whose backend fails, an upstream of its proxy, and a folder."""

    server: Served
    upstream: ScriptedUpstream
    folder: Path

    def post(self, path: str, **body: Any) -> httpx.Response:
        answer = self.server.client.post(path, json=body)
        assert answer.status_code < 300, answer.text
        return answer


def statuses(claims: list[dict[str, Any]]) -> set[str]:
    return {claim["status"] for claim in claims}


def by_check(world: World) -> object:
    found = world.post("/v1/check", response=ANSWER, context=ANSWER).json()
    return found["flagged"], statuses(found["claims"])


def by_claims(world: World) -> object:
    return statuses(world.post("/v1/claims/verify", text=ANSWER, context=ANSWER).json()["claims"])


def by_audit(world: World) -> object:
    steps = [{"claim": "Paris is the capital of France.", "cites": ["context"]}]
    found = world.post("/v1/traces/audit", steps=steps, context=ANSWER).json()
    return found["flagged"], statuses(found["steps"])


def by_outputs(world: World) -> object:
    history = [{"role": "tool", "content": ANSWER}]
    return world.post("/v1/outputs", response=ANSWER, history=history, wait=20).json()["flagged"]


def by_gate(world: World) -> object:
    """A rate limit makes the fact wait for its turn."""
    found = world.post("/v1/facts", fact="Paris is the capital of France.", context=ANSWER).json()
    return found["status"] in ("unverified", "pending")


def by_proxy(path: str, answer: Scripted, *, stream: bool) -> Callable[[World], object]:
    given = "messages" if path == "chat/completions" else "input"
    asked = [{"role": "user", "content": f'<document id="S0">{ANSWER}</document> Tell me about Paris.'}]

    def ask(world: World) -> object:
        world.upstream.script(answer)
        found = world.post(f"/v1/{path}", model="m", stream=stream, **{given: asked})
        if not stream:
            return found.headers["x-groundwire-status"]
        frames = [line.removeprefix("data: ") for line in found.text.splitlines() if '"groundwire"' in line]
        return json.loads(frames[-1])["groundwire"]["status"]

    return ask


def _events(answer: httpx.Response) -> dict[str, Any]:
    """The last event of each name."""
    lines = answer.text.splitlines()
    names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    data = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    return dict(zip(names, data, strict=True))


def by_rag(*, stream: bool) -> Callable[[World], object]:
    def ask(world: World) -> object:
        answer = world.post("/v1/rag/chat", message="What is the capital of France?", stream=stream)
        found = _events(answer)["check"] if stream else answer.json()
        check = found["hallucination_check"]
        return bool(check and check["overall_grounded"]), bool(found["warning"])

    return ask


def by_guard(*, stream: bool) -> Callable[[World], object]:
    def ask(world: World) -> object:
        asked = {"request": "What is the capital of France?", "sources": {"S0": ANSWER}, "stream": stream}
        answer = world.post("/v1/guard", **asked)
        found = _events(answer)["done"] if stream else answer.json()
        return found["report"]["flagged"]

    return ask


def by_mcp(tool: str, **arguments: Any) -> Callable[[World], object]:
    async def call(url: str) -> Any:
        async with McpClient(f"{url}/mcp") as client:
            return (await client.call_tool(tool, arguments)).structured_content

    def ask(world: World) -> object:
        found = asyncio.run(call(world.server.url))
        return found["flagged"]

    return ask


def by_batch(world: World) -> object:
    rows, out = world.folder / "in.jsonl", world.folder / "out.jsonl"
    rows.write_text(json.dumps({"response": ANSWER, "context": ANSWER}) + "\n")
    code = run_batch(BatchArgs(rows, out), world.server.service.config, Console(quiet=True))
    return code, json.loads(out.read_text())["flagged"]


SPANS = [{"sid": "S0", "text": ANSWER}]
CITED = "Paris is the capital of France [S0]."
INTERFACES: dict[str, tuple[Callable[[World], object], object]] = {
    "check": (by_check, (None, {"UNCHECKED"})),
    "claims": (by_claims, {"UNCHECKED"}),
    "audit": (by_audit, (None, {"UNCHECKED"})),
    "outputs": (by_outputs, None),
    "memory gate": (by_gate, True),
    "batch": (by_batch, (3, None)),
    "proxy chat": (by_proxy("chat/completions", whole(completion(ANSWER)), stream=False), "UNCHECKED"),
    "proxy chat stream": (by_proxy("chat/completions", Scripted(chat_stream(ANSWER)), stream=True), "UNCHECKED"),
    "proxy responses": (by_proxy("responses", whole(response_object(ANSWER)), stream=False), "UNCHECKED"),
    "proxy responses stream": (by_proxy("responses", Scripted(response_stream(ANSWER)), stream=True), "UNCHECKED"),
    "mcp check": (by_mcp("check", answer=ANSWER, sources=ANSWER), None),
    "mcp verify_claims": (by_mcp("verify_claims", text=ANSWER, context=ANSWER), None),
    # Strawberry's format has no third value: a claim that could not be checked is flagged.
    "mcp detect_hallucination": (by_mcp("detect_hallucination", answer=CITED, spans=SPANS), True),
    "rag": (by_rag(stream=False), (False, True)),
    "rag stream": (by_rag(stream=True), (False, True)),
    "guard": (by_guard(stream=False), None),
    "guard stream": (by_guard(stream=True), None),
}
"""Each interface, and what it says of an answer that could not be checked."""
GENERATED = ("rag", "rag stream", "guard", "guard stream")
"""Interfaces that need a model that answers, so that only the backend `external` can fail alone."""


def generate(request: Request) -> Reply:
    """A model that answers, beside the verifier that does not."""
    if request.body.get("stream"):
        return sse(*(chunk(f"{word} ") for word in ANSWER.split()), "[DONE]")
    return chat(ANSWER)


@pytest.fixture(scope="module", params=["openai", "external"])
def failing(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, World, Loopback]]:
    """A server with this backend, for all interfaces and failures."""
    folder = tmp_path_factory.mktemp("failing")
    with ExitStack() as stack:
        judge, model = Loopback(), Loopback()
        stack.callback(judge.close)
        stack.callback(model.close)
        model.script(generate)
        upstream = stack.enter_context(scripted())
        openai = judge if request.param == "openai" else model
        settings = {
            "hallucination.backend.type": request.param,
            "hallucination.enabled": True,
            "hallucination.memory_gate.enabled": True,
            "hallucination.output_verification.enabled": True,
            "hallucination.timeout": "300ms",
            "openai.base_url": f"{openai.url}/v1",
            "openai.api_key": "k",
            "generator.provider": "openai",
            "external.url": judge.url,
            "limits.retries": 0,
            "limits.breaker_failures": 1_000_000,  # each failure is met, not the memory of an earlier one
            "proxy.upstreams": {"default": upstream.url},
            "proxy.report_timeout": 30.0,
            "store.url": str(folder / "store.db"),
            "store.cache_path": "",
            "rag.path": str(folder / "rag.db"),
        }
        server = stack.enter_context(served(settings))
        server.client.post("/v1/rag/documents", json={"documents": [{"id": "paris", "text": ANSWER}]})
        yield request.param, World(server, upstream, folder), judge


@pytest.mark.spec("SPEC-08.42", "SPEC-08.43")
@pytest.mark.parametrize("interface", INTERFACES)
def test_no_interface_calls_an_answer_clean_that_could_not_be_checked(
    interface: str, failing: tuple[str, World, Loopback]
) -> None:
    backend, world, judge = failing
    if interface in GENERATED and backend == "openai":
        pytest.skip("the model that answers would fail as well")
    ask, expected = INTERFACES[interface]
    said = {}
    for name, failure in FAILURES.items():
        judge.script(failure)
        said[name] = ask(world)
    assert said == dict.fromkeys(FAILURES, expected)
