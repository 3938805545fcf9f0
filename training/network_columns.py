"""The network's outputs for every claim, by the very int8 files and code that run for users.

python -m training.network_columns NAME A_FOLDER B_FOLDER MEAN_FOLDER [SET …]
Writes WORK/network/NAME/SET.npy. RAGTruth and the silver answers are read by the network that never saw their
half, all else by the mean of both.
"""

from __future__ import annotations

import pickle
import random
import sys
import time
from pathlib import Path

import numpy as np
from training.claims import weakest
from training.data import WORK
from training.hybrid import DEV, SILVER, TRAIN
from training.matrix import Matrix, matrix
from training.pools_grounded import half

from groundwire.verifiers.network import COLUMNS, Network

HALVED = ("dev.ragtruth", SILVER)
SILVER_RIGHT = 4000
LIMITS = {"dev.ragtruth": 1 << 30, "dev.qags": 1 << 30, "train.quintd": 1200, "train.aggrefact_err": 800}
DEFAULT_LIMIT = 450
CHUNK = 256


def chosen(made: Matrix, limit: int) -> list[int]:
    """Claims of randomly chosen rows, whole rows only, about `limit` of them."""
    if made.rows[0]["dataset"] == "faithjudge_silver":
        return silver(made)
    order = list(range(len(made.rows)))
    random.Random(3).shuffle(order)
    by_row: dict[int, list[int]] = {}
    for i, claim in enumerate(made.claims):
        by_row.setdefault(claim.row, []).append(i)
    found: list[int] = []
    for row in order:
        if len(found) >= limit:
            break
        found.extend(by_row.get(row, []))
    return found


def silver(made: Matrix) -> list[int]:
    """Every sentence taken for wrong, and some of the right ones."""
    label = weakest(made.rows, made.claims, np.load(WORK / "silver_suspicion.npy"))
    right = np.flatnonzero(label == 1)
    some = np.random.default_rng(3).choice(right, min(SILVER_RIGHT, len(right)), replace=False)
    return sorted([*np.flatnonzero(label == 0).tolist(), *some.tolist()])


def read(
    network: Network, made: Matrix, which: list[int], table: np.ndarray, tokens: dict[int, np.ndarray]
) -> None:
    for at in range(0, len(which), CHUNK):
        part = which[at : at + CHUNK]
        for i, reading in zip(
            part, network.read([(made.near[i], made.claims[i].text) for i in part]), strict=True
        ):
            table[i] = reading.columns
            tokens[i] = reading.logits


def main(name: str, folders: list[Path], sets: list[str]) -> None:
    networks = [Network(folder) for folder in folders]
    out = WORK / "network" / name
    out.mkdir(parents=True, exist_ok=True)
    for data_set in sets or [*TRAIN, SILVER, *(f"dev.{dev}" for dev in DEV)]:
        if (out / f"{data_set}.npy").exists():
            continue
        began = time.monotonic()
        made = matrix(data_set)
        which = chosen(made, LIMITS.get(data_set, DEFAULT_LIMIT))
        table = np.full((len(made.claims), len(COLUMNS)), np.nan, np.float32)
        tokens: dict[int, np.ndarray] = {}
        if data_set in HALVED:
            for side, network in (("B", networks[0]), ("A", networks[1])):
                read(
                    network,
                    made,
                    [i for i in which if half(made.rows[made.claims[i].row]) == side],
                    table,
                    tokens,
                )
        else:
            read(networks[2], made, which, table, tokens)
        np.save(out / f"{data_set}.npy", table)
        (out / f"{data_set}.tokens.pkl").write_bytes(pickle.dumps(tokens))
        print(data_set, len(which), f"{time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], [Path(folder) for folder in sys.argv[2:5]], sys.argv[5:])
