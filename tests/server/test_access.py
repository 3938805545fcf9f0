"""Who gets in: keys, scopes, rates, and on loopback only this machine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.serving import Served, served

from groundwire.config import Config
from groundwire.config.service import ServerConfig
from groundwire.errors import StoreError
from groundwire.server.app import create_app
from groundwire.server.middleware.auth import PATHS, Buckets, Guard, Keyring, is_loopback
from groundwire.stores.keys import SCOPES, ApiKey, Keys, digest_of

FINE = {"response": "It has 40 employees.", "context": "It has 40 employees."}


@dataclass(frozen=True)
class Locked:
    server: Served
    keys: Keys

    def ask(self, token: str, header: str = "authorization") -> int:
        value = f"Bearer {token}" if header == "authorization" else token
        return self.server.client.post("/v1/check", json=FINE, headers={header: value}).status_code


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locked]:
    folder = tmp_path_factory.mktemp("locked")
    settings = {
        "hallucination.backend.type": "fake",
        "server.auth": "always",
        "store.url": str(folder / "store.db"),
        "store.cache_path": "",
    }
    with served(settings) as running:
        yield Locked(running, Keys(running.service.database))


def test_without_a_key_nobody_gets_in(locked: Locked) -> None:
    answer = locked.server.client.post("/v1/check", json=FINE)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json()["type"] == "/docs#problem-no-key"
    assert locked.server.client.get("/healthz").status_code == 200
    assert locked.server.client.get("/docs").status_code == 200
    assert locked.server.client.get("/metrics").status_code == 401
    assert locked.server.client.get("/elsewhere").status_code == 401


@pytest.mark.parametrize("header", ["authorization", "x-groundwire-key", "x-api-key"])
def test_a_key_opens_what_its_scopes_name(locked: Locked, header: str) -> None:
    _, token = locked.keys.add(f"checker by {header}", ["check"])
    assert locked.ask(token, header) == 200
    answer = locked.server.client.post("/v1/facts", json={}, headers={"x-groundwire-key": token})
    assert (answer.status_code, "facts:write" in answer.json()["detail"]) == (403, True)


def test_to_be_held_against_what_is_known_takes_the_scope_to_read_it(locked: Locked) -> None:
    for name, scopes, status in (("a", ["check"], 403), ("b", ["check", "facts:read"], 200)):
        _, token = locked.keys.add(f"knower {name}", scopes)
        headers = {"x-groundwire-key": token}
        answer = locked.server.client.post("/v1/check", json={**FINE, "kb": True}, headers=headers)
        assert answer.status_code == status


def test_admin_opens_everything(locked: Locked) -> None:
    _, token = locked.keys.add("root", ["admin"])
    got = locked.server.client.get("/metrics", headers={"x-groundwire-key": token})
    assert got.status_code == 200


def test_a_revoked_key_opens_nothing(locked: Locked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.server.middleware.auth.FRESH", 0.0)
    _, token = locked.keys.add("leaver", ["check"])
    assert locked.ask(token) == 200
    locked.keys.revoke("leaver")
    assert locked.ask(token) == 401


@pytest.mark.parametrize(
    "change", [lambda t: t[:-1], lambda t: t[:-1] + "ü", lambda t: "gw_ffffffffffff_" + t]
)
def test_a_wrong_secret_opens_nothing(locked: Locked, change: object) -> None:
    known = [key for key in locked.keys.all() if key.name == "wrong"]
    token = f"gw_{known[0].id}_x" if known else locked.keys.add("wrong", ["check"])[1]
    headers = {b"authorization": b"Bearer " + change(token).encode("latin-1")}  # type: ignore[operator]
    answer = locked.server.client.post("/v1/check", json=FINE, headers=headers)
    assert answer.status_code == 401


def test_a_key_has_a_rate_of_its_own(locked: Locked) -> None:
    _, token = locked.keys.add("eager", ["check"], per_minute=2)
    assert [locked.ask(token) for _ in range(2)] == [200, 200]
    answer = locked.server.client.post("/v1/check", json=FINE, headers={"x-groundwire-key": token})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "30")
    assert answer.json()["retry_after"] == 30


def test_keys_are_no_part_of_the_log(locked: Locked, caplog: pytest.LogCaptureFixture) -> None:
    _, token = locked.keys.add("logged", ["check"])
    with caplog.at_level("INFO", "groundwire"):
        locked.ask(token)
        locked.server.client.get("/healthz")  # a line is written behind its answer
    assert '"caller": "logged"' in caplog.text
    assert token.split("_", 2)[2] not in caplog.text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "", "[::ffff:10.0.0.1]"])
def test_another_name_for_this_machine_is_refused(plain: Served, host: str) -> None:
    """DNS rebinding: a page's own name, made to point here."""
    answer = plain.client.post("/v1/check", json=FINE, headers={"host": host})
    assert (answer.status_code, answer.json()["type"]) == (403, "/docs#problem-forbidden")


@pytest.mark.parametrize("host", ["localhost:8321", "LOCALHOST", "[::1]:80", "127.0.0.1"])
def test_its_own_names_are_fine(plain: Served, host: str) -> None:
    assert plain.client.get("/readyz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1"])
def test_pages_of_other_sites_are_refused(plain: Served, origin: str) -> None:
    answer = plain.client.post("/v1/check", json=FINE, headers={"origin": origin})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_other_sites_may_link_here_but_not_load_from_here(plain: Served) -> None:
    """A picture or a script carries no origin, but browsers say where it is asked from."""
    across = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert plain.client.get("/v1/facts", headers=across).status_code == 403
    followed = {**across, "sec-fetch-mode": "navigate"}
    assert plain.client.get("/docs", headers=followed).status_code == 200


def test_its_own_page_may_ask(plain: Served) -> None:
    assert plain.client.post("/v1/check", json=FINE, headers={"origin": plain.url}).status_code == 200


def test_other_sites_may_ask_where_that_is_configured() -> None:
    site = "https://app.example"
    with served({"hallucination.backend.type": "fake", "server.cors_origins": [site]}) as running:
        asked = {"origin": site, "access-control-request-method": "POST"}
        preflight = running.client.options("/v1/check", headers=asked)
        assert preflight.headers["access-control-allow-origin"] == site
        answer = running.client.post("/v1/check", json=FINE, headers={"origin": site})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, site)
        other = running.client.post("/v1/check", json=FINE, headers={"origin": "https://evil.example"})
        assert other.status_code == 403


def test_what_comes_through_a_reverse_proxy_comes_from_elsewhere(plain: Served) -> None:
    for forwarded in ("203.0.113.5", "127.0.0.1, 203.0.113.5"):
        answer = plain.client.get("/readyz", headers={"x-forwarded-for": forwarded})
        assert answer.status_code == 403


async def test_without_keys_only_this_machine_may_ask() -> None:
    """Whoever runs the application under a server of his own may bind it elsewhere."""

    async def nothing(*_: object) -> None:
        raise AssertionError

    sent: list[dict[str, object]] = []

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    guard = Guard(nothing, ServerConfig(), None, Buckets())
    scope = {
        "type": "http", "method": "GET", "path": "/v1/kb", "client": ("10.0.0.7", 1),
        "headers": [(b"host", b"localhost")],
    }  # fmt: skip
    await guard(scope, nothing, send)  # type: ignore[arg-type]
    assert sent[0]["status"] == 403


def test_every_path_has_a_scope_that_keys_can_have() -> None:
    assert {scope for _, _, scope in PATHS} <= {*SCOPES, "public"}


def test_every_operation_has_its_line_in_the_table() -> None:
    """What is nobody's would take `admin`: safe, and a surprise."""
    prefixes = [prefix for prefix, _, _ in PATHS if prefix != "/v1"]
    for path in create_app(Config.load()).openapi()["paths"]:
        assert any(path == prefix or path.startswith(f"{prefix}/") for prefix in prefixes), path


@pytest.mark.parametrize(("host", "is_own"), [("::ffff:127.0.0.1", True), ("0.0.0.0", False), ("::", False)])
def test_loopback(host: str, is_own: bool) -> None:
    assert is_loopback(host) is is_own


async def test_a_bucket_refills_steadily() -> None:
    now = 0.0
    buckets = Buckets(lambda: now)
    assert [await buckets.take("a", 2) for _ in range(3)] == [0.0, 0.0, 30.0]
    assert await buckets.take("b", 2) == 0.0
    now = 29.0
    assert await buckets.take("a", 2) == pytest.approx(1.0)
    now = 30.0
    assert await buckets.take("a", 2) == 0.0
    now = 1e6
    assert [await buckets.take("a", 2) for _ in range(3)] == [0.0, 0.0, 30.0]


async def test_a_flood_of_unknown_keys_does_not_reach_the_store() -> None:
    reads = 0

    def read() -> dict[str, ApiKey]:
        nonlocal reads
        reads += 1
        return {}

    ring = Keyring(read)
    found = await asyncio.gather(*(ring.holder(f"gw_{n:012x}_secret") for n in range(500)))
    assert set(found) == {None}
    assert reads <= 2
    assert await ring.holder("sk-someone-elses") is None


async def test_keys_outlive_a_store_that_is_away_for_a_while() -> None:
    now, broken = 0.0, False

    def read() -> dict[str, ApiKey]:
        if broken:
            raise StoreError("gone")
        return {"a1": ApiKey("a1", "ann", digest_of("s"), frozenset({"check"}))}

    ring = Keyring(read, clock=lambda: now)
    assert await ring.holder("gw_a1_s")
    now, broken = 200.0, True
    assert await ring.holder("gw_a1_s")
    now = 400.0
    with pytest.raises(StoreError):
        await ring.holder("gw_a1_s")
    broken = False
    now = 406.0
    assert await ring.holder("gw_a1_s")


async def test_a_store_that_says_nothing_holds_nobody_up_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.server.middleware.auth.PATIENCE", 0.05)
    released, reads = threading.Event(), 0

    def read() -> dict[str, ApiKey]:
        nonlocal reads
        reads += 1
        released.wait(20)
        return {}

    ring = Keyring(read)
    try:
        for _ in range(3):
            with pytest.raises(StoreError):
                await ring.holder("gw_a1_s")
    finally:
        released.set()
    assert reads == 1
