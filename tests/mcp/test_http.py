"""The tools over streamable HTTP: the SDK's client against the real server."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable

import httpx
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from tests.serving import served, serving

from groundwire.cli.serve import parse_address
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.reports.json import report_object
from groundwire.stores.database import open_database
from groundwire.stores.keys import KeyStore
from groundwire.verifiers.fake import FakeVerifier
from mcp import Client

FAKE = {"hallucination.backend.type": "fake"}
ASKED = {"answer": "It is red [S0].", "sources": {"S0": "It is red."}}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPTING = {"accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_client_calls_a_tool_over_http(mode: str) -> None:
    with serving(FAKE) as url:
        async with Client(f"{url}/mcp", mode=mode) as client:
            assert len((await client.list_tools()).tools) == 8
            result = await client.call_tool("check", ASKED)
            wrong = await client.call_tool("check", {})
    async with Groundwire(Config(), backend="fake") as engine:
        expected = report_object(await engine.check("It is red [S0].", {"S0": "It is red."}, response_id="response"))
    assert result.structured_content == json.loads(json.dumps(expected))
    assert wrong.is_error


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_cancelled_call_frees_its_slot(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeVerifier(hold=asyncio.Event())
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda **_: fake)
    with served(FAKE) as running:
        async with Client(f"{running.url}/mcp", mode=mode) as client:
            call = asyncio.ensure_future(client.call_tool("check", ASKED))
            await until(lambda: running.service.admission.inside > 0)
            call.cancel()
            await until(lambda: running.service.admission.inside == 0)


async def until(reached: Callable[[], bool]) -> None:
    """What happens in the server's thread gives no sign in this one."""
    async with asyncio.timeout(20):
        while not reached():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def test_foreign_origins_and_hosts_are_rejected() -> None:
    with served(FAKE) as running:
        for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
            answer = running.client.post("/mcp", json=LIST, headers={**ACCEPTING, **headers})
            assert answer.status_code == 403
            assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("method", "body", "status"),
    [
        ("GET", b"", 405),
        ("PUT", b"{}", 405),
        ("POST", b"", 400),
        ("POST", b"{broken", 400),
        ("POST", b"\xff\xfe", 400),
        ("POST", b"[" * 100_000, 400),
        ("POST", b'"' + b"x" * 2000 + b'"', 413),
    ],
)
def test_invalid_messages_are_client_errors(method: str, body: bytes, status: int) -> None:
    with served({**FAKE, "server.max_body_bytes": 150_000 if status != 413 else 1500}) as running:
        headers = {**ACCEPTING, "content-type": "application/json"}
        answer = running.client.request(method, "/mcp", content=body, headers=headers)
        assert answer.status_code == status
        assert running.client.get("/healthz").status_code == 200


def token(*scopes: str) -> str:
    database = open_database(Config.load().store.url)
    try:
        return KeyStore(database).add(f"for {scopes}", scopes)[1]
    finally:
        database.close()


async def test_tools_require_a_key_if_the_server_does() -> None:
    good, other = token("check"), token("metrics")
    with served({**FAKE, "server.auth": "always"}) as running:

        def asked(key: str) -> int:
            sent = {**ACCEPTING, "authorization": f"Bearer {key}"} if key else ACCEPTING
            return running.client.post("/mcp", json=LIST, headers=sent).status_code

        assert (asked(""), asked("gw_0123_nonsense"), asked(other)) == (401, 401, 403)
        assert asked(good) not in (401, 403)


async def test_knowledge_base_requires_the_read_scope() -> None:
    """By the rule of every other path, whichever way the client speaks."""
    keys = {"check": token("check"), "facts:read": token("check", "facts:read")}
    with served({**FAKE, "server.auth": "always"}) as running:
        for mode in ("auto", "legacy"):
            for scope, key in keys.items():
                carried = httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"})
                transport = streamable_http_client(f"{running.url}/mcp", http_client=carried)
                async with carried, Client(transport, mode=mode) as client:
                    found = await client.call_tool("check", {**ASKED, "kb": True})
                assert bool(found.is_error) == (scope == "check")


def test_public_address_without_keys_is_rejected() -> None:
    done = subprocess.run(command("0.0.0.0:0"), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert "there are no API keys" in done.stderr


def test_command_serves_until_a_signal() -> None:
    """Even while a client is connected: nothing it holds open keeps the server."""
    process = subprocess.Popen(command("127.0.0.1:0"), stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        found = re.search(r"http://[\d.:]+", process.stderr.readline())
        assert found
        assert httpx.get(f"{found[0]}/healthz", trust_env=False).status_code == 200
        assert httpx.post(f"{found[0]}/v1/check", json={}, trust_env=False).status_code == 404
        asyncio.run(stopped_while_connected(found[0], process))
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


async def stopped_while_connected(url: str, process: subprocess.Popen[str]) -> None:
    async with Client(f"{url}/mcp", mode="legacy") as client:
        assert not (await client.call_tool("check", ASKED)).is_error
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 20) == 0


def command(address: str) -> list[str]:
    return [sys.executable, "-m", "groundwire.cli.main", "mcp", "--http", address, "--backend", "fake"]


@pytest.mark.parametrize("wrong", ["", "host", "a:b", "1.2.3.4:99999", "a b:80", "::1:80", "http://x:80"])
def test_invalid_address_is_rejected(wrong: str) -> None:
    with pytest.raises(InputError, match="invalid address"):
        parse_address(wrong)
