"""The workflows in a real n8n, against a real server. `make test-n8n` installs n8n and runs this."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.loopback import Loopback, chat
from tests.serving import Served, served

FOLDER = Path(__file__).parents[2] / "workflows"
HOME = os.environ.get("N8N_HOME", "")
DEFAULT = "http://127.0.0.1:8321"
GOOD = "The appraiser set a compensation of 50,000 shekels [S0]."
RULING = "The appraiser determined a compensation of 50,000 shekels. The hearing took place in Haifa in 2021."
_PATIENCE = 240

pytestmark = [
    pytest.mark.skipif(not HOME, reason="make test-n8n installs n8n and runs these"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


@dataclass(frozen=True)
class N8n:
    """An n8n with a folder of its own, spoken to by its command line."""

    folder: Path
    port: int

    @property
    def environment(self) -> dict[str, str]:
        quiet = ("DIAGNOSTICS", "VERSION_NOTIFICATIONS", "TEMPLATES", "PERSONALIZATION")
        return {
            **os.environ,
            **{f"N8N_{name}_ENABLED": "false" for name in quiet},
            "N8N_USER_FOLDER": str(self.folder),
            "N8N_LISTEN_ADDRESS": "127.0.0.1",
            "N8N_PORT": str(self.port),
            "N8N_RUNNERS_BROKER_PORT": str(free_port()),
            "DB_SQLITE_POOL_SIZE": "2",
        }

    def command(self, *arguments: str) -> list[str]:
        node = Path(HOME, "node_modules", "node", "bin", "node")
        program = str(Path(HOME, "node_modules", "n8n", "bin", "n8n"))
        return [str(node) if node.is_file() else "node", program, *arguments]

    def run(self, *arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            self.command(*arguments), env=self.environment, capture_output=True, text=True, timeout=_PATIENCE
        )
        return done.returncode, done.stdout + done.stderr

    @contextmanager
    def started(self) -> Iterator[str]:
        """The address of its webhooks while it runs."""
        with (self.folder / "start.log").open("w") as log:
            process = subprocess.Popen(self.command("start"), env=self.environment, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{self.port}"
            self._wait(process, url)
            yield f"{url}/webhook"
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _wait(self, process: subprocess.Popen[bytes], url: str) -> None:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until and process.poll() is None:
            # Webhooks are there once the workflows are activated, which the log says.
            if "Editor is now accessible" in (self.folder / "start.log").read_text():
                return
            time.sleep(0.2)
        raise AssertionError((self.folder / "start.log").read_text()[-3000:] or f"{url} does not answer")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture
def server(loopback: Loopback) -> Iterator[Served]:
    loopback.script(chat(GOOD))
    settings = {
        "openai.base_url": f"{loopback.url}/v1",
        "generator.provider": "openai",
        "generator.model": "scripted",
        "limits.retries": 0,
    }
    with served(settings) as running:
        running.client.post("/v1/rag/documents", json={"documents": [{"id": "ruling", "text": RULING}]})
        yield running


@pytest.fixture
def n8n(tmp_path: Path) -> N8n:
    """Ready to work: the key is a credential, and no workflow is there yet."""
    found = N8n(tmp_path / "n8n", free_port())
    found.folder.mkdir()
    data = {"name": "x-groundwire-key", "value": "no key is asked for on loopback"}
    key = {"id": "groundwireKey01", "name": "groundwire service key", "type": "httpHeaderAuth", "data": data}
    (tmp_path / "keys.json").write_text(json.dumps([key]))
    code, said = found.run("import:credentials", f"--input={tmp_path / 'keys.json'}")
    assert code == 0, said
    return found


def imported(n8n: N8n, name: str, url: str, change: Any = None) -> str:
    """A workflow as a user sets it up: imported, and the service's address written into the node Service."""
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert text.count(DEFAULT) == 1
    workflow = json.loads(text.replace(DEFAULT, url))
    if change is not None:
        change(workflow)
    path = n8n.folder / f"{name}.json"
    path.write_text(json.dumps(workflow), encoding="utf-8")
    code, said = n8n.run("import:workflow", f"--input={path}")
    assert (code, "Successfully imported 1 workflow" in said) == (0, True), said
    return str(workflow["id"])


def expect_the_opposite(workflow: dict[str, Any]) -> None:
    (node,) = [node for node in workflow["nodes"] if node["name"] == "The cases"]
    cases = json.loads(node["parameters"]["jsonOutput"])
    cases["cases"][1]["grounded"] = [True]
    node["parameters"]["jsonOutput"] = json.dumps(cases, ensure_ascii=False)


def test_the_tests_pass_and_fail_visibly(n8n: N8n, server: Served) -> None:
    name = imported(n8n, "hallucination-detection-tests", server.url)
    code, said = n8n.run("execute", f"--id={name}")
    assert (code, '"lastNodeExecuted": "Passed"' in said) == (0, True), said[-3000:]
    imported(n8n, "hallucination-detection-tests", server.url, expect_the_opposite)
    code, said = n8n.run("execute", f"--id={name}")
    assert code != 0
    assert "1 of 8 tests failed: Test 2: contradicts the context" in said
    imported(n8n, "hallucination-detection-tests", f"http://127.0.0.1:{free_port()}")
    code, said = n8n.run("execute", f"--id={name}")  # the service is gone: nothing was checked, nothing passed
    assert code != 0
    assert "8 of 8 tests failed" in said


def test_the_chatbot_answers_its_webhook(n8n: N8n, server: Served, loopback: Loopback) -> None:
    name = imported(n8n, "rag-chatbot", server.url)
    code, said = n8n.run("publish:workflow", f"--id={name}")
    assert code == 0, said
    with n8n.started() as hooks, httpx.Client(timeout=60, trust_env=False) as client:
        asked = {"message": "What compensation did the appraiser determine?", "top_k": 2}
        reply = client.post(f"{hooks}/groundwire-rag-chat", json=asked)
        assert (reply.status_code, reply.json()) == (200, server.client.post("/v1/rag/chat", json=asked).json())
        assert reply.json()["hallucination_check"]["claims"][0]["grounded"] is True
        loopback.script(chat("The appraiser set a compensation of 80,000 shekels [S0]."))
        reply = client.post(f"{hooks}/groundwire-rag-chat", json={"question": asked["message"]})
        assert reply.json()["hallucination_check"]["overall_grounded"] is False
        nothing = client.post(f"{hooks}/groundwire-rag-chat", json={})
        assert (nothing.status_code, nothing.json()["success"]) == (502, False)
        assert "could not be answered" in nothing.json()["warning"]
