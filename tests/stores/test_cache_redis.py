"""What replicas share through a real Redis, and that they do without it where it is gone."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from tests.loopback import Loopback, Reply, do_without
from tests.redis_server import RedisServer, running
from tests.serving import served

from groundwire.config import Config
from groundwire.errors import ConfigError, MissingExtra
from groundwire.server.auth import RateLimiter, rate_limiter
from groundwire.stores.cache import CacheStore, LayeredCache, RedisCache
from groundwire.stores.database import open_database
from groundwire.stores.keys import KeyStore
from groundwire.types import Query
from groundwire.verifiers.backends import open_backend

GONE = "redis://127.0.0.1:9/0"
ASKED = [Query("It is red.", "It is."), Query("It is blue.", "It is.")]


@pytest.fixture(autouse=True)
def _extra() -> None:
    try:
        RedisCache(GONE).close()
    except MissingExtra as missing:
        do_without(missing)


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with running(tmp_path) as server:
        yield server


@pytest.fixture
def shared(redis: RedisServer) -> Iterator[RedisCache]:
    opened = RedisCache(redis.url)
    yield opened
    opened.close()


class TestCache:
    def test_what_one_replica_wrote_another_reads(self, redis: RedisServer, shared: RedisCache) -> None:
        other = RedisCache(redis.url)
        shared.put({"a": "1", "b": "2"}, 60)
        assert other.get(["b", "c", "a"], 60) == {"a": "1", "b": "2"}
        assert other.get([], 60) == {}
        other.close()

    def test_nothing_is_kept_for_longer_than_it_may(self, redis: RedisServer, shared: RedisCache) -> None:
        shared.put({"short": "1"}, 40)
        shared.put({"never": "1"}, 0)
        with Redis.from_url(redis.url) as plain:
            assert 0 < plain.pttl("groundwire:estimate:short") <= 40_000
        assert shared.get(["short", "never"], 60) == {"short": "1"}

    def test_the_machines_own_cache_is_asked_first(self, shared: RedisCache, tmp_path: Path) -> None:
        near = CacheStore(tmp_path / "near.db")
        layered = LayeredCache(near, shared)
        shared.put({"a": "far", "b": "far"}, 60)
        near.put({"a": "near"}, 60)
        assert layered.get(["a", "b"], 60) == {"a": "near", "b": "far"}
        layered.put({"c": "new"}, 60)
        assert (near.get(["c"], 60), shared.get(["c"], 60)) == ({"c": "new"}, {"c": "new"})
        asyncio.run(layered.aclose())

    def test_replicas_ask_a_paid_backend_once(self, redis: RedisServer, tmp_path: Path, loopback: Loopback) -> None:
        """Two processes' worth of backends, each with a cache of its own and one Redis between them."""
        loopback.script(lambda request: Reply({"probabilities": [0.9] * len(request.body["claims"])}))

        async def estimates(name: str) -> list[float]:
            config = Config.load(
                overrides={
                    "redis.url": redis.url,
                    "store.cache_path": str(tmp_path / name),
                    "external.url": loopback.url,
                }
            )
            backend = open_backend(config, name="external")
            try:
                return [estimate.p_yes for estimate in await backend.verifier.estimate(ASKED)]
            finally:
                await backend.aclose()

        assert asyncio.run(estimates("one.db")) == asyncio.run(estimates("two.db")) == [0.9, 0.9]
        assert len(loopback.requests) == 1


class TestLimits:
    def test_replicas_count_together(self, redis: RedisServer, shared: RedisCache) -> None:
        other = RedisCache(redis.url)
        takers = [shared, other] * 3
        waits = [taker.take("key", 4) for taker in takers]
        assert waits[:4] == [0.0] * 4
        assert all(wait is not None and 0 < wait <= 15 for wait in waits[4:])
        assert other.take("another key", 4) == 0.0
        other.close()

    def test_a_bucket_fills_again(self, shared: RedisCache) -> None:
        assert [shared.take("key", 60_000) for _ in range(50)] == [0.0] * 50

    async def test_two_servers_share_the_limit_of_a_key(self, redis: RedisServer, tmp_path: Path) -> None:
        store = str(tmp_path / "keys.db")
        with_store = open_database(store, create=True)
        _, token = KeyStore(with_store).add("ci", ["check"], per_minute=2)
        with_store.close()
        settings = {
            "hallucination.backend.type": "fake",
            "server.auth": "always",
            "store.url": store,
            "redis.url": redis.url,
        }
        body = {"response": "It is red.", "context": "It is red."}
        head = {"authorization": f"Bearer {token}"}
        with served(settings) as one, served(settings) as two:
            statuses = [
                server.client.post("/v1/check", json=body, headers=head).status_code for server in (one, two, one, two)
            ]
        assert statuses == [200, 200, 429, 429]


class TestWithoutRedis:
    def test_one_warning_and_each_goes_on_by_itself(self, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
        now = 1.0
        shared = RedisCache(GONE, clock=lambda: now)
        layered = LayeredCache(CacheStore(tmp_path / "near.db"), shared)
        with caplog.at_level(logging.WARNING):
            layered.put({"a": "1"}, 60)
            now += 100
            assert layered.get(["a", "b"], 60) == {"a": "1"}
            assert shared.take("key", 5) is None
        assert [record.message.partition(" (")[0] for record in caplog.records] == ["Redis is unavailable"]
        assert "127.0.0.1" not in caplog.text
        asyncio.run(layered.aclose())

    async def test_limits_are_counted_here(self) -> None:
        limiter = RateLimiter(redis=RedisCache(GONE))
        assert [await limiter.take("key", 2) == 0.0 for _ in range(3)] == [True, True, False]

    def test_it_is_noticed_when_redis_goes_and_comes(
        self, redis: RedisServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        now = 1.0
        shared = RedisCache(redis.url, clock=lambda: now)
        shared.put({"a": "1"}, 60)
        redis.stop()
        with caplog.at_level(logging.WARNING):
            assert shared.get(["a"], 60) == {}
            redis.start()
            assert shared.take("key", 5) is None  # not asked again so soon
            now += 20
            assert shared.take("key", 5) == 0.0
        assert [record.message.partition(" (")[0] for record in caplog.records] == [
            "Redis is unavailable",
            "Redis is available again",
        ]
        shared.close()

    def test_an_address_that_is_none_is_a_mistake_in_the_configuration(self) -> None:
        with pytest.raises(ConfigError, match=r"redis\.url"):
            RedisCache("http://here")

    async def test_without_an_address_nothing_of_it_is_loaded(self) -> None:
        assert rate_limiter(Config())._redis is None
        code = (
            "import sys; sys.modules['redis'] = None; import groundwire; groundwire.check('It is red.', 'It is red.')"
        )
        await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code], check=True)
