"""API keys, scopes, rate limits, and the rules for a server without keys."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.serving import Served, served

from groundwire.config import Config, ServerConfig
from groundwire.errors import StoreError
from groundwire.server.app import create_app
from groundwire.server.auth import PATHS, AuthMiddleware, KeyCache, RateLimiter, is_loopback
from groundwire.stores.keys import SCOPES, ApiKey, KeyStore, hash_secret

FINE = {"response": "It has 40 employees.", "context": "It has 40 employees."}


@dataclass(frozen=True)
class KeyedServer:
    server: Served
    keys: KeyStore

    def ask(self, token: str, header: str = "authorization") -> int:
        value = f"Bearer {token}" if header == "authorization" else token
        return self.server.client.post("/v1/check", json=FINE, headers={header: value}).status_code


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyedServer]:
    folder = tmp_path_factory.mktemp("locked")
    settings = {
        "hallucination.backend.type": "fake",
        "server.auth": "always",
        "store.url": str(folder / "store.db"),
        "store.cache_path": "",
    }
    with served(settings) as running:
        yield KeyedServer(running, KeyStore(running.service.database))


def test_requests_without_a_key_are_rejected(locked: KeyedServer) -> None:
    answer = locked.server.client.post("/v1/check", json=FINE)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json()["type"] == "/docs#problem-no-key"
    assert locked.server.client.get("/healthz").status_code == 200
    assert locked.server.client.get("/docs").status_code == 200
    assert locked.server.client.get("/metrics").status_code == 401
    assert locked.server.client.get("/elsewhere").status_code == 401


@pytest.mark.parametrize("header", ["authorization", "x-groundwire-key", "x-api-key"])
def test_a_key_grants_its_scopes(locked: KeyedServer, header: str) -> None:
    _, token = locked.keys.add(f"checker by {header}", ["check"])
    assert locked.ask(token, header) == 200
    answer = locked.server.client.post("/v1/facts", json={}, headers={"x-groundwire-key": token})
    assert (answer.status_code, "facts:write" in answer.json()["detail"]) == (403, True)


def test_using_the_knowledge_base_requires_facts_read(locked: KeyedServer) -> None:
    for name, scopes, status in (("a", ["check"], 403), ("b", ["check", "facts:read"], 200)):
        _, token = locked.keys.add(f"knower {name}", scopes)
        headers = {"x-groundwire-key": token}
        answer = locked.server.client.post("/v1/check", json={**FINE, "kb": True}, headers=headers)
        assert answer.status_code == status


def test_admin_grants_everything(locked: KeyedServer) -> None:
    _, token = locked.keys.add("root", ["admin"])
    got = locked.server.client.get("/metrics", headers={"x-groundwire-key": token})
    assert got.status_code == 200


def test_a_revoked_key_is_rejected(locked: KeyedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.server.auth.REFRESH_SECONDS", 0.0)
    _, token = locked.keys.add("leaver", ["check"])
    assert locked.ask(token) == 200
    locked.keys.revoke("leaver")
    assert locked.ask(token) == 401


@pytest.mark.parametrize("change", [lambda t: t[:-1], lambda t: t[:-1] + "ü", lambda t: "gw_ffffffffffff_" + t])
def test_a_wrong_secret_is_rejected(locked: KeyedServer, change: object) -> None:
    known = [key for key in locked.keys.all() if key.name == "wrong"]
    token = f"gw_{known[0].id}_x" if known else locked.keys.add("wrong", ["check"])[1]
    headers = {b"authorization": b"Bearer " + change(token).encode("latin-1")}  # type: ignore[operator]
    answer = locked.server.client.post("/v1/check", json=FINE, headers=headers)
    assert answer.status_code == 401


def test_a_key_has_its_own_rate_limit(locked: KeyedServer) -> None:
    _, token = locked.keys.add("eager", ["check"], per_minute=2)
    assert [locked.ask(token) for _ in range(2)] == [200, 200]
    answer = locked.server.client.post("/v1/check", json=FINE, headers={"x-groundwire-key": token})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "30")
    assert answer.json()["retry_after"] == 30


def test_secrets_are_not_logged(locked: KeyedServer, caplog: pytest.LogCaptureFixture) -> None:
    _, token = locked.keys.add("logged", ["check"])
    with caplog.at_level("INFO", "groundwire"):
        locked.ask(token)
        locked.server.client.get("/healthz")  # a line is written behind its answer
    assert '"caller": "logged"' in caplog.text
    assert token.split("_", 2)[2] not in caplog.text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "", "[::ffff:10.0.0.1]"])
def test_unknown_host_names_are_rejected(plain: Served, host: str) -> None:
    """DNS rebinding: a page's own name, made to point here."""
    answer = plain.client.post("/v1/check", json=FINE, headers={"host": host})
    assert (answer.status_code, answer.json()["type"]) == (403, "/docs#problem-forbidden")


@pytest.mark.parametrize("host", ["localhost:8321", "LOCALHOST", "[::1]:80", "127.0.0.1"])
def test_loopback_names_are_accepted(plain: Served, host: str) -> None:
    assert plain.client.get("/readyz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1"])
def test_cross_site_requests_are_rejected(plain: Served, origin: str) -> None:
    answer = plain.client.post("/v1/check", json=FINE, headers={"origin": origin})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_cross_site_links_work_but_embedding_does_not(plain: Served) -> None:
    """Images and scripts carry no Origin header, but browsers send Sec-Fetch-Site."""
    across = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert plain.client.get("/v1/facts", headers=across).status_code == 403
    followed = {**across, "sec-fetch-mode": "navigate"}
    assert plain.client.get("/docs", headers=followed).status_code == 200


def test_same_origin_requests_are_accepted(plain: Served) -> None:
    assert plain.client.post("/v1/check", json=FINE, headers={"origin": plain.url}).status_code == 200


def test_configured_cors_origins_are_accepted() -> None:
    site = "https://app.example"
    with served({"hallucination.backend.type": "fake", "server.cors_origins": [site]}) as running:
        asked = {"origin": site, "access-control-request-method": "POST"}
        preflight = running.client.options("/v1/check", headers=asked)
        assert preflight.headers["access-control-allow-origin"] == site
        answer = running.client.post("/v1/check", json=FINE, headers={"origin": site})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, site)
        other = running.client.post("/v1/check", json=FINE, headers={"origin": "https://evil.example"})
        assert other.status_code == 403


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-forwarded-for", "203.0.113.5"),
        ("x-forwarded-for", "127.0.0.1, 203.0.113.5"),
        ("x-forwarded-for", "127.0.0.1"),
        ("x-forwarded-host", "example.org"),
        ("forwarded", "for=203.0.113.5;proto=https"),
        ("via", "1.1 caddy"),
        ("x-real-ip", "203.0.113.5"),
        ("x-forwarded-prefix", "/gw"),
        ("x-forwarded-uri", "/"),
        ("forwarded-for", "203.0.113.5"),
        ("cf-connecting-ip", ""),
        ("cf-ray", "1"),
        ("x-amzn-trace-id", "Root=1-2"),
        ("cdn-loop", "cloudflare"),
        ("client-ip", "203.0.113.5"),
        ("wl-proxy-client-ip", "203.0.113.5"),
        ("x-remote-addr", "203.0.113.5"),
        ("x-arr-log-id", "1"),
        ("x-varnish", "32770"),
        ("proxy-connection", "keep-alive"),
        ("x_forwarded_for", "203.0.113.5"),
        ("x-true-client-ip", "203.0.113.5"),
        ("x-cloud-trace-context", "105445aa7843bc8bf206b12000100000/1"),
        ("x-ssl-client-verify", "SUCCESS"),
        ("x-rewrite-url", "/v1/kb"),
    ],
)
def test_requests_through_a_proxy_are_rejected_without_keys(plain: Served, name: str, value: str) -> None:
    answer = plain.client.get("/v1/kb", headers={name: value})
    assert answer.status_code == 403
    assert "without API keys" in answer.json()["detail"]


def test_requests_as_nginx_sends_them_are_rejected_without_keys(plain: Served) -> None:
    """Where its configuration only says `proxy_pass`: the Host header is ours, and no other one is added."""
    host = plain.url.removeprefix("http://")
    name, _, port = host.partition(":")
    with socket.create_connection((name, int(port)), timeout=30) as client:
        client.sendall(f"GET /v1/kb HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        answer = client.makefile("rb").read()
    assert answer.split()[1] == b"403"
    assert b"HTTP/1.0" in answer


def test_requests_through_a_proxy_are_accepted_with_a_key(locked: KeyedServer) -> None:
    _, token = locked.keys.add("behind a proxy", ["check"])
    headers = {"x-groundwire-key": token, "via": "1.1 caddy", "x-real-ip": "203.0.113.5"}
    assert locked.server.client.post("/v1/check", json=FINE, headers=headers).status_code == 200


async def test_without_keys_remote_clients_are_rejected() -> None:
    """The application may run under another ASGI server, bound to any address."""

    async def nothing(*_: object) -> None:
        raise AssertionError

    sent: list[dict[str, object]] = []

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    guard = AuthMiddleware(nothing, ServerConfig(), None, RateLimiter())
    scope = {
        "type": "http", "method": "GET", "path": "/v1/kb", "client": ("10.0.0.7", 1),
        "headers": [(b"host", b"localhost")],
    }  # fmt: skip
    await guard(scope, nothing, send)  # type: ignore[arg-type]
    assert sent[0]["status"] == 403


def test_every_scope_in_the_path_table_can_be_granted() -> None:
    assert {scope for _, _, scope in PATHS} <= {*SCOPES, "public"}


def test_every_operation_is_in_the_path_table() -> None:
    """Unlisted paths would require `admin`."""
    prefixes = [prefix for prefix, _, _ in PATHS if prefix != "/v1"]
    for path in create_app(Config.load()).openapi()["paths"]:
        assert any(path == prefix or path.startswith(f"{prefix}/") for prefix in prefixes), path


@pytest.mark.parametrize(("host", "is_own"), [("::ffff:127.0.0.1", True), ("0.0.0.0", False), ("::", False)])
def test_loopback(host: str, is_own: bool) -> None:
    assert is_loopback(host) is is_own


async def test_a_token_bucket_refills_steadily() -> None:
    now = 0.0
    buckets = RateLimiter(lambda: now)
    assert [await buckets.take("a", 2) for _ in range(3)] == [0.0, 0.0, 30.0]
    assert await buckets.take("b", 2) == 0.0
    now = 29.0
    assert await buckets.take("a", 2) == pytest.approx(1.0)
    now = 30.0
    assert await buckets.take("a", 2) == 0.0
    now = 1e6
    assert [await buckets.take("a", 2) for _ in range(3)] == [0.0, 0.0, 30.0]


async def test_a_flood_of_unknown_keys_causes_few_reads() -> None:
    reads = 0

    def read() -> dict[str, ApiKey]:
        nonlocal reads
        reads += 1
        return {}

    ring = KeyCache(read)
    found = await asyncio.gather(*(ring.find(f"gw_{n:012x}_secret") for n in range(500)))
    assert set(found) == {None}
    assert reads <= 2
    assert await ring.find("sk-someone-elses") is None


async def test_cached_keys_stay_valid_while_the_store_is_down() -> None:
    now, broken = 0.0, False

    def read() -> dict[str, ApiKey]:
        if broken:
            raise StoreError("gone")
        return {"a1": ApiKey("a1", "ann", hash_secret("s"), frozenset({"check"}))}

    ring = KeyCache(read, clock=lambda: now)
    assert await ring.find("gw_a1_s")
    now, broken = 200.0, True
    assert await ring.find("gw_a1_s")
    now = 400.0
    with pytest.raises(StoreError):
        await ring.find("gw_a1_s")
    broken = False
    now = 406.0
    assert await ring.find("gw_a1_s")


async def test_a_store_that_hangs_is_read_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.server.auth.READ_TIMEOUT", 0.05)
    released, reads = threading.Event(), 0

    def read() -> dict[str, ApiKey]:
        nonlocal reads
        reads += 1
        released.wait(20)
        return {}

    ring = KeyCache(read)
    try:
        for _ in range(3):
            with pytest.raises(StoreError):
                await ring.find("gw_a1_s")
    finally:
        released.set()
    assert reads == 1
