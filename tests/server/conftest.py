"""A server for all tests of a file that only ask: fake verifier, a store of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.serving import Served, served


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The fake verifier says yes to what stands in the context word for word."""
    folder = tmp_path_factory.mktemp("served")
    settings = {
        "hallucination.backend.type": "fake",
        "store.url": str(folder / "store.db"),
        "store.cache_path": "",
        "rag.path": str(folder / "rag.db"),
        "server.max_body_bytes": 200_000,
        "openai.base_url": "http://127.0.0.1:9/v1",  # nobody: a test asks nothing beyond this machine
        "openai.api_key": "none",
        "limits.retries": 0,
        "realtime.max_tokens": 16,  # a real model may be asked, and shall not write for long
    }
    with served(settings) as running:
        yield running


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a short body timeout."""
    folder = tmp_path_factory.mktemp("hasty")
    settings = {
        "hallucination.backend.type": "fake",
        "store.url": str(folder / "store.db"),
        "store.cache_path": "",
        "server.body_timeout": "400ms",
    }
    with served(settings) as running:
        yield running
