"""Figures of trees and network without the rest of the package: RAGTruth's sentences by held-out groups, and
sets never trained on. What the package makes of whole answers is measured by `training.operate`.

python -m training.report --network NAME --models FOLDER
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from training.data import OVERLAPPING, fold, groups
from training.hybrid import DEV, ROUNDS, Table, fit, ragtruth_line, risk, table
from training.scores import auroc, calibration_error, f1
from training.ship import LONG_ROUNDS, held_out, sizes, tables

from groundwire.verifiers.features import NAMES
from groundwire.verifiers.local import Calibration
from groundwire.verifiers.trees import Trees


def probabilities(t: Table, long: np.ndarray, short: np.ndarray, curve: Calibration) -> np.ndarray:
    return np.array(
        [curve.unsupported(float(a), float(b), int(n)) for a, b, n in zip(long, short, sizes(t), strict=True)]
    )


def held_out_ragtruth(network: str, curve: Calibration) -> tuple[Table, np.ndarray]:
    sources, mixed = tables(network)
    rag = sources[0]
    long = held_out(sources, network, LONG_ROUNDS)[0]
    folds = np.array([fold(rag.made.rows[r]) for r in rag.row])
    short = np.zeros(len(rag.bad))
    for number in range(5):
        keep = [t.weight > 0 for t in mixed]
        keep[0] &= folds != number
        short[folds == number] = fit(mixed, keep, network, ROUNDS).predict(
            rag.x[folds == number], raw_score=True
        )
    return rag, probabilities(rag, long, short, curve)


def dev_lines(network: str, models: Path, curve: Calibration) -> list[tuple[str, float, float, float]]:
    """Set, area of the shipped model, area of word overlap, calibration error."""
    with np.load(models / "hybrid.npz") as arrays:
        long, short = Trees.from_arrays(arrays, "long_"), Trees.from_arrays(arrays, "short_")
    lines = []
    for name in DEV:
        t = table(f"dev.{name}", network)
        count = len(t.made.rows)
        truth = np.array([row["label"] == 0 for row in t.made.rows])
        base = name.split(".")[0]
        shared = groups(f"train.{base}") if base in OVERLAPPING else frozenset()
        use = np.array([str(row["meta"]["group"]) not in shared for row in t.made.rows])
        use[t.row[np.isnan(t.x).any(axis=1)]] = False
        x = np.nan_to_num(t.x.astype(np.float64))
        score = risk(t.row, probabilities(t, long.raw(x), short.raw(x), curve), count)
        overlap = risk(t.row, t.x[:, NAMES.index("new_share")], count)
        lines.append(
            (
                name,
                auroc(truth[use], score[use]),
                auroc(truth[use], overlap[use]),
                calibration_error(truth[use], score[use]),
            )
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", required=True)
    parser.add_argument("--models", type=Path, default=Path(__file__).parents[1] / "src/groundwire/models")
    options = parser.parse_args()
    curve = Calibration.load(options.models)
    rag, p_bad = held_out_ragtruth(options.network, curve)
    count = len(rag.made.rows)
    score = risk(rag.row, p_bad, count)
    truth = np.array([row["label"] == 0 for row in rag.made.rows])
    task = np.array([row["task"] for row in rag.made.rows])
    print(ragtruth_line("held out", rag, score))
    for kind in ("Data2txt", "QA", "Summary", ""):
        k = task == kind if kind else np.ones(count, bool)
        flags = f1(truth[k], score[k] > curve.risk_threshold)
        everything = f1(truth[k], np.ones(k.sum(), bool))
        print(f"  at the operating point, {kind or 'all'}: F1 {flags:.3f}, flag all {everything:.3f}")
    print(f"  calibration error {calibration_error(truth, score):.3f}")
    lines = dev_lines(options.network, options.models, curve)
    for name, ours, overlap, error in lines:
        print(f"  {name:16s} AUROC {ours:.3f}  word overlap {overlap:.3f}  calibration error {error:.3f}")
    print("  mean             " + "  ".join(f"{np.mean([line[i] for line in lines]):.3f}" for i in (1, 2, 3)))


if __name__ == "__main__":
    main()
