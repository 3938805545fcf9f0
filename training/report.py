"""The figures of the model card: held-out groups for RAGTruth, sets never trained on for the rest.

python -m training.report --network NAME --models FOLDER [--oof OUT.jsonl]
"""

from __future__ import annotations

import argparse
import json
import pickle
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from training.data import OVERLAPPING, WORK, fold, groups, rows
from training.hybrid import DEV, ROUNDS, TRAIN, Table, fit, ragtruth_line, risk, table
from training.model import TOKENIZER
from training.scores import auroc, calibration_error, f1
from training.ship import LONG_ROUNDS, RAGTRUTH_IN_SHORT, balanced, gap_bits, held_out

from groundwire.verify.features import NAMES
from groundwire.verify.local import Calibration, unsupported
from groundwire.verify.network import Reading
from groundwire.verify.passages import passages
from groundwire.verify.records import check, read_record
from groundwire.verify.trees import Trees

Marks = list[tuple[int, int]]


def sizes(t: Table) -> np.ndarray:
    """Words of each claim's context, from the selected evidence and its share."""
    near = np.array([max(1, len(text.split())) for text in t.made.near])
    return near / np.maximum(t.x[:, NAMES.index("near_share")], 1e-3)


def probabilities(t: Table, long: np.ndarray, short: np.ndarray, curve: Calibration) -> np.ndarray:
    return np.array(
        [curve.unsupported(float(a), float(b), int(n)) for a, b, n in zip(long, short, sizes(t), strict=True)]
    )


def held_out_ragtruth(network: str, curve: Calibration) -> tuple[Table, np.ndarray]:
    rag = table("dev.ragtruth", network)
    others = [table(name, network, total) for name, total in TRAIN.items() if name != "dev.ragtruth"]
    long = held_out([rag], network, LONG_ROUNDS)[0]
    folds = np.array([fold(rag.made.rows[r]) for r in rag.row])
    short = np.zeros(len(rag.bad))
    mixed = [balanced(rag, RAGTRUTH_IN_SHORT), *others]
    for number in range(5):
        keep = [t.weight > 0 for t in mixed]
        keep[0] &= folds != number
        short[folds == number] = fit(mixed, keep, network, ROUNDS).predict(
            rag.x[folds == number], raw_score=True
        )
    return rag, probabilities(rag, long, short, curve)


def marks_of(rag: Table, network: str, p_bad: np.ndarray, cut: float) -> list[Marks]:
    """Marked ranges per answer, as the package marks them: in flagged claims only, else the whole claim."""
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    logits = pickle.loads((WORK / "network" / network / "dev.ragtruth.tokens.pkl").read_bytes())
    records = {row["id"]: read_record(passages(row["context"])) for row in rows("dev.ragtruth")}
    found: list[Marks] = [[] for _ in rag.made.rows]
    for i, claim in enumerate(rag.made.claims):
        if p_bad[i] < cut:
            continue
        offsets = tokenizer.encode(claim.text, add_special_tokens=False).offsets[: len(logits[i])]
        ranges = check(claim.text, records[rag.made.rows[claim.row]["id"]]).ranges
        spans = unsupported(claim.text, Reading((), tuple(offsets), logits[i]), ranges)
        local = [(s.start, s.end) for s in spans] or [(0, len(claim.text))]
        found[claim.row].extend((claim.start + a, claim.start + b) for a, b in local)
    return found


def span_f1(rag: Table, found: list[Marks]) -> float:
    hit = said = true = 0
    for row, marks in zip(rag.made.rows, found, strict=True):
        mine = {c for a, b in marks for c in range(a, b)}
        theirs = {c for span in row["spans"] or () for c in range(span["start"], span["end"])}
        hit, said, true = hit + len(mine & theirs), said + len(mine), true + len(theirs)
    return 2 * hit / max(1, said + true)


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
    parser.add_argument("--cut", type=float, help="P(unsupported) from which a claim is flagged")
    parser.add_argument("--oof", type=Path)
    options = parser.parse_args()
    curve = Calibration.load(options.models)
    cut = options.cut or cut_of(curve)
    rag, p_bad = held_out_ragtruth(options.network, curve)
    count = len(rag.made.rows)
    score = risk(rag.row, p_bad, count)
    truth = np.array([row["label"] == 0 for row in rag.made.rows])
    task = np.array([row["task"] for row in rag.made.rows])
    worst = np.zeros(count)
    np.maximum.at(worst, rag.row, p_bad)
    print(ragtruth_line("held out", rag, score))
    for kind in ("Data2txt", "QA", "Summary", ""):
        k = task == kind if kind else np.ones(count, bool)
        flags = f1(truth[k], worst[k] >= cut)
        everything = f1(truth[k], np.ones(k.sum(), bool))
        print(f"  at the operating point, {kind or 'all'}: F1 {flags:.3f}, flag all {everything:.3f}")
    print(f"  calibration error {calibration_error(truth, score):.3f}")
    found = marks_of(rag, options.network, p_bad, cut)
    print(f"  span F1 {span_f1(rag, found):.3f}")
    lines = dev_lines(options.network, options.models, curve)
    for name, ours, overlap, error in lines:
        print(f"  {name:16s} AUROC {ours:.3f}  word overlap {overlap:.3f}  calibration error {error:.3f}")
    print("  mean             " + "  ".join(f"{np.mean([line[i] for line in lines]):.3f}" for i in (1, 2, 3)))
    if options.oof:
        write_oof(options.oof, rag, score, worst >= cut, found)


def cut_of(curve: Calibration) -> float:
    """The P(unsupported) at which the gap passes the shipped threshold."""
    cuts = np.linspace(0.02, 0.98, 97)
    return float(
        cuts[int(np.argmin([abs(gap_bits(1 - c, curve.bare_yes) - curve.threshold_bits) for c in cuts]))]
    )


def write_oof(path: Path, rag: Table, score: np.ndarray, flags: np.ndarray, found: list[Marks]) -> None:
    with path.open("w", encoding="utf-8") as out:
        for row, value, flag, marks in zip(rag.made.rows, score, flags, found, strict=True):
            line = {"id": row["id"], "risk": float(value), "flagged": bool(flag), "spans": marks}
            out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
