"""Fit the final trees, calibrate them on held-out predictions, and write what ships.

python -m training.ship --network NAME --onnx FOLDER --name groundwire-local-1 [--out src/groundwire/models]
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import lightgbm as lgb
import numpy as np
from scipy.optimize import minimize
from training.data import fold
from training.export_network import write_manifest
from training.export_trees import arrays_of
from training.hybrid import ROUNDS, SILVER, TRAIN, Table, fit, ragtruth_line, risk, table
from training.scores import calibration_error, crossed_f1, f1

from groundwire.verifiers.features import NAMES
from groundwire.verifiers.local import apart, at_home, is_structured, pair_share

FILES = ("verifier.onnx", "tokenizer.json", "hybrid.npz", "calibration.json")
TARGET = 0.95
CUTS = np.round(np.arange(0.1, 0.7, 0.01), 3)
LONG_ROUNDS = 200
SHORT_SHARE = 0.35
RAGTRUTH_IN_SHORT = 3.0
BARE_YES = 0.05
CAUTION = 0.5  # logits: few of the claims that users check are wrong, half of the pairs here are
SHORT_WORDS, LONG_WORDS = 120.0, 200.0
FIRST_CUT = 0.3


def held_out(tables: list[Table], network: str, rounds: int, folds: int = 5) -> list[np.ndarray]:
    """Raw scores of every table's claims by trees that never saw their group."""
    which = [np.array([fold(t.made.rows[r], folds) for r in t.row]) for t in tables]
    raw = [np.zeros(len(t.bad)) for t in tables]
    for f in range(folds):
        keep = [(t.weight > 0) & (w != f) for t, w in zip(tables, which, strict=True)]
        booster = fit(tables, keep, network, rounds)
        for t, w, out in zip(tables, which, raw, strict=True):
            out[w == f] = booster.predict(t.x[w == f], raw_score=True)
    return raw


class Tables(NamedTuple):
    """What the trees for long sources learn from, and those for pairs; RAGTruth is the first of each.

    Pairs' trees see a little of RAGTruth too, balanced, which teaches them what a broken rule of a record
    means.
    """

    sources: list[Table]
    pairs: list[Table]


def tables(network: str) -> Tables:
    rag = table("dev.ragtruth", network)
    others = [table(name, network, total) for name, total in TRAIN.items() if name != "dev.ragtruth"]
    return Tables([rag, table(SILVER, network)], [balanced(rag, RAGTRUTH_IN_SHORT), *others])


def forests(data: Tables, network: str, without: int | None = None) -> dict[str, lgb.Booster]:
    """The trees for long sources and for pairs; `without` one fold of RAGTruth's sources."""

    def kept(t: Table) -> np.ndarray:
        known = t.weight > 0
        if without is None or t.made.rows[0]["dataset"] not in ("ragtruth", "faithjudge_silver"):
            return known
        return known & (np.array([fold(t.made.rows[r]) for r in t.row]) != without)

    return {
        "long_": fit(data.sources, [kept(t) for t in data.sources], network, LONG_ROUNDS),
        "short_": fit(data.pairs, [kept(t) for t in data.pairs], network),
    }


def balanced(t: Table, total: float) -> Table:
    """The same claims, supported and unsupported weighing the same."""
    weight = t.weight.copy()
    for value in (0.0, 1.0):
        weight[t.bad == value] *= total / 2 / weight[t.bad == value].sum()
    return replace(t, weight=weight)


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


def sizes(t: Table) -> np.ndarray:
    """Words of each claim's context, from the selected evidence and its share."""
    near = np.array([max(1, len(text.split())) for text in t.made.near])
    return near / np.maximum(t.x[:, NAMES.index("near_share")], 1e-3)


def pair_shares(t: Table) -> tuple[np.ndarray, np.ndarray]:
    """How far the package takes each claim for one half of a pair (a short context, a claim that was hardly
    drawn from its source), and what it takes off the pair's logit there."""
    by_size = [pair_share(int(n), SHORT_WORDS, LONG_WORDS) for n in sizes(t)]
    values = (dict(zip(NAMES, row, strict=False)) for row in t.x)
    far = [
        0.0 if is_structured(v["structured"]) else apart(claim.text, v)
        for claim, v in zip(t.made.claims, values, strict=True)
    ]
    prior = [at_home(c.text, s, f) for c, s, f in zip(t.made.claims, by_size, far, strict=True)]
    return np.maximum(by_size, far), np.array(prior)


def mixed(
    curve: Sequence[float], raw: np.ndarray, as_pair: np.ndarray, shares: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """P(unsupported) as the package has it: the source's curve and the pair's, in logits."""
    share, prior = shares
    found = share * (as_pair - prior) + (1 - share) * (curve[0] * raw + curve[1])
    return np.asarray(1 / (1 + np.exp(-found)))


def platt_of_answers(
    rag: Table, raw: np.ndarray, as_pair: np.ndarray, shares: tuple[np.ndarray, np.ndarray]
) -> tuple[float, float]:
    """The source's curve that makes an answer's risk, which comes of its worst claims, come out right."""
    truth = np.array([row["label"] == 0 for row in rag.made.rows])

    def loss(curve: np.ndarray) -> float:
        found = risk(rag.row, mixed(curve, raw, as_pair, shares), len(truth)).clip(1e-6, 1 - 1e-6)
        return -float(np.where(truth, np.log(found), np.log(1 - found)).mean())

    slope, offset = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead").x
    return float(slope), float(offset)


def gap_bits(p1: float, p0: float, target: float = TARGET) -> float:
    """The package's budget, for the conversion of an operating point in P(yes) into bits."""
    from groundwire.budget import budget

    return budget(p1, p0, target, (p1, p1), (p0, p0)).gap_bits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", required=True)
    parser.add_argument("--onnx", type=Path, required=True)
    parser.add_argument("--name", default="groundwire-local-1")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "src/groundwire/models")
    options = parser.parse_args()
    data = tables(options.network)
    rag, others = data.sources[0], data.pairs
    boosters = forests(data, options.network)
    pairs = held_out(others, options.network, ROUNDS)
    raw = held_out(data.sources, options.network, LONG_ROUNDS)[0] + SHORT_SHARE * pairs[0]
    known = rag.weight > 0
    keep = [t.weight > 0 for t in others]
    short_slope, short_level = platt(
        *(
            np.concatenate([part[k] for part, k in zip(parts, keep, strict=True)])
            for parts in (pairs, [t.bad for t in others], [t.weight for t in others])
        )
    )
    shares, cut = pair_shares(rag), FIRST_CUT
    for _ in range(3):
        # pairs were balanced half and half; one operating point serves both when the prior moves with it
        short_offset = short_level + float(np.log(cut / (1 - cut))) - CAUTION
        as_pair = short_slope * pairs[0] + short_offset
        long_slope, long_offset = platt_of_answers(rag, raw, as_pair, shares)
        p_bad = mixed((long_slope, long_offset), raw, as_pair, shares)
        cut = operating_point(rag, p_bad)
    truth = np.array([row["label"] == 0 for row in rag.made.rows])
    error = calibration_error(truth, risk(rag.row, p_bad, len(truth)))
    print(f"RAGTruth answers: calibration error {error:.3f}")
    print(ragtruth_line("held out, calibrated", rag, risk(rag.row, p_bad, len(rag.made.rows))))
    print(f"RAGTruth sentences: calibration error {calibration_error(rag.bad[known], p_bad[known]):.3f}")
    calibration = {
        "long_slope": long_slope,
        "long_offset": long_offset,
        "short_slope": short_slope,
        "short_offset": short_offset,
        "short_share": SHORT_SHARE,
        "short_words": SHORT_WORDS,
        "long_words": LONG_WORDS,
        # a claim alone is flagged where a response of this claim alone would be
        "threshold_bits": round(gap_bits(1 - cut, BARE_YES), 3),
        "risk_threshold": cut,
        "bare_yes": BARE_YES,
        "name": options.name,
    }
    write(options.out, options.onnx, boosters, calibration)
    print(f"operating point: risk {cut:.3f}, {calibration['threshold_bits']} bits")


def operating_point(rag: Table, p_bad: np.ndarray) -> float:
    """The risk above which an answer is flagged: best F1, the middle of the neighbouring cuts' plateau."""
    score = risk(rag.row, p_bad, len(rag.made.rows))
    truth = np.array([row["label"] == 0 for row in rag.made.rows])
    folds = np.array([fold(row) for row in rag.made.rows])
    print(f"answers by their risk: held-out F1 {crossed_f1(truth, score, folds)[0]:.3f}")
    return float(CUTS[plateau([f1(truth, score > cut) for cut in CUTS])])


def plateau(scores: list[float]) -> int:
    """The best place, each taken as the mean of its neighbours: one answer must not decide it."""
    return int(np.convolve(np.pad(scores, 2, mode="edge"), np.ones(5) / 5, "valid").argmax())


def write(out: Path, onnx: Path, boosters: dict[str, object], calibration: dict[str, object]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name in ("verifier.onnx", "tokenizer.json"):
        shutil.copy(onnx / name, out / name)
    arrays = {
        f"{prefix}{name}": array
        for prefix, booster in boosters.items()
        for name, array in arrays_of(booster).items()
    }
    np.savez_compressed(out / "hybrid.npz", **arrays)
    (out / "calibration.json").write_text(json.dumps(calibration, indent=1) + "\n", encoding="utf-8")
    write_manifest(out, FILES)


if __name__ == "__main__":
    main()
