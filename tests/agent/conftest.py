"""An engine that believes what stands word for word in its sources: quick, and never in doubt."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from groundwire.config import Config
from groundwire.engine import Groundwire

Engines = Callable[..., Groundwire]


@pytest.fixture
async def engines() -> AsyncIterator[Engines]:
    """`engines(**{"verification.mode": "full"})` opens one on the fake backend; all are closed at the end."""
    opened: list[Groundwire] = []

    def open_engine(**settings: object) -> Groundwire:
        opened.append(Groundwire(Config.load(None, {"hallucination.backend.type": "fake", **settings})))
        return opened[-1]

    yield open_engine
    for engine in opened:
        await engine.aclose()


@pytest.fixture
def engine(engines: Engines) -> Groundwire:
    return engines()
