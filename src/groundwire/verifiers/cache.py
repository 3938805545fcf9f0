"""A persistent cache of estimates: identical queries cost one call, also after a restart."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from groundwire.errors import GroundwireError
from groundwire.metrics import Metrics
from groundwire.stores.cache import CacheProtocol
from groundwire.types import Estimate, Query, Span, Verifier
from groundwire.verifiers.wrappers import all_failed, matched, query_keys


@dataclass(eq=False)
class Cached:
    """Answer queries from the store, and the rest by one call of `inner`.

    Args:
        identity: everything besides the query that determines an answer: verifier, model, prompt version,
            settings.
        ttl: seconds for which an entry is valid.
        metrics: counts hits and misses.

    Failures are not stored.
    """

    inner: Verifier
    store: CacheProtocol
    identity: str
    ttl: float
    metrics: Metrics | None = None

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        keys = query_keys(queries, self.identity)
        wanted = dict(zip(keys, queries, strict=True))
        rows = await asyncio.to_thread(self.store.get, wanted, self.ttl)
        known = {key: estimate for key, value in rows.items() if (estimate := load(value)) is not None}
        asked = {key: query for key, query in wanted.items() if key not in known}
        if self.metrics is not None:
            self.metrics.lookups(len(queries) - len(asked), len(asked))
        if asked:
            known |= await self._ask(asked)
        return [known[key] for key in keys]

    async def _ask(self, asked: dict[str, Query]) -> dict[str, Estimate]:
        try:
            fresh = matched(await self.inner.estimate(list(asked.values())), len(asked))
        except GroundwireError as error:
            fresh = all_failed(len(asked), error)  # entries found in the store are still returned
        answers = dict(zip(asked, fresh, strict=True))
        good = {key: dump(estimate) for key, estimate in answers.items() if estimate.error is None}
        await asyncio.to_thread(self.store.put, good, self.ttl)
        return answers


def dump(estimate: Estimate) -> str:
    return json.dumps(asdict(estimate))


def load(stored: str) -> Estimate | None:
    """The stored estimate, marked as cached; None if the entry cannot be read."""
    try:
        fields = json.loads(stored)
        spans = tuple(Span(**span) for span in fields.pop("spans"))
        return replace(Estimate(**fields), spans=spans, cached=True)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
