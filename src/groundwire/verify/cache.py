"""Asked once, answered many times: identical queries cost one call, now and after a restart."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import sha256

from groundwire.errors import GroundwireError
from groundwire.metrics import Metrics
from groundwire.stores.cache import CacheStore
from groundwire.types import Estimate, Query, Span, Verifier
from groundwire.verify.failure import all_failed, matched


class Cached:
    """Answers from the store what it can, and asks `inner` for the rest in one call, each query once.

    `identity` names everything that shapes an answer besides the query: verifier, model, prompt version,
    settings. Failures are never stored.
    """

    def __init__(
        self,
        inner: Verifier,
        store: CacheStore,
        identity: str,
        ttl: float,
        *,
        metrics: Metrics | None = None,
    ) -> None:
        self._inner = inner
        self._store = store
        self._identity = identity
        self._ttl = ttl
        self._metrics = metrics

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        keys = query_keys(self._identity, queries)
        known = await self._recall(set(keys))
        asked = {key: query for key, query in zip(keys, queries, strict=True) if key not in known}
        if self._metrics is not None:
            self._metrics.lookups(hits=len(queries) - len(asked), misses=len(asked))
        if asked:
            known |= await self._ask(asked)
        return [known[key] for key in keys]

    async def _recall(self, keys: set[str]) -> dict[str, Estimate]:
        rows = await asyncio.to_thread(self._store.get, keys, self._ttl) if keys else {}
        read = {key: load(value) for key, value in rows.items()}
        return {key: estimate for key, estimate in read.items() if estimate is not None}

    async def _ask(self, asked: dict[str, Query]) -> dict[str, Estimate]:
        try:
            fresh = matched(await self._inner.estimate(list(asked.values())), len(asked))
        except GroundwireError as error:
            fresh = all_failed(len(asked), error)  # what the store knew is still good
        answers = dict(zip(asked, fresh, strict=True))
        good = {key: dump(estimate) for key, estimate in answers.items() if estimate.error is None}
        await asyncio.to_thread(self._store.put, good, self._ttl)
        return answers


def query_keys(identity: str, queries: Sequence[Query]) -> list[str]:
    """One digest per query. A context shared by many claims, however long, is read once."""
    contexts = {query.context: _digest(query.context) for query in queries}
    return [
        _digest("".join(map(_digest, (identity, query.claim, query.question))) + contexts[query.context])
        for query in queries
    ]


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def dump(estimate: Estimate) -> str:
    return json.dumps(asdict(estimate))


def load(stored: str) -> Estimate | None:
    """The estimate as it was, marked as cached; None where the entry cannot be read."""
    try:
        fields = json.loads(stored)
        spans = tuple(Span(**span) for span in fields.pop("spans"))
        return replace(Estimate(**fields), spans=spans, cached=True)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
