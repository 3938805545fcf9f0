"""Symbolic features of every claim, cached per data set.

python -m training.matrix dev.ragtruth train.quintd …      writes WORK/matrix/NAME.pkl
"""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from tokenizers import Tokenizer
from training.claims import Claim, claims_of
from training.data import WORK, Row, rows, train_rows
from training.model import TOKENIZER

from groundwire.verifiers.features import Rarity, Reader

NEAR, WIDE = 64, 110
LIMITS = {"train.faithjudge_silver": 10120, "dev.factscore": 900, "dev.wice.dev": 349}
DEFAULT_LIMIT = 1500
FULL = ("dev.ragtruth", "train.quintd", "train.aggrefact_err")


@dataclass(slots=True)
class Matrix:
    """`features[i]` belongs to `claims[i]`; `near` and `wide` are the evidence texts the network reads."""

    rows: list[Row]
    claims: list[Claim]
    features: np.ndarray
    near: list[str]
    wide: list[str]


def found_rows(name: str) -> Iterable[Row]:
    if name.startswith("made."):
        from training.fresh import fresh_rows  # it takes sentences apart with a parser that few need

        return fresh_rows(name)
    return train_rows(name[6:]) if name.startswith("train.") else rows(name)


def build(name: str) -> Matrix:
    chosen = list(found_rows(name))
    limit = LIMITS.get(name, DEFAULT_LIMIT)
    if name not in FULL and len(chosen) > limit:
        chosen = random.Random(5).sample(chosen, limit)
    rarity = Rarity(Tokenizer.from_file(str(TOKENIZER)).get_vocab())
    reader_for = lru_cache(maxsize=64)(lambda context: Reader(context, rarity))
    claims: list[Claim] = []
    table: list[list[float]] = []
    near: list[str] = []
    wide: list[str] = []
    for index, row in enumerate(chosen):
        reader = reader_for(row["context"])
        for claim in claims_of(index, row):
            claims.append(claim)
            table.append(reader.features(claim.text))
            near.append(reader.selector.evidence(claim.text, NEAR))
            wide.append(reader.selector.evidence(claim.text, WIDE))
    slim = [{key: value for key, value in row.items() if key != "context"} for row in chosen]
    return Matrix(slim, claims, np.array(table, np.float32), near, wide)


def matrix(name: str) -> Matrix:
    path = WORK / "matrix" / f"{name}.pkl"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(build(name)))
    found: Matrix = pickle.loads(path.read_bytes())
    return found


def main(names: list[str]) -> None:
    for name in names:
        made = matrix(name)
        labels = [claim.label for claim in made.claims]
        print(
            name, len(made.rows), "rows", len(labels), "claims", f"unsupported {labels.count(0)}", flush=True
        )


if __name__ == "__main__":
    # through the module's own name, or the pickles would belong to __main__
    from training.matrix import main as run

    run(sys.argv[1:])
