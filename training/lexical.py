"""Calibrate the lexical verifier on labelled data: `python -m training.lexical [--report]`.

Reads `GROUNDWIRE_DATA` (default ../shared/data) and writes calibration.json beside the verifier: word
weights, the logistic model's coefficients and the operating point in bits. It fits on everything that may be
trained on; --report prints figures from held-out groups (5-fold) and from the dev sets too. numpy only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from training.lexical_rows import ROOT, Row, changed, load

from groundwire.budget import budget
from groundwire.verifiers.lexical.features import FEATURES, read
from groundwire.verifiers.lexical.pieces import content_norms, context_pieces

OUT = ROOT / "src" / "groundwire" / "verify" / "lexical" / "calibration.json"
CLASSES = ("entailment", "contradiction", "neutral")
Floats = NDArray[np.float64]
DOUBT = (0.04, 0.02, 0.02)  # what yes, no and unsure keep whatever the words say

# name → (weight of one row, rows at most). RAG-like data counts most: it is what the verifier meets.
TRAIN = {
    "dev.ragtruth.test": (2.0, None), "dev.ragtruth.train": (2.0, None), "train.quintd.test": (0.7, None),
    "train.feverous.dev": (0.7, None), "train.feversymmetric.dev": (1.0, None),
    "train.infotabs.train": (0.4, 5000),
    "train.begin.dev": (0.5, None), "train.healthver.dev": (0.5, None), "train.covidfact.train": (0.4, None),
    "train.mnli.dev": (0.3, 4000), "train.snli.dev": (0.15, 2500), "train.rte.train": (0.5, None),
    "train.scitail.dev": (0.4, None), "train.hebnli.val": (1.0, None), "train.climatefever.test": (0.2, 2500),
}  # fmt: skip
MEASURE = (
    "dev.feversymmetric.test", "dev.infotabs.dev", "dev.covidfact.dev", "dev.covidfact.test",
    "dev.healthver.test", "dev.wice_oracle.dev", "dev.sick.test", "dev.begin.test",
    "dev.factscore.test", "dev.qags.test",
)  # fmt: skip


def balanced(rows: Sequence[Row], share: float = 0.6) -> Floats:
    """Row weights with the same share of supported claims in every data set: none of them sets the prior."""
    weight = np.array([row.weight for row in rows])
    data, yes = np.array([row.dataset for row in rows]), np.array([row.supported for row in rows])
    for dataset in set(data):
        mine = data == dataset
        total = weight[mine].sum()
        for part, wanted in ((mine & yes, share), (mine & ~yes, 1 - share)):
            if not yes[mine].all() and yes[mine].any():
                weight[part] *= wanted * total / weight[part].sum()
    return weight


def word_weights(rows: Iterable[Row]) -> dict[str, float]:
    """How much a word says: by the share of pieces it stands in. Only what weighs less than 1 is kept."""
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    total = 0
    for row in rows:
        if row.context not in seen:
            seen.add(row.context)
            for text in (p.text for p in context_pieces(row.context)):
                total += 1
                counts.update(content_norms(text))
    top = log(total / 8)
    found = {norm: round(max(0.25, min(1.0, log(total / count) / top)), 2) for norm, count in counts.items()}
    return {norm: weight for norm, weight in sorted(found.items()) if weight <= 0.8 and counts[norm] >= 10}


def matrix(rows: Sequence[Row], weights: dict[str, float]) -> Floats:
    found = []
    for i, row in enumerate(rows):
        found.append(read(row.claim, context_pieces(row.context), weights).values)
        if i % 2000 == 0:
            print(f"\r{i}/{len(rows)}", end="", file=sys.stderr, flush=True)
    print("\r", end="", file=sys.stderr)
    return np.array(found)


def softmax(logits: Floats) -> Floats:
    exps = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(exps / exps.sum(axis=1, keepdims=True))


def predict(x: Floats, theta: Floats) -> Floats:
    """As the verifier does it: words never make anything certain, so all three keep a little."""
    return np.asarray((1 - sum(DOUBT)) * softmax(x @ theta) + np.array(DOUBT))


def allowed(rows: Sequence[Row], x: Floats) -> Floats:
    """Which classes a row's label leaves open: an unsupported row of unknown kind may be either of two.

    People do not agree on what is contradicted and what merely unsupported; where the evidence says something
    else in the same place, unsupported counts as contradicted.
    """
    conflict = x[:, FEATURES.index("any_conflict")] > 0
    found = np.zeros((len(rows), 3))
    for i, row in enumerate(rows):
        if row.supported:
            found[i] = (1, 0, 0)
        elif conflict[i]:
            found[i] = (0, 1, 0)
        else:
            found[i] = (0, row.nli != "neutral", row.nli != "contradiction")
    return found


def usable(rows: Sequence[Row], x: Floats) -> NDArray[np.bool_]:
    """Supported rows that share no word with their context ('Sure!', pronouns) teach nothing about words."""
    silent = x[:, FEATURES.index("silent")] > 0
    return np.asarray(~(silent & np.array([row.supported for row in rows])))


def fit(x: Floats, open_to: Floats, weight: Floats, ridge: float = 1.0, steps: int = 400) -> Floats:
    """Multinomial logistic regression by scaled gradient steps; a row may leave two classes open."""
    scale = x.std(axis=0) + 1e-6
    scale[0] = 1.0
    z = x / scale
    theta, speed, square = np.zeros((x.shape[1], 3)), 0.0, 0.0
    for step in range(1, steps + 1):
        p = softmax(z @ theta)
        posterior = p * open_to
        posterior /= posterior.sum(axis=1, keepdims=True) + 1e-12
        gradient = z.T @ ((p - posterior) * weight[:, None]) + ridge * theta
        gradient[0] -= ridge * theta[0]
        gradient /= weight.sum()
        speed = 0.9 * speed + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        rate = 0.05 * (1 - step / (steps + 1))
        theta = theta - rate * (speed / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-9)
    return np.asarray(theta / scale[:, None])


def fold(group: str, folds: int = 5) -> int:
    return int(hashlib.sha256(group.encode()).hexdigest(), 16) % folds


def held_out(x: Floats, open_to: Floats, weight: Floats, folds: NDArray[np.int64]) -> Floats:
    p = np.zeros((len(x), 3))
    for k in range(5):
        inside = folds != k
        p[~inside] = predict(x[~inside], fit(x[inside], open_to[inside], weight[inside]))
    return p


def auroc(score: Floats, positive: NDArray[np.bool_]) -> float:
    if positive.all() or not positive.any():
        return float("nan")
    order = np.argsort(score, kind="stable")
    values, ranks = score[order], np.empty(len(score))
    ranks[order] = np.arange(1, len(score) + 1)
    for value in np.unique(values[1:][values[1:] == values[:-1]]):
        ties = score == value
        ranks[ties] = ranks[ties].mean()
    n = positive.sum()
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(score) - n)))


def calibration_error(p: Floats, truth: NDArray[np.bool_], bins: int = 10) -> float:
    which = np.minimum((p * bins).astype(int), bins - 1)
    return float(sum(abs(p[which == b].mean() - truth[which == b].mean()) * (which == b).mean()
                     for b in range(bins) if (which == b).any()))  # fmt: skip


def by_answer(
    rows: Sequence[Row], score: Floats, pick: Callable[[list[float]], float] = max
) -> tuple[Floats, NDArray[np.bool_]]:
    """Scores and labels of whole answers: an answer is as bad as its worst sentence."""
    scores: dict[str, list[float]] = {}
    bad: dict[str, bool] = {}
    for row, value in zip(rows, score, strict=True):
        scores.setdefault(row.answer, []).append(float(value))
        bad[row.answer] = bad.get(row.answer, False) or not row.supported
    return np.array([pick(v) for v in scores.values()]), np.array([bad[a] for a in scores])


@lru_cache(maxsize=4096)
def _bag(text: str) -> frozenset[str]:
    return content_norms(text)


def overlap(rows: Sequence[Row]) -> Floats:
    """The baseline: share of the claim's content words that stand in the context."""
    return np.array([len(_bag(r.claim) & _bag(r.context)) / (len(_bag(r.claim)) or 1) for r in rows])


def report(rows: Sequence[Row], p: Floats, title: str) -> None:
    supported = np.array([row.supported for row in rows])
    base = overlap(rows)
    line = f"{title:32} n={len(rows):6} AUROC {auroc(p[:, 0], supported):.3f}"
    line += f" (overlap {auroc(base, supported):.3f}) ECE {calibration_error(p[:, 0], supported):.3f}"
    no = np.array([row.nli == "contradiction" for row in rows])
    if no.any() and not no.all():
        line += f" AUROC(no) {auroc(p[:, 1], no):.3f}"
    if rows[0].dataset in ("ragtruth", "quintd", "qags"):
        score, bad = by_answer(rows, 1 - p[:, 0])
        plain, _ = by_answer(rows, 1 - base)
        summed, _ = by_answer(rows, -np.log(p[:, 0] + 1e-9), sum)
        line += f" | answers AUROC max {auroc(score, bad):.3f} sum {auroc(summed, bad):.3f}"
        line += f" (overlap {auroc(plain, bad):.3f})"
    print(line)


def scrubbed(rows: Sequence[Row], weights: dict[str, float], theta: Floats) -> Floats:
    """P(yes) of each row once the pieces nearest to its claim are taken out of the context: p0."""
    found = []
    for row in rows:
        pieces = context_pieces(row.context)
        near = {n.analysis.text for n in read(row.claim, pieces, weights).match.near}
        left = tuple(piece for piece in pieces if piece.text not in near)
        found.append(read(row.claim, left, weights).values)
    return predict(np.array(found), theta)[:, 0]


def operating_point(rows: Sequence[Row], p1: Floats, p0: Floats, max_false_alarms: float) -> dict[str, float]:
    """The gap in bits above which an answer is flagged: best F1 with few supported sentences flagged."""
    gaps = np.array([budget(float(a), float(b)).gap_bits for a, b in zip(p1, p0, strict=True)])
    supported = np.array([row.supported for row in rows])
    answer_gap, bad = by_answer(rows, gaps)
    best = {"threshold_bits": 4.0, "f1": 0.0}
    for bits in np.arange(0.0, 6.0, 0.05):
        false_alarms = float((gaps[supported] > bits).mean())
        flagged = answer_gap > bits
        if false_alarms > max_false_alarms or not flagged.any():
            continue
        hits = float((flagged & bad).sum())
        f1 = 2 * hits / float(flagged.sum() + bad.sum())
        if f1 > best["f1"]:
            best = {
                "threshold_bits": float(bits),
                "f1": f1,
                "false_alarms": false_alarms,
                "precision": hits / float(flagged.sum()),
                "recall": hits / float(bad.sum()),
            }
    return {name: round(value, 3) for name, value in best.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", action="store_true", help="print held-out figures too")
    parser.add_argument("--cache", type=Path, help="keep the features here between runs")
    parser.add_argument("--sample", type=int, help="take at most so many rows of each set: a quick look")
    options = parser.parse_args()
    rows = [
        row for name, (weight, most) in TRAIN.items() for row in load(name, weight, options.sample or most)
    ]
    rows += list(changed(rows, options.sample or 2500))
    weights = word_weights(rows)
    x = _cached(options.cache, "train", lambda: matrix(rows, weights))
    use = usable(rows, x)
    rows, x = [row for row, keep in zip(rows, use, strict=True) if keep], x[use]
    open_to, weight = allowed(rows, x), balanced(rows)
    theta = fit(x, open_to, weight)
    rag = [i for i, row in enumerate(rows) if row.dataset == "ragtruth"]
    p = held_out(x, open_to, weight, np.array([fold(row.group) for row in rows]))
    p0 = _cached(options.cache, "p0", lambda: scrubbed([rows[i] for i in rag], weights, theta))
    point = operating_point([rows[i] for i in rag], p[rag, 0], p0, 0.12)
    print("operating point", point)
    supported = np.array([row.supported for row in rows])
    print(f"ECE over all held-out rows {calibration_error(p[:, 0], supported):.3f}")
    if options.report:
        _print_report(rows, p)
        for name in MEASURE:
            measured = load(name, at_most=options.sample)
            xs = _cached(options.cache, name, partial(matrix, measured, weights))
            report(measured, predict(xs, theta), name)
    save(weights, theta, {"default": point["threshold_bits"]})


def _print_report(rows: Sequence[Row], p: Floats) -> None:
    for dataset in dict.fromkeys(row.dataset for row in rows):
        mine = [i for i, row in enumerate(rows) if row.dataset == dataset]
        report([rows[i] for i in mine], p[mine], f"{dataset} (held out)")
        tasks = dict.fromkeys(rows[i].task for i in mine)
        for task in tasks if len(tasks) > 1 else ():
            part = [i for i in mine if rows[i].task == task]
            report([rows[i] for i in part], p[part], f"  {task}")


def _cached(folder: Path | None, name: str, make: Callable[[], Floats]) -> Floats:
    if folder is None:
        return make()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.npy"
    if not path.exists():
        np.save(path, make())
    return np.asarray(np.load(path))


def save(weights: dict[str, float], theta: Floats, points: dict[str, float]) -> None:
    content = {
        "version": 1,
        "operating_points": points,
        "classes": ["yes", "no", "unsure"],
        "doubt": DOUBT,
        "coefficients": {
            name: [round(float(v), 4) for v in row] for name, row in zip(FEATURES, theta, strict=True)
        },
        "word_weights": weights,
    }
    OUT.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"wrote {OUT} ({OUT.stat().st_size // 1024} KB)")


if __name__ == "__main__":
    main()
