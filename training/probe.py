"""What checkpoints are worth by themselves, without trees and without exporting: minutes instead of an hour.

python -m training.probe [--claims 300] CHECKPOINT [CHECKPOINT of the other half]
Of every other `dev.*` set the area under the curve of 1 - P(entailed), and how well contradiction is told
from neutral; of RAGTruth (`--halves`, both halves' checkpoints) the area over sentences each half never saw.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np
import torch
from training.data import OVERLAPPING, groups
from training.hybrid import DEV
from training.matrix import Matrix, matrix
from training.pools_grounded import half
from training.score_pairs import load_model, score
from training.scores import auroc, f1


def chosen(made: Matrix, count: int) -> list[int]:
    found = [i for i, claim in enumerate(made.claims) if claim.label >= 0]
    return sorted(random.Random(11).sample(found, min(count, len(found))))


def columns(model: torch.nn.Module, made: Matrix, which: list[int]) -> np.ndarray:
    return score(model, [made.near[i] for i in which], [made.claims[i].text for i in which])[0]  # type: ignore[arg-type]


def macro_f1(kinds: list[str], table: np.ndarray) -> float:
    """Of the unsupported whose kind is known: said to be contradicted where that is likelier than neutral."""
    use = [i for i, kind in enumerate(kinds) if kind in ("neutral", "contradiction")]
    truth = np.array([kinds[i] == "contradiction" for i in use])
    if truth.size < 20 or truth.all() or not truth.any():
        return float("nan")
    said = table[use, 2] > table[use, 1]
    return (f1(truth, said) + f1(~truth, ~said)) / 2


def halves(checkpoints: list[Path], count: int) -> None:
    made = matrix("dev.ragtruth")
    for task in ("Data2txt", "QA", "Summary"):
        bad, p = [], []
        for side, path in zip("BA", checkpoints, strict=True):
            which = [
                i
                for i in chosen(made, 1 << 30)
                if half(made.rows[made.claims[i].row]) == side
                and made.rows[made.claims[i].row]["task"] == task
            ]
            wrong = [i for i in which if made.claims[i].label == 0][:count]
            right = [i for i in which if made.claims[i].label == 1]
            which = [*wrong, *random.Random(3).sample(right, min(count, len(right)))]
            table = columns(load_model(path), made, which)
            bad += [made.claims[i].label == 0 for i in which]
            p += list(-table[:, 0] * 1.0)
        print(f"  ragtruth {task:10s} sentences {auroc(np.array(bad), np.array(p)):.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoints", type=Path, nargs="+")
    parser.add_argument("--claims", type=int, default=300)
    parser.add_argument("--halves", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.halves:
        halves(options.checkpoints, options.claims)
        return
    model = load_model(options.checkpoints[0])
    areas, kinds = [], []
    for name in DEV:
        made = matrix(f"dev.{name}")
        base = name.split(".")[0]
        shared = groups(f"train.{base}") if base in OVERLAPPING else frozenset()
        which = [
            i
            for i in chosen(made, options.claims)
            if str(made.rows[made.claims[i].row]["meta"]["group"]) not in shared
        ]
        table = columns(model, made, which)
        bad = np.array([made.claims[i].label == 0 for i in which])
        areas.append(auroc(bad, -table[:, 0]))
        kinds.append(macro_f1([made.claims[i].kind for i in which], table))
        print(f"  {name:16s} {len(which):4d} {areas[-1]:.3f} contradiction {kinds[-1]:.3f}", flush=True)
    print(f"  mean {np.mean(areas):.4f} contradiction {np.nanmean(kinds):.4f}")


if __name__ == "__main__":
    main()
