"""What every test shares: nothing of the user's machine, nothing of the environment."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.loopback import loopback, smollm
from tests.postgres import bare_url, postgres, sqlite_template, store_url
from tests.serving import server

# The same examples in every run, and no clock: a busy machine fails nothing.
settings.register_profile("suite", derandomize=True, deadline=None)
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("GROUNDWIRE_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GROUNDWIRE_STORE__CACHE_PATH", str(tmp_path / "cache.db"))
    monkeypatch.setenv("GROUNDWIRE_STORE__URL", str(tmp_path / "store.db"))
    monkeypatch.setenv("GROUNDWIRE_RAG__PATH", str(tmp_path / "rag.db"))


@pytest.fixture(autouse=True)
def _clean_logging() -> Iterator[None]:
    """What a command set up for its own process must not silence the next test."""
    logger = logging.getLogger("groundwire")
    level, handlers, propagate = logger.level, list(logger.handlers), logger.propagate
    yield
    logger.setLevel(level)
    logger.handlers[:] = handlers
    logger.propagate = propagate


__all__ = [
    "bare_url",
    "loopback",
    "postgres",
    "server",
    "smollm",
    "sqlite_template",
    "store_url",
]  # fixtures for every folder below
