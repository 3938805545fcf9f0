"""Made pairs that the network has not seen, as rows of a data set: what the trees learn to trust it on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

from training import forms, pools_made
from training.data import Row
from training.pairs import NLI, Pair

SEED = 90_001
COUNT = 300
_KIND = {value: name for name, value in NLI.items()}


def fresh_rows(name: str) -> list[Row]:
    """Rows of `made.NAME`, drawn by another seed than the pool of that name."""
    pool = name.removeprefix("made.")
    rng = random.Random(f"{pool} {SEED}")
    pairs = rng.sample(list(_drawn(pool, rng)), COUNT)
    return [_row(name, number, pair) for number, pair in enumerate(pairs)]


def _drawn(pool: str, rng: random.Random) -> Iterator[Pair]:
    if pool in forms.POOLS:
        return islice(forms.POOLS[pool](rng), 3 * COUNT)
    return iter(pools_made.unmeasured(pools_made.POOLS[pool](rng)))


def _row(name: str, number: int, pair: Pair) -> Row:
    return {
        "id": f"{name}:{number}",
        "dataset": "made",
        "task": name,
        "context": pair.evidence,
        "claim": pair.claim,
        "label": int(pair.target == 0),
        "nli": _KIND.get(pair.target),
        "spans": None,
        "meta": {"group": f"{name}:{number}"},
    }
