"""`groundwire mcp` as clients start it: a process of its own, spoken to over its pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters
from typer.testing import CliRunner

from groundwire.cli.main import app
from groundwire.errors import MissingExtra
from mcp import Client

COMMAND = [sys.executable, "-m", "groundwire.cli.main", "mcp", "--backend", "fake"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key.startswith("GROUNDWIRE_")}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_client_session_over_stdio(mode: str, tmp_path: Path) -> None:
    """Both ways of the protocol to begin: the one of today, and the handshake of older clients."""
    started = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=environment(), cwd=tmp_path)
    async with Client(started, mode=mode) as client:
        assert "check" in [tool.name for tool in (await client.list_tools()).tools]
        asked = {"answer": "מגדל אייפל גבוה [S0].", "sources": {"S0": "מגדל אייפל גבוה."}}
        result = await client.call_tool("check", asked)
        assert result.structured_content is not None
        assert result.structured_content["claims"][0]["text"] == "מגדל אייפל גבוה."
        assert (await client.call_tool("check", {"answer": "x"})).is_error


def test_invalid_lines_are_ignored(tmp_path: Path) -> None:
    call = {"name": "verify_claim", "arguments": {"claim": "It is red.", "evidence": "It is red."}}
    process = subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    assert process.stdin
    assert process.stdout
    garbage = (b"garbage", b"\xff\xfe", b"[" * 100_000, b'{"id": "\\ud800"}', b"")
    process.stdin.write(b"\n".join((*garbage, json.dumps(HELLO).encode(), b"")))
    process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    process.stdin.write(said(2, "tools/call", call) + said(3, "nonsense", {}) + said(4, "ping", {}))
    process.stdin.flush()
    answers: dict[int, dict[str, Any]] = {}
    while set(answers) != {1, 2, 3, 4}:  # every line of the output is a message of the protocol
        message = json.loads(process.stdout.readline())
        answers[message["id"]] = message
    process.stdin.close()
    assert process.wait(20) == 0
    assert process.stdout.read() == b""
    assert not answers[2]["result"].get("isError")
    assert answers[3]["error"]["code"] == -32601
    process.stdout.close()
    assert process.stderr
    process.stderr.close()


def test_interrupt_ends_an_idle_server() -> None:
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == -signal.SIGINT


def test_client_that_stops_reading_is_not_an_error() -> None:
    reading, writing = os.pipe()
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE) as process:
        os.close(writing)
        os.close(reading)
        _, told = process.communicate(json.dumps(HELLO).encode() + b"\n", timeout=20)
    assert (process.returncode, told) == (0, b"")


def said(number: int, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def test_configuration_errors_are_reported_at_start() -> None:
    command = [*COMMAND[:-1], "external"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode().startswith("groundwire: the backend 'external' has no address")


def test_missing_sdk_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("groundwire.mcp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp.server.stdio", None)
    found = CliRunner().invoke(app, ["mcp"])
    assert isinstance(found.exception, MissingExtra)
    assert "pip install 'groundwire[mcp]'" in str(found.exception)


def test_stdio_does_not_import_server_packages() -> None:
    code = "import sys, groundwire.mcp.server; print('fastapi' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
