"""Measures: area under the curve, best and given-threshold F1, calibration error, span F1. numpy only."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def auroc(truth: Array, score: Array) -> float:
    """Probability that a positive ranks above a negative; ties count half."""
    order = np.argsort(score, kind="mergesort")
    ranks = np.empty(len(score))
    sorted_scores = score[order]
    _, inverse, counts = np.unique(sorted_scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks[order] = (last - (counts - 1) / 2)[inverse]
    positive = truth.astype(bool)
    n, m = positive.sum(), (~positive).sum()
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")


def f1(truth: Array, flagged: Array) -> float:
    hit = float((truth & flagged).sum())
    return 2 * hit / max(1.0, float(truth.sum() + flagged.sum()))


def best_threshold(truth: Array, score: Array) -> tuple[float, float]:
    """The threshold with the best F1 and that F1; choose it on other groups than those you report."""
    order = np.argsort(-score)
    hits = np.cumsum(truth[order])
    value = 2 * hits / (np.arange(1, len(score) + 1) + truth.sum())
    at = int(value.argmax())
    return float(score[order][at]), float(value[at])


def crossed_f1(truth: Array, score: Array, folds: Array) -> tuple[float, Array]:
    """F1 with each fold's threshold chosen on the other folds, and the flags."""
    flags = np.zeros(len(score), bool)
    for fold in np.unique(folds):
        cut, _ = best_threshold(truth[folds != fold], score[folds != fold])
        flags[folds == fold] = score[folds == fold] >= cut
    return f1(truth, flags), flags


def chance_error(risk: np.ndarray, draws: int = 400) -> tuple[float, float]:
    """The calibration error that a risk without fault would show on as many answers: mean, and 95 of 100."""
    rng = np.random.default_rng(1)
    found = [calibration_error(rng.random(len(risk)) < risk, risk) for _ in range(draws)]
    return float(np.mean(found)), float(np.quantile(found, 0.95))


def calibration_error(truth: Array, probability: Array, bins: int = 10) -> float:
    """Expected calibration error over equal-width bins."""
    which = np.clip((probability * bins).astype(int), 0, bins - 1)
    total = 0.0
    for number in range(bins):
        inside = which == number
        if inside.any():
            total += inside.mean() * abs(truth[inside].mean() - probability[inside].mean())
    return float(total)
