"""Choose the operating point on what the package said of answers it never saw, and write the figures' input.

python -m training.operate ANSWERS.jsonl --models FOLDER [--oof OUT.jsonl] [--keep]
Prints F1 with each fold's threshold chosen on the other folds, then chooses one on all of them, writes it
into `calibration.json` (`--keep`: leaves the one that is there) and the verdicts at it as predictions for
`groundwire bench quality --oof`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit
from training.data import Row, fold, rows
from training.export_network import write_manifest
from training.scores import auroc, calibration_error, chance_error, f1
from training.ship import CUTS, FILES, TARGET, gap_bits, plateau

Answer = dict[str, Any]
MIN_SUPPORT = 0.5


class Point(NamedTuple):
    """Where a response is flagged, and where a claim by itself is."""

    risk: float
    bits: float


def is_flagged(claim: Answer, bits: float) -> bool:
    """The package's judgement of a claim at another gap."""
    if claim["p1"] is None or claim["status"] in ("CONTRADICTED", "UNVERIFIABLE"):
        return bool(claim["flagged"])
    floor = MIN_SUPPORT * min(1.0, claim["confidence"] / TARGET)
    return bool(claim["flagged"] and (claim["gap"] > bits or claim["p1"] < floor))


def doubt(claim: Answer) -> float:
    return 0.0 if claim["p1"] is None or claim["status"] == "UNVERIFIABLE" else 1.0 - claim["p1"]


def spans(answer: Answer, point: Point) -> list[tuple[int, int]]:
    """As `policy.risk.settle` would have it: none below the risk, at least the riskiest claim above it."""
    if (answer["risk"] or 0.0) <= point.risk or not answer["claims"]:
        return []
    chosen = [claim for claim in answer["claims"] if is_flagged(claim, point.bits)]
    chosen = chosen or [max(answer["claims"], key=doubt)]
    return [(s[0], s[1]) for claim in chosen for s in claim["spans"] or [(claim["start"], claim["end"])]]


def span_f1(answers: list[Answer], truth: list[Row], point: Point) -> float:
    hit = said = true = 0
    for answer, row in zip(answers, truth, strict=True):
        mine = {c for a, b in spans(answer, point) for c in range(a, b)}
        theirs = {c for span in row["spans"] or () for c in range(span["start"], span["end"])}
        hit, said, true = hit + len(mine & theirs), said + len(mine), true + len(theirs)
    return 2 * hit / max(1, said + true)


def best(bad: np.ndarray, risk: np.ndarray, use: np.ndarray) -> float:
    return float(CUTS[plateau([f1(bad[use], risk[use] > cut) for cut in CUTS])])


def kept(models: Path) -> Point:
    found = json.loads((models / "calibration.json").read_text(encoding="utf-8"))
    return Point(found["risk_threshold"], found["threshold_bits"])


def written(models: Path, risk: float) -> Point:
    """The new point into the calibration; the pairs' prior moves with it, as in `training.ship`."""
    path = models / "calibration.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    found["short_offset"] += float(logit(risk) - logit(found["risk_threshold"]))
    found |= {"risk_threshold": risk, "threshold_bits": round(gap_bits(1 - risk, found["bare_yes"]), 3)}
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    write_manifest(models, FILES)
    return kept(models)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--oof", type=Path)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    by_id = {row["id"]: row for row in rows("dev.ragtruth")}
    answers: list[Answer] = [json.loads(text) for text in options.answers.read_text().splitlines()]
    truth = [by_id[answer["id"]] for answer in answers]
    bad = np.array([row["label"] == 0 for row in truth])
    folds = np.array([fold(row) for row in truth])
    risk = np.array([answer["risk"] or 0.0 for answer in answers])
    crossed = np.zeros(len(bad), bool)
    for number in range(5):
        crossed[folds == number] = risk[folds == number] > best(bad, risk, folds != number)
    point = (
        kept(options.models)
        if options.keep
        else written(options.models, best(bad, risk, np.ones(len(bad), bool)))
    )
    task = np.array([row["task"] for row in truth])
    shipped = risk > point.risk
    error = calibration_error(bad, risk)
    print(f"{len(answers)} answers, risk over {point.risk}, {point.bits} bits, calibration error {error:.3f}")
    mean, most = chance_error(risk)
    print(f"by chance alone it would be {mean:.3f}, in 95 of 100 draws under {most:.3f}")
    for kind in ("", "Data2txt", "QA", "Summary"):
        k = task == kind if kind else np.ones(len(bad), bool)
        marked = span_f1(
            [a for a, use in zip(answers, k, strict=True) if use],
            [r for r, use in zip(truth, k, strict=True) if use],
            point,
        )
        everything = f1(bad[k], np.ones(k.sum(), bool))
        print(
            f"{kind or 'all':9s} AUROC {auroc(bad[k], risk[k]):.3f} F1 {f1(bad[k], crossed[k]):.3f} crossed, "
            f"{f1(bad[k], shipped[k]):.3f} shipped, flag all {everything:.3f}, spans {marked:.3f}"
        )
    if options.oof:
        with options.oof.open("w", encoding="utf-8") as out:
            for answer, value, flag in zip(answers, risk, shipped, strict=True):
                line = {"id": answer["id"], "risk": round(float(value), 4), "flagged": bool(flag)}
                denied = any(claim["status"] == "CONTRADICTED" for claim in answer["claims"])
                out.write(json.dumps({**line, "spans": spans(answer, point), "denied": denied}) + "\n")


if __name__ == "__main__":
    main()
