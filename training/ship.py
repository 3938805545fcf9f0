"""Fit the final trees, calibrate them on held-out predictions, and write what ships.

python -m training.ship --network NAME --onnx FOLDER --name groundwire-local-1 [--out src/groundwire/models]
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
from training.data import fold
from training.export_network import write_manifest
from training.export_trees import arrays_of
from training.hybrid import TRAIN, Table, fit, ragtruth_line, risk, table
from training.scores import calibration_error, crossed_f1

FILES = ("verifier.onnx", "tokenizer.json", "hybrid.npz", "calibration.json")
TARGET = 0.95


def held_out(tables: list[Table], network: str, folds: int = 5) -> list[np.ndarray]:
    """Raw scores of every table's claims by trees that never saw their group."""
    which = [np.array([fold(t.made.rows[r], folds) for r in t.row]) for t in tables]
    raw = [np.zeros(len(t.bad)) for t in tables]
    for f in range(folds):
        keep = [(t.weight > 0) & (w != f) for t, w in zip(tables, which, strict=True)]
        booster = fit(tables, keep, network)
        for t, w, out in zip(tables, which, raw, strict=True):
            out[w == f] = booster.predict(t.x[w == f], raw_score=True)
    return raw


def platt(raw: np.ndarray, bad: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Slope and offset of the logistic curve that fits best (Newton steps)."""
    slope, offset = 1.0, 0.0
    for _ in range(50):
        p = 1 / (1 + np.exp(-(slope * raw + offset)))
        g = weight * (p - bad)
        h = weight * p * (1 - p)
        gradient = np.array([(g * raw).sum(), g.sum()])
        hessian = np.array([[(h * raw * raw).sum(), (h * raw).sum()], [(h * raw).sum(), h.sum()]])
        step = np.linalg.solve(hessian + 1e-9 * np.eye(2), gradient)
        slope, offset = slope - step[0], offset - step[1]
    return float(slope), float(offset)


def gap_bits(p1: float, p0: float, target: float = TARGET) -> float:
    """The package's budget, for the conversion of an operating point in P(yes) into bits."""
    from groundwire.bits import budget

    return budget(p1, p0, target, (p1, p1), (p0, p0)).gap_bits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", required=True)
    parser.add_argument("--onnx", type=Path, required=True)
    parser.add_argument("--name", default="groundwire-local-1")
    parser.add_argument("--ragtruth-weight", type=float, default=TRAIN["dev.ragtruth"])
    parser.add_argument("--typical-p0", type=float, default=0.2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "src/groundwire/models")
    options = parser.parse_args()
    sets = {**TRAIN, "dev.ragtruth": options.ragtruth_weight}
    tables = [table(name, options.network, total) for name, total in sets.items()]
    raw = held_out(tables, options.network)
    slope, offset = platt(
        np.concatenate(raw),
        np.concatenate([t.bad for t in tables]),
        np.concatenate([t.weight for t in tables]),
    )
    rag = tables[0]
    p_bad = 1 / (1 + np.exp(-(slope * raw[0] + offset)))
    score = risk(rag.row, p_bad, len(rag.made.rows))
    print(ragtruth_line("held out, calibrated", rag, score))
    known = rag.weight > 0
    print(f"RAGTruth sentences: calibration error {calibration_error(rag.bad[known], p_bad[known]):.3f}")
    cut = operating_point(rag, p_bad)
    calibration = {
        "slope": slope,
        "offset": offset,
        "threshold_bits": round(gap_bits(1 - cut, options.typical_p0), 3),
        "bare_yes": 0.05,
        "name": options.name,
    }
    write(
        options.out, options.onnx, fit(tables, [t.weight > 0 for t in tables], options.network), calibration
    )
    print(f"operating point: P(unsupported) {cut:.3f}, {calibration['threshold_bits']} bits")


def operating_point(rag: Table, p_bad: np.ndarray) -> float:
    """The chance of being unsupported above which a claim is flagged: best F1 over answers."""
    worst = np.zeros(len(rag.made.rows))
    np.maximum.at(worst, rag.row, p_bad)
    truth = np.array([row["label"] == 0 for row in rag.made.rows])
    folds = np.array([fold(row) for row in rag.made.rows])
    value, _ = crossed_f1(truth, worst, folds)
    cuts = np.quantile(worst, np.linspace(0.02, 0.98, 97))
    f1s = [2 * (truth & (worst >= c)).sum() / max(1, truth.sum() + (worst >= c).sum()) for c in cuts]
    print(f"answers by their worst claim: held-out F1 {value:.3f}")
    return float(cuts[int(np.argmax(f1s))])


def write(out: Path, onnx: Path, booster: object, calibration: dict[str, object]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name in ("verifier.onnx", "tokenizer.json"):
        shutil.copy(onnx / name, out / name)
    arrays = arrays_of(booster)
    arrays["value"] = arrays["value"].astype(np.float64)
    np.savez_compressed(out / "hybrid.npz", **arrays)
    (out / "calibration.json").write_text(json.dumps(calibration, indent=1) + "\n", encoding="utf-8")
    write_manifest(out, FILES)


if __name__ == "__main__":
    main()
