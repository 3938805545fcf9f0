"""The hybrid: boosted trees over symbolic features and the network's outputs, cross-validated by group.

python -m training.hybrid [--network NAME] [--save FOLDER]
Figures for RAGTruth come from 5 folds of groups; every other `dev.*` set is never trained on.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
from training.claims import weakest
from training.data import OVERLAPPING, WORK, fold, groups
from training.matrix import Matrix, matrix
from training.score_pairs import COLUMNS
from training.scores import auroc, crossed_f1

from groundwire.verdicts.risk import WORST
from groundwire.verifiers.features import NAMES

TRAIN = {
    "dev.ragtruth": 6.0,
    "train.quintd": 1.0,
    "train.aggrefact_err": 1.0,
    "train.infotabs": 1.0,
    "train.mnli": 0.6,
    "train.snli": 0.4,
    "train.scitail": 0.4,
    "train.rte": 0.4,
    "train.healthver": 0.6,
    "train.covidfact": 0.6,
    "train.feverous": 0.6,
    "train.feversymmetric": 0.3,
    "train.climatefever": 0.5,
    "train.factcheckgpt": 0.8,
    "train.begin": 0.4,
    "train.mctest": 0.4,
    "made.monotone": 0.4,
    "made.negation": 0.4,
    "made.dialogue": 0.3,
    "made.list": 0.3,
    "made.figures": 0.3,
}
DEV = (
    "expertqa",
    "qags",
    "wice.dev",
    "wice_oracle",
    "infotabs",
    "healthver",
    "feversymmetric",
    "covidfact",
    "scitab",
    "control",
    "begin",
    "sick",
    "factscore",
    "averitec",
    "med",
    "logicnli",
)
UP = (
    "new_share",
    "new_rare",
    "new_near_rare",
    "names_new",
    "numbers_new",
    "numbers_near_new",
    "flags_wrong",
    "flags_open",
    "hours_wrong",
    "stars_wrong",
    "neutral",
    "contradict",
    "token_max",
    "token_second",
)
DOWN = ("best_cover", "entail", "flags_ok", "hours_ok", "stars_ok")
PARAMETERS: dict[str, Any] = {
    "objective": "binary",
    "learning_rate": 0.04,
    "num_leaves": 15,
    "min_data_in_leaf": 40,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "feature_fraction": 0.6,
    "lambda_l2": 5.0,
    "verbose": -1,
    "seed": 1,
    "deterministic": True,
    "num_threads": 1,
    "monotone_constraints_method": "intermediate",
}
ROUNDS = 300
SILVER = "train.faithjudge_silver"
SILVER_SHARES = {0: 0.1, 1: 0.5}
"""Weight of all its wrong and of all its right sentences, where RAGTruth's weigh 1."""


@dataclass(slots=True)
class Table:
    """A data set ready to fit: `bad` is 1 for unsupported; rows with unknown labels have weight 0."""

    made: Matrix
    x: np.ndarray
    bad: np.ndarray
    weight: np.ndarray
    row: np.ndarray


def columns(network: str) -> list[str]:
    return [*NAMES, *COLUMNS] if network else list(NAMES)


def table(name: str, network: str, total: float = 1.0) -> Table:
    made = matrix(name)
    x = made.features
    if network:
        x = np.hstack([x, np.load(WORK / "network" / network / f"{name}.npy")])
    label = (
        weakest(made.rows, made.claims, np.load(WORK / "silver_suspicion.npy"))
        if name == SILVER
        else np.array([claim.label for claim in made.claims])
    )
    # what the network has not read is left out
    weight = ((label >= 0) & ~np.isnan(x).any(axis=1)).astype(float)
    if name != "dev.ragtruth":
        # elsewhere each label weighs the same, so that no set's share of errors is learnt
        for value, share in (SILVER_SHARES if name == SILVER else {0: 0.5, 1: 0.5}).items():
            weight[label == value] *= share / max(1.0, weight[label == value].sum())
    weight *= total if name == SILVER else total / weight.sum()
    return Table(made, x, (label == 0).astype(float), weight, np.array([claim.row for claim in made.claims]))


def fit(tables: list[Table], keep: list[np.ndarray], network: str, rounds: int = ROUNDS) -> lgb.Booster:
    x = np.vstack([t.x[k] for t, k in zip(tables, keep, strict=True)])
    y = np.concatenate([t.bad[k] for t, k in zip(tables, keep, strict=True)])
    w = np.concatenate([t.weight[k] for t, k in zip(tables, keep, strict=True)])
    signs = [1 if name in UP else -1 if name in DOWN else 0 for name in columns(network)]
    data = lgb.Dataset(x, y, weight=w / w.mean(), free_raw_data=False)
    return lgb.train({**PARAMETERS, "monotone_constraints": signs}, data, rounds)


def risk(row: np.ndarray, p: np.ndarray, count: int) -> np.ndarray:
    """How the package ranks answers: the chance that one of the riskiest claims is unsupported."""
    return np.asarray(1 - np.prod(1 - worst_claims(row, p, count), axis=1))


def worst_claims(row: np.ndarray, p: np.ndarray, count: int, missing: float = 0.0) -> np.ndarray:
    """Each answer's highest values, as many as the package looks at."""
    order = np.lexsort((-p, row))
    place = np.arange(len(order)) - np.searchsorted(row[order], row[order])
    found = np.full((count, WORST), missing)
    kept = place < WORST
    found[row[order][kept], place[kept]] = p[order][kept]
    return found


def ragtruth_line(name: str, rag: Table, score: np.ndarray) -> str:
    truth = np.array([row["label"] == 0 for row in rag.made.rows])
    folds = np.array([fold(row) for row in rag.made.rows])
    task = np.array([row["task"] for row in rag.made.rows])
    line = f"{name:22s} all {auroc(truth, score):.3f} F1 {crossed_f1(truth, score, folds)[0]:.3f}"
    for kind in ("Data2txt", "QA", "Summary"):
        k = task == kind
        line += (
            f" | {kind} {auroc(truth[k], score[k]):.3f} F1 {crossed_f1(truth[k], score[k], folds[k])[0]:.3f}"
        )
    return line


def cross_fit(tables: list[Table], rag: Table, network: str) -> np.ndarray:
    folds = np.array([fold(rag.made.rows[r]) for r in rag.row])
    p = np.zeros(len(rag.bad))
    for f in range(5):
        keep = [t.weight > 0 if t is not rag else (t.weight > 0) & (folds != f) for t in tables]
        p[folds == f] = fit(tables, keep, network).predict(rag.x[folds == f])
    return p


def dev_scores(booster: lgb.Booster, network: str) -> dict[str, tuple[float, float, float]]:
    """Per set: area for the hybrid, for word overlap, and for the network alone."""
    found = {}
    for name in DEV:
        t = table(f"dev.{name}", network)
        count = len(t.made.rows)
        truth = np.array([row["label"] == 0 for row in t.made.rows])
        base = name.split(".")[0]
        shared = groups(f"train.{base}") if base in OVERLAPPING else frozenset()
        use = np.array([str(row["meta"]["group"]) not in shared for row in t.made.rows])
        use[t.row[np.isnan(t.x).any(axis=1)]] = False
        overlap = risk(t.row, t.x[:, NAMES.index("new_share")], count)
        alone = risk(t.row, 1 - np.exp(t.x[:, len(NAMES)]), count) if network else overlap
        score = risk(t.row, np.asarray(booster.predict(t.x)), count)
        found[name] = (
            auroc(truth[use], score[use]),
            auroc(truth[use], overlap[use]),
            auroc(truth[use], alone[use]),
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", default="", help="folder under WORK/network with the outputs to use")
    parser.add_argument("--only-ragtruth", action="store_true")
    parser.add_argument("--ragtruth-weight", type=float, default=TRAIN["dev.ragtruth"])
    options = parser.parse_args()
    names = (
        {"dev.ragtruth": 1.0} if options.only_ragtruth else {**TRAIN, "dev.ragtruth": options.ragtruth_weight}
    )
    tables = [table(name, options.network, total) for name, total in names.items()]
    rag = tables[0]
    count = len(rag.made.rows)
    print(ragtruth_line("word overlap", rag, risk(rag.row, rag.x[:, NAMES.index("new_share")], count)))
    if options.network:
        print(ragtruth_line("network alone", rag, risk(rag.row, 1 - np.exp(rag.x[:, len(NAMES)]), count)))
        print(
            ragtruth_line(
                "tokens alone", rag, risk(rag.row, 1 / (1 + np.exp(-rag.x[:, len(NAMES) + 3])), count)
            )
        )
    p = cross_fit(tables, rag, options.network)
    known = rag.weight > 0
    print(f"sentence AUROC {auroc(rag.bad[known], p[known]):.3f}")
    print(ragtruth_line("hybrid", rag, risk(rag.row, p, count)))
    scores = dev_scores(fit(tables, [t.weight > 0 for t in tables], options.network), options.network)
    for name, (ours, overlap, alone) in scores.items():
        print(f"  {name:16s} hybrid {ours:.3f}  word overlap {overlap:.3f}  network {alone:.3f}")
    print("  mean", *(f"{np.mean([s[i] for s in scores.values()]):.3f}" for i in range(3)))


if __name__ == "__main__":
    main()
