"""What one growing text was asked before: its queries, answered once and known at the end."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from groundwire.types import Estimate, Query, Verifier


class Remembering:
    """Asks `inner` only what it was not asked before. Failures are not kept: they are asked once more.

    Keys are digests, since the contexts of a long answer's claims would be many times its sources.
    """

    def __init__(self, inner: Verifier) -> None:
        self._inner = inner
        self._known: dict[bytes, Estimate] = {}
        self.hits = self.misses = 0

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        keys = _keys(queries)
        asked = {key: query for key, query in zip(keys, queries, strict=True) if key not in self._known}
        self.hits += len(queries) - len(asked)
        self.misses += len(asked)
        fresh = await self._inner.estimate(list(asked.values())) if asked else []
        answers = dict(zip(asked, fresh, strict=True))
        self._known |= {key: estimate for key, estimate in answers.items() if estimate.error is None}
        return [self._known.get(key) or answers[key] for key in keys]


def _keys(queries: Sequence[Query]) -> list[bytes]:
    contexts = {query.context: _digest(query.context) for query in queries}
    return [_digest(f"{q.claim}\0{q.question}\0") + contexts[q.context] for q in queries]


def _digest(text: str) -> bytes:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
