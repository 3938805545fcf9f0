"""How suspicious each sentence of the silver answers is, by a model of the other half's groups.

python -m training.suspicion [--network NAME]      writes WORK/silver_suspicion.npy
"""

from __future__ import annotations

import argparse

import numpy as np
from training.data import WORK, fold
from training.hybrid import SILVER, fit, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", default="")
    network = parser.parse_args().network
    rag, silver = table("dev.ragtruth", network), table(SILVER, network)
    halves = np.array([fold(rag.made.rows[r], 2) for r in rag.row])
    other = np.array([fold(silver.made.rows[r], 2) for r in silver.row])
    p = np.zeros(len(silver.row))
    for side in (0, 1):
        booster = fit([rag], [(rag.weight > 0) & (halves != side)], network, rounds=150)
        p[other == side] = booster.predict(silver.x[other == side])
    np.save(WORK / "silver_suspicion.npy", p)
    print("silver sentences", len(p), "mean", round(float(p.mean()), 3))


if __name__ == "__main__":
    main()
