"""The caching verifier: what it asks, what it keeps, and what makes two queries the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.figures import figures as figures_of

from groundwire.errors import BackendDown
from groundwire.metrics import Metrics
from groundwire.stores.cache import CacheStore
from groundwire.types import Estimate, Query, Span
from groundwire.verifiers.cache import Cached, dump, load
from groundwire.verifiers.fake import FakeVerifier
from groundwire.verifiers.wrappers import query_keys

HOUR = 3600.0
A, B, C = Query("a", "context"), Query("b", "context"), Query("c", "context")


@pytest.fixture
def store(tmp_path: Path) -> CacheStore:
    return CacheStore(tmp_path / "cache.db")


@pytest.mark.spec("SPEC-08.30", "SPEC-16.32")
async def test_what_was_answered_is_not_asked_again(store: CacheStore) -> None:
    fake = FakeVerifier({"a": (0.9, 0.05)})
    cached = Cached(fake, store, "fake:1", HOUR)
    (first,) = await cached.estimate([A])
    (second,) = await cached.estimate([A])
    assert (first.cached, second.cached) == (False, True)
    assert replace(second, cached=False) == first
    assert len(fake.calls) == 1


async def test_only_what_is_missing_is_asked_in_one_call_and_each_query_once(store: CacheStore) -> None:
    fake = FakeVerifier({"a": (0.1, 0.0), "b": (0.2, 0.0), "c": (0.3, 0.0)})
    cached = Cached(fake, store, "fake:1", HOUR)
    await cached.estimate([B])
    estimates = await cached.estimate([C, A, B, A, C])
    assert [e.p_yes for e in estimates] == [0.3, 0.1, 0.2, 0.1, 0.3]
    assert fake.calls == [(B,), (C, A)]


@pytest.mark.spec("SPEC-08.30")
async def test_it_survives_a_restart(tmp_path: Path) -> None:
    for asked in (1, 0):
        fake = FakeVerifier()
        store = CacheStore(tmp_path / "cache.db")
        await Cached(fake, store, "fake:1", HOUR).estimate([A])
        assert len(fake.calls) == asked


@pytest.mark.spec("SPEC-08.30")
async def test_answers_expire(tmp_path: Path) -> None:
    now = [1000.0]
    store = CacheStore(tmp_path / "cache.db", clock=lambda: now[0])
    fake = FakeVerifier()
    for moment, asked in ((1000.0, 1), (1059.0, 1), (1061.0, 2)):
        now[0] = moment
        await Cached(fake, store, "fake:1", ttl=60).estimate([A])
        assert len(fake.calls) == asked


async def test_failures_are_never_kept(store: CacheStore) -> None:
    fake = FakeVerifier({"a": (0.9, 0.0), "b": Estimate.failed("timeout: slow")})
    cached = Cached(fake, store, "fake:1", HOUR)
    await cached.estimate([A, B])
    await cached.estimate([A, B])
    assert fake.calls[1] == (B,)


async def test_what_is_known_survives_a_backend_that_is_gone(store: CacheStore) -> None:
    cached = Cached(FakeVerifier(failing=[None, BackendDown("gone")]), store, "fake:1", HOUR)
    await cached.estimate([A])
    known, asked = await cached.estimate([A, B])
    assert (known.error, asked.error) == (None, "error: gone")


async def test_another_verifier_or_prompt_version_does_not_share_answers(store: CacheStore) -> None:
    fake = FakeVerifier()
    for identity in ("fake:1", "fake:2"):
        await Cached(fake, store, identity, HOUR).estimate([A])
    assert len(fake.calls) == 2


@settings(max_examples=60)
@given(st.lists(st.tuples(st.text(), st.text(), st.text(), st.text()), min_size=2, max_size=6, unique=True))
def test_different_queries_never_share_a_key(parts: list[tuple[str, str, str, str]]) -> None:
    keys = [query_keys([Query(*rest)], identity)[0] for identity, *rest in parts]
    assert len(set(keys)) == len(parts)


def test_fields_cannot_run_into_each_other() -> None:
    queries = [Query("ab", "c"), Query("a", "bc"), Query("", "abc"), Query("abc", ""), Query("a", "b", "c")]
    assert len(set(query_keys(queries))) == len(queries)


def test_an_estimate_is_stored_whole() -> None:
    estimate = Estimate(0.5, 0.25, 0.25, 0.4, 0.6, "x", 'odd "\ud800\x00', (Span(1, 2, 0.5),), speaks=True)
    assert load(dump(estimate)) == replace(estimate, cached=True)


@pytest.mark.parametrize("stored", ["", "{", "[]", "null", "{}", '{"spans": [], "p_yes": 1}', '{"spans": [3]}'])
def test_an_entry_that_cannot_be_read_is_a_miss(stored: str) -> None:
    assert load(stored) is None


@pytest.mark.spec("SPEC-08.40")
async def test_hits_and_misses_are_counted(store: CacheStore) -> None:
    metrics = Metrics()
    cached = Cached(FakeVerifier(), store, "fake:1", HOUR, metrics=metrics)
    await cached.estimate([A, B, A])
    await cached.estimate([A])
    figures = figures_of(metrics)
    assert (figures.cache_hits, figures.cache_misses, figures.cache_hit_rate) == (2, 2, 0.5)
