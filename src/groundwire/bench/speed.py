"""`groundwire bench speed`: start-up time, latency, throughput and memory on this machine."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from rich.console import Console

from groundwire.bench.measures import Figure, load_sets, show
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendError, MissingExtra
from groundwire.llm import open_generator
from groundwire.llm.base import Completion, Generator, Message
from groundwire.metrics import Metrics
from groundwire.pipeline import CheckContext, check
from groundwire.stores.cache import CacheStore
from groundwire.types import Case, Query, Source
from groundwire.verdicts.judge import profile_for
from groundwire.verifiers.backends import CONTEXT_TOKENS, LLM_THRESHOLD_BITS, Backend, wrap_backend
from groundwire.verifiers.cache import Cached
from groundwire.verifiers.local import LocalVerifier
from groundwire.verifiers.local.network import Network
from groundwire.verifiers.logprob import LogprobOrSampling

ROUNDS = 50  # repetitions, of which the median and the 99th percentile are reported
WORDS = 200  # of the context of one claim: a passage as retrievers return it
MEGABYTE_WORDS = 170_000  # words of a megabyte of English prose
CLAIMS = 64  # of a long answer
LLM_CLAIMS = 4  # few: every claim costs calls
TURNS = 7  # repetitions of the long answer, of which the median is reported
RESPONSES = 60  # of RAGTruth, for the time of real answers


def run_speed(console: Console, *, as_json: bool, llm: bool, data: Path | None = None) -> int:
    return show(console, list(measure(llm=llm, data=data)), as_json=as_json)


def measure(*, llm: bool, data: Path | None = None) -> Iterator[Figure]:
    yield from _starts()
    yield from asyncio.run(_embedded())
    yield from _throughput()
    if data is not None:
        yield from _responses(data)
    yield from asyncio.run(_cache())
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield Figure("resident memory", resident, "MB", "≤ 400")
    if llm:
        yield from asyncio.run(_llm())


def _starts() -> Iterator[Figure]:
    """Start-up times: the median of several fresh processes."""
    empty = _wall("pass")
    yield Figure("import groundwire", max(0.0, _wall("import groundwire") - empty), "s", "≤ 0.15")
    argv = ["groundwire", "check", "It is 3 m tall.", "-s", "It is 3 m tall.", "--json"]
    cold = f"import sys; sys.argv = {argv}; from groundwire.cli.main import main; main()"
    yield Figure("cold check", _wall(cold), "s", "≤ 2")


def _wall(code: str, times: int = 5) -> float:
    def once() -> float:
        began = perf_counter()
        done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
        if done.returncode not in (0, 1):  # flagged or not, it was checked
            raise BackendError(f"a check to be timed failed: {done.stderr.decode(errors='replace')[-200:]}")
        return perf_counter() - began

    return median(once() for _ in range(times))


def prose(words: int, seed: int = 0) -> str:
    """Deterministic prose of the given number of words."""
    return " ".join(" ".join(fact(n) for n in range(seed, seed + words)).split()[:words])


def fact(n: int) -> str:
    return f"Plant {n} in sector {n * 7 % 90} produced {n * 37 % 911} tonnes of steel in {1950 + n % 70}."


async def _embedded() -> list[Figure]:
    async with Groundwire(Config(), backend="local") as engine:
        context = prose(WORDS)
        claim = fact(3)
        await engine.verify_claim(claim, context)
        busy = process_time()
        times = sorted([await _timed(lambda: engine.verify_claim(claim, context)) for _ in range(ROUNDS)])
        busy = (process_time() - busy) / ROUNDS
        many = " ".join(fact(n) for n in range(CLAIMS))
        whole = await _timed(lambda: engine.check(many, context))
        long = await _timed(lambda: engine.check(claim, prose(MEGABYTE_WORDS)))
    return [
        Figure("one claim against 200 words, p50", 1000 * median(times), "ms", "≤ 50"),
        Figure("one claim against 200 words, p99", 1000 * times[int(0.99 * len(times))], "ms", "≤ 500"),
        Figure("one claim against 200 words, processor time", 1000 * busy, "ms"),
        Figure(f"{CLAIMS} claims over one context", whole, "s", f"≤ {0.5 + CLAIMS * 0.1:.1f} (0.5 + {CLAIMS} × 0.1)"),
        Figure("claims a second", CLAIMS / whole, "1/s"),
        Figure("one claim against 1 MB of sources", long, "s"),
    ]


def _throughput() -> Iterator[Figure]:
    """Throughput of the verifier as a share of that of the bare network.

    Both read the same tokens in alternation, so that other load on the machine affects both. The bare network
    runs in its fastest mode here, one pair per thread. The share by processor time excludes other load.
    """
    verifier = LocalVerifier()
    context = prose(WORDS)
    queries = [Query(fact(n), context) for n in range(CLAIMS)]
    asyncio.run(verifier.estimate(queries))
    raw = RawRuns(verifier.network())
    asyncio.run(verifier.estimate(queries))
    raw.stop()
    shares, busy = [], []
    for _ in range(TURNS):
        begun = process_time()
        whole = asyncio.run(_timed(lambda: verifier.estimate(queries)))
        done = process_time()
        shares.append(raw.seconds() / whole)
        busy.append((process_time() - done) / (done - begun))
    name = f"{CLAIMS} claims, share of bare onnxruntime's throughput"
    yield Figure(name, 100 * median(shares), "%", "≥ 85")
    yield Figure(f"{name}, by processor time", 100 * median(busy), "%")


def _responses(data: Path) -> Iterator[Figure]:
    """Time whole RAGTruth answers. Processor time does not depend on what else the machine does."""
    (ragtruth,) = load_sets(data, ["ragtruth"], RESPONSES)

    async def times() -> list[float]:
        async with Groundwire(Config(), backend="local") as engine:
            await engine.check("The sky is blue.", "The sky is blue.")
            return [
                await _timed(partial(engine.check, row.claim, row.context, question=row.question))
                for row in ragtruth.rows
            ]

    busy = process_time()
    middle = median(asyncio.run(times()))
    busy = (process_time() - busy) / len(ragtruth.rows)
    name = f"{len(ragtruth.rows)} RAGTruth answers with their contexts"
    yield Figure(f"{name}, p50", 1000 * middle, "ms", "≤ 400")
    yield Figure(f"{name}, processor time of one", 1000 * busy, "ms")


class RawRuns:
    """Records the inputs of the network and replays them without the verifier."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._session = network.session
        self._fed: list[dict[str, Any]] = []
        network.session = self

    def run(self, names: None, fed: dict[str, Any]) -> Any:
        self._fed.append(fed)
        return self._session.run(names, fed)

    def stop(self) -> None:
        self._network.session = self._session

    def seconds(self) -> float:
        began = perf_counter()
        list(self._network.pool.map(lambda fed: self._session.run(None, fed), self._fed))
        return perf_counter() - began


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    began = perf_counter()
    await work()
    return perf_counter() - began


async def _cache() -> list[Figure]:
    """Time the cache of the LLM backends: a miss, then a hit."""
    queries = [Query(f"Plant {n} produced steel.", prose(WORDS, n)) for n in range(64)]
    with tempfile.TemporaryDirectory() as folder:
        async with Groundwire(Config(), backend="local") as engine:
            cached = Cached(engine.backend.verifier, CacheStore(Path(folder) / "c.db"), "bench", 3600)
            miss = await _timed(lambda: cached.estimate(queries))
            hit = await _timed(lambda: cached.estimate(queries))
    return [Figure("64 queries, cache empty", 1000 * miss, "ms"), Figure("64 queries, cache full", 1000 * hit, "ms")]


class _Counted:
    """A generator that counts calls and tokens."""

    def __init__(self, inner: Generator) -> None:
        self._inner = inner
        self.name = inner.name
        self.calls = self.prompt_tokens = self.cached_tokens = 0

    async def complete(self, messages: Sequence[Message], **options: Any) -> list[Completion]:
        found = await self._inner.complete(messages, **options)
        self.calls += 1
        self.prompt_tokens += sum(completion.prompt_tokens for completion in found)
        self.cached_tokens += sum(completion.cached_tokens for completion in found)
        return found

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _llm() -> list[Figure]:
    """Check some claims with the local model over HTTP, with logprobs."""
    config = Config.model_validate({"store": {"cache_path": ""}})
    try:
        counted = _Counted(open_generator(config, "llm"))
    except MissingExtra:
        return []
    verifier = LogprobOrSampling(counted, label="llm")
    identity = verifier.identity
    raw = Backend(verifier, counted.name, identity, CONTEXT_TOKENS, LLM_THRESHOLD_BITS, requests=1, at_once=1)
    guarded, _ = wrap_backend(raw, "self", config, "output", None)
    backend = replace(raw, name="self", verifier=guarded)
    context = CheckContext(backend, profile_for(config, raw.threshold_bits), Metrics())
    case = Case(" ".join(fact(n) for n in range(LLM_CLAIMS)), (Source("S0", prose(WORDS)),))
    try:
        await verifier.estimate([Query("The sky is blue.", "The sky is blue.")])
        counted.calls = counted.prompt_tokens = counted.cached_tokens = 0
        seconds = await _timed(lambda: check(case, context))
    finally:
        await verifier.aclose()
    cached = 100 * counted.cached_tokens / max(1, counted.prompt_tokens)
    return [
        Figure("LLM path: calls for each claim", counted.calls / LLM_CLAIMS, "calls"),
        Figure("LLM path: wall time for each claim", seconds / LLM_CLAIMS, "s"),
        Figure("LLM path: prompt tokens served from the prefix cache", cached, "%"),
    ]
