"""One proxy in front of two scripted upstreams, for all tests of the proxy."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest
from tests.proxy.scripted import ScriptedUpstream, scripted
from tests.serving import Served, served


@pytest.fixture(scope="session")
def _upstreams() -> Iterator[tuple[ScriptedUpstream, ScriptedUpstream]]:
    with scripted() as first, scripted() as second:
        yield first, second


@pytest.fixture(scope="session")
def _proxy(
    _upstreams: tuple[ScriptedUpstream, ScriptedUpstream], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    first, second = _upstreams
    folder = tmp_path_factory.mktemp("proxy")
    settings = {
        "proxy.upstreams": {"local": first.url, "cloud": second.url},
        "proxy.report_timeout": 30.0,  # a busy machine is no reason to fail
        "proxy.read_timeout": 20.0,
        "store.url": str(folder / "store.db"),
        "store.cache_path": str(folder / "cache.db"),
    }
    with served(settings) as running:
        yield running


@pytest.fixture
def upstream(_upstreams: tuple[ScriptedUpstream, ScriptedUpstream]) -> ScriptedUpstream:
    _upstreams[0].forget()
    return _upstreams[0]


@pytest.fixture
def cloud(_upstreams: tuple[ScriptedUpstream, ScriptedUpstream]) -> ScriptedUpstream:
    _upstreams[1].forget()
    return _upstreams[1]


@pytest.fixture
def proxy(_proxy: Served, upstream: ScriptedUpstream, cloud: ScriptedUpstream) -> Served:
    return _proxy


@pytest.fixture
def sdk(proxy: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="sk-caller", max_retries=0, timeout=60) as client:
        yield client
