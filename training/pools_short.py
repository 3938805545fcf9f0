"""Stage A: short pairs of public data, three-way. Prints each pool's size, labels and word-overlap AUROC.

python -m training.pools_short
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
from training.data import Row, train_rows
from training.pairs import ENTAILMENT, LABELS, NOT_ENTAILED, Pair, save

TOKEN_LIMIT = 128

# Set: longest context in words. Longer rows are left to stage B, which reads windows of them.
SETS: dict[str, int] = {
    "mnli_ni": 60,
    "mnli_cl": 60,
    "lingnli": 60,
    "snli_ni": 40,
    "cad_nli": 40,
    "scitail_ni": 60,
    "paws_ni": 50,
    "fm2": 75,
    "infotabs": 75,
    "tabfact": 75,
    "scone": 40,
    "breaking_nli": 40,
    "negation_nli": 50,
    "sgd_records": 60,
    "e2e_slots": 60,
    "climatefever": 60,
    "healthver": 70,
    "covidfact": 75,
    "rte": 70,
    "feverous": 75,
    "conjnli_human": 50,
    "cb_ni": 75,
    "q2_wow": 60,
    "folio": 75,
    "feversymmetric": 60,
    "bizarro": 50,
}


def overlap(window: str, claim: str) -> float:
    """Share of the claim's words that the window holds: the baseline that no pool should reward."""
    held = set(re.findall(r"\w+", window.lower()))
    words = re.findall(r"\w+", claim.lower())
    return sum(word in held for word in words) / max(1, len(words))


def auroc(scores: list[float], positive: list[bool]) -> float:
    """Chance that a positive has the higher score; ties count half."""
    order = np.argsort(np.asarray(scores), kind="stable")
    ranks = np.empty(len(scores))
    values = np.asarray(scores)[order]
    ends = np.r_[np.flatnonzero(np.diff(values)), len(values) - 1]
    begin = 0
    for end in ends:
        ranks[order[begin : end + 1]] = (begin + end) / 2 + 1
        begin = end + 1
    mask = np.asarray(positive)
    good, bad = int(mask.sum()), int((~mask).sum())
    if not good or not bad:
        return float("nan")
    return float((ranks[mask].sum() - good * (good + 1) / 2) / (good * bad))


def label_of(row: Row) -> int:
    return LABELS[row["nli"]] if row["nli"] else ENTAILMENT if row["label"] else NOT_ENTAILED


def spans_of(row: Row) -> tuple[tuple[int, int], ...] | None:
    if row["label"]:
        return ()
    return tuple((span["start"], span["end"]) for span in row["spans"]) if row["spans"] else None


def pairs_of(name: str, longest: int) -> Iterator[Pair]:
    for row in train_rows(name):
        if len(row["context"].split()) <= longest and row["claim"].strip():
            yield Pair(row["context"], row["claim"], label_of(row), spans_of(row), group=str(row["meta"]["group"]))


def describe(name: str, pairs: list[Pair]) -> str:
    labels = Counter(pair.label for pair in pairs)
    sample = random.Random(7).sample(pairs, min(4000, len(pairs)))
    score = auroc([overlap(p.window, p.claim) for p in sample], [p.label == ENTAILMENT for p in sample])
    return f"{name:16} {len(pairs):7,} labels {dict(sorted(labels.items()))} word overlap {score:.3f}"


def main() -> None:
    for name, longest in SETS.items():
        pairs = list(pairs_of(name, longest))
        save(f"short.{name}", pairs, TOKEN_LIMIT)
        print(describe(name, pairs), flush=True)


if __name__ == "__main__":
    main()
