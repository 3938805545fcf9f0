"""A training pair, and the token form in which pools of pairs are stored."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

ENTAILED, NEUTRAL, CONTRADICTED, NOT_ENTAILED = range(4)
NLI = {"entailment": ENTAILED, "neutral": NEUTRAL, "contradiction": CONTRADICTED}
CLS, SEP = 101, 102


@dataclass(frozen=True, slots=True)
class Pair:
    """`target` 3: not entailed, kind unknown; `spans` None: unknown, (): nothing is unsupported."""

    evidence: str
    claim: str
    target: int
    spans: tuple[tuple[int, int], ...] | None = None
    weight: float = 1.0


@dataclass(slots=True)
class Coded:
    """Token ids of a pair; `marks` holds 0/1 per claim token, or nothing when spans are unknown."""

    ids: np.ndarray
    claim_from: int
    target: int
    marks: np.ndarray | None
    weight: float


def encode(tokenizer: Tokenizer, pairs: Sequence[Pair], limit: int) -> list[Coded]:
    """Encode pairs; evidence is cut to make room, a claim never loses more than half the limit."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    left = tokenizer.encode_batch([pair.evidence for pair in pairs], add_special_tokens=False)
    right = tokenizer.encode_batch([pair.claim for pair in pairs], add_special_tokens=False)
    coded = []
    for pair, evidence, claim in zip(pairs, left, right, strict=True):
        claim_ids = claim.ids[: limit // 2]
        room = limit - 3 - len(claim_ids)
        ids = [CLS, *evidence.ids[:room], SEP, *claim_ids, SEP]
        start = min(len(evidence.ids), room) + 2
        marks = None
        if pair.spans is not None:
            marks = np.array(
                [any(a < e and s < b for a, b in pair.spans) for s, e in claim.offsets[: len(claim_ids)]],
                np.int8,
            )
        coded.append(Coded(np.array(ids, np.int32), start, pair.target, marks, pair.weight))
    return coded


def save(path: Path, pool: list[Coded]) -> None:
    with path.open("wb") as out:
        pickle.dump(pool, out)


def load(path: Path) -> list[Coded]:
    with path.open("rb") as source:
        pool: list[Coded] = pickle.load(source)
    return pool
