"""How the server starts, times out and shuts down."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.serving import process, served
from typer.testing import CliRunner

from groundwire.cli.main import app
from groundwire.cli.serve import run_serve
from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.types import Estimate, Query

FINE = {"response": "It has 40 employees.", "context": "It has 40 employees."}


class GatedVerifier:
    """A verifier that answers once it is released."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.may = threading.Event()

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        self.asked.set()
        while not self.may.is_set():  # noqa: ASYNC110 (set by another thread)
            await asyncio.sleep(0.005)
        return [Estimate.point(0.99, 0.0, "gated") for _ in queries]


@pytest.fixture
def gated(monkeypatch: pytest.MonkeyPatch) -> GatedVerifier:
    verifier = GatedVerifier()
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda **_: verifier)
    monkeypatch.setattr("groundwire.server.service.load_model", _nothing)
    return verifier


async def _nothing(_: object) -> None: ...


def test_a_port_in_use_is_reported_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} of 127.0.0.1 is in use: choose another"):
            run_serve(Config.load(overrides={"server.port": port}))


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_public_address_requires_keys(host: str) -> None:
    config = Config.load(overrides={"server.host": host, "server.port": 0})
    with pytest.raises(InputError, match="there are no API keys") as refused:
        run_serve(config)
    assert refused.value.exit_code == 2


def test_an_unknown_host_is_reported_in_one_line() -> None:
    CliRunner().invoke(app, ["keys", "add", "ci", "--scope", "check"])
    with pytest.raises(InputError, match="unknown address"):
        run_serve(Config.load(overrides={"server.host": "no.such.host.invalid"}))


def test_the_command_reports_errors() -> None:
    result = CliRunner().invoke(app, ["serve", "--host", "0.0.0.0", "--port", "0"])
    assert isinstance(result.exception, InputError)
    assert CliRunner().invoke(app, ["serve", "--port", "99999"]).exit_code == 2


def test_a_request_that_exceeds_the_timeout_gets_504(gated: GatedVerifier) -> None:
    with served({"hallucination.backend.type": "fake", "server.request_timeout": "200ms"}) as running:
        answer = running.client.post("/v1/check", json=FINE)
        assert (answer.status_code, answer.json()["type"]) == (504, "/docs#problem-timeout")
        assert running.service.admission.inside == 0
        gated.may.set()


def test_a_draining_server_finishes_old_requests_and_rejects_new_ones(gated: GatedVerifier) -> None:
    with served({"hallucination.backend.type": "fake"}) as running, ThreadPoolExecutor(1) as pool:
        taken = pool.submit(running.client.post, "/v1/check", json=FINE)
        assert gated.asked.wait(10)
        running.server.drain()
        late = httpx.Client(base_url=running.url, trust_env=False)
        assert late.get("/readyz").status_code == 503
        assert late.get("/healthz").status_code == 200
        refused = late.post("/v1/check", json=FINE)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        late.close()
        gated.may.set()
        assert taken.result().json()["flagged"] is False


def test_requests_are_cancelled_after_the_grace_period(gated: GatedVerifier) -> None:
    settings = {"hallucination.backend.type": "fake", "server.shutdown_grace": 0}
    began = time.monotonic()
    with served(settings) as running, ThreadPoolExecutor(1) as pool:
        taken = pool.submit(running.client.post, "/v1/check", json=FINE)
        assert gated.asked.wait(10)
        running.server.drain()
        cut = taken.result()
    assert (cut.status_code, cut.headers["retry-after"]) == (503, "1")
    assert cut.json()["detail"] == "this server shut down before the request was done"
    assert time.monotonic() - began < 20


def test_sigterm_exits_with_success() -> None:
    with process("--backend", "fake") as (started, url):
        assert httpx.get(f"{url}/healthz", trust_env=False).status_code == 200
        started.terminate()
        assert started.wait(20) == 0
        assert started.stderr is not None
        assert started.stderr.read() == ""
