"""A training pair (window, claim, label, spans), its token form, and pools of them on disk."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer
from training.base_model import BASE
from training.data import WORK
from training.network import CLS, SEP

ENTAILMENT, NEUTRAL, CONTRADICTION, NOT_ENTAILED = range(4)
LABELS = {"entailment": ENTAILMENT, "neutral": NEUTRAL, "contradiction": CONTRADICTION}
POOLS = WORK / "pools"

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Pair:
    """One example. NOT_ENTAILED means neutral or contradiction, not known which.

    `spans` are the unsupported character ranges of the claim: None where they are unknown, () where all of it
    is supported. `group` names the source text, so that no source is split between training and measuring.
    Two examples with the same `twins` number are one claim over a window and its edited version; -1: none.
    """

    window: str
    claim: str
    label: int
    spans: tuple[Span, ...] | None = None
    weight: float = 1.0
    group: str = ""
    twins: int = -1


@dataclass(slots=True)
class TokenPair:
    """Token ids of a pair in BERT's vocabulary. `marks` holds 0 or 1 per claim token, or None where spans are
    unknown."""

    ids: np.ndarray
    claim_start: int
    label: int
    marks: np.ndarray | None
    weight: float
    twins: int = -1


def tokenizer() -> Tokenizer:
    found = Tokenizer.from_file(str(BASE / "gte-small" / "tokenizer.json"))
    found.no_truncation()
    found.no_padding()
    return found


def encode(pairs: Sequence[Pair], limit: int) -> list[TokenPair]:
    """Encode pairs in at most `limit` tokens: the window is cut, a claim keeps at least half of the limit."""
    found = tokenizer()
    windows = found.encode_batch([pair.window for pair in pairs], add_special_tokens=False)
    claims = found.encode_batch([pair.claim for pair in pairs], add_special_tokens=False)
    coded = []
    for pair, window, claim in zip(pairs, windows, claims, strict=True):
        claim_ids = claim.ids[: limit // 2]
        room = limit - 3 - len(claim_ids)
        ids = [CLS, *window.ids[:room], SEP, *claim_ids, SEP]
        marks = None
        if pair.spans is not None:
            touched = [
                any(start < b and a < end for a, b in pair.spans) for start, end in claim.offsets[: len(claim_ids)]
            ]
            marks = np.array(touched, np.int8)
        start = min(len(window.ids), room) + 2
        coded.append(TokenPair(np.array(ids, np.int32), start, pair.label, marks, pair.weight, pair.twins))
    return coded


def save(name: str, pairs: Iterable[Pair], limit: int) -> int:
    """Encode pairs and write them as the pool `name`; returns how many there are."""
    POOLS.mkdir(parents=True, exist_ok=True)
    pool = encode(list(pairs), limit)
    with (POOLS / f"{name}.pkl").open("wb") as out:
        pickle.dump(pool, out)
    return len(pool)


def load(name: str) -> list[TokenPair]:
    with (POOLS / f"{name}.pkl").open("rb") as source:
        pool: list[TokenPair] = pickle.load(source)
    return pool
