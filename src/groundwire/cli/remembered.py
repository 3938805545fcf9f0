"""The last reports on this machine, so that their claims can be named afterwards (`c2` is the last one's).

They are kept in the cache: a check neither makes nor opens the store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from groundwire.config import Config
from groundwire.reports.json import to_json
from groundwire.stores.cache import CacheStore
from groundwire.types import HallucinationReport

_LAST = "report:last"
_MOST_CHARS = 2_000_000
_KEY_CHARS = 12


def remember(report: HallucinationReport, config: Config) -> None:
    """Keep the report for a while; where it cannot be kept, that is no reason to fail."""
    if not report.claims or not config.store.cache_path:
        return
    text = to_json(report, indent=None)
    if len(text) > _MOST_CHARS:
        return
    keys = [claim.key for claim in report.claims]
    name = f"report:{report_key(keys)}"
    pointers = {f"claim:{key}": name for key in keys}
    cache = CacheStore(config.store.cache_path)
    cache.put({name: text, _LAST: name, **pointers}, config.hallucination.cache_ttl)
    cache.close()


def recall(claim: str, config: Config) -> str:
    """The report that a claim's key stands in, or for c1, c2, … the last one; empty where none is known."""
    cache, ttl = CacheStore(config.store.cache_path), config.hallucination.cache_ttl
    pointer = f"claim:{claim}" if len(claim) == _KEY_CHARS else _LAST
    name = cache.get([pointer], ttl).get(pointer, "")
    text = cache.get([name], ttl).get(name, "")
    cache.close()
    return text


def report_key(claim_keys: Sequence[str]) -> str:
    """A report's name that lasts: whatever makes the same claims is the same report."""
    return hashlib.sha256(" ".join(claim_keys).encode()).hexdigest()[:16]
