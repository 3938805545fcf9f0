"""A store, and engines whose backend does as it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.metrics import Metrics
from groundwire.stores.database import Database, open_database
from groundwire.types import Verifier
from groundwire.verifiers import backends

Engine = Callable[..., Groundwire]


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    found = open_database(store_url)
    yield found
    found.close()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """`engine(verifier, **memory_gate_settings)`, with metrics of its own."""

    def make(verifier: Verifier, *, on: bool = True, **gate: object) -> Groundwire:
        raw = backends.BackendSpec(verifier, "fake", "fake", 10_000, 2.0)
        monkeypatch.setitem(backends.OPENERS, "fake", lambda _: raw)
        settings = {"enabled": on, "backend": {"type": "fake"}, "memory_gate": {"enabled": on, **gate}}
        config = Config.model_validate({"hallucination": settings})
        return Groundwire(config, operation="memory_gate", metrics=Metrics())

    return make
