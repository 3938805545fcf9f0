"""What a checkpoint is worth, before calibration, in about a minute.

python -m training.probe CHECKPOINT [--every 4]

Prints MNLI's dev accuracy, VitaminC's AUROC, and for every n-th card of `cards.dev` with its twins: AUROC of
unsupported against supported claims, pairs of twins in order, contradiction against neutral. The risk is
1 − the largest P(entailment) of a claim's windows. Then the same claims with their evidence given.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from training.data import rows
from training.export import load_model
from training.grounded import CARDS, WINDOW_BUDGETS, card_claims, evidence_pieces, lines, rarity
from training.network import CrossEncoder
from training.pairs import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL, Pair, encode
from training.pools_short import auroc
from training.train import collate

from groundwire.text.document import Document

BATCH = 16
LIMIT = 224


def read(model: CrossEncoder, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """P(entailment), P(neutral), P(contradiction) per (window, claim)."""
    coded = encode([Pair(window, claim, 0) for window, claim in pairs], LIMIT)
    order = sorted(range(len(coded)), key=lambda i: len(coded[i].ids))
    found = np.zeros((len(coded), 3))
    with torch.inference_mode():
        for at in range(0, len(order), BATCH):
            chosen = order[at : at + BATCH]
            ids, mask, types, *_ = collate([coded[i] for i in chosen], model.encoder.shape)
            found[chosen] = model(ids, mask, types)[0].float().softmax(-1).numpy()
    return found


def public(model: CrossEncoder, name: str, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Readings and labels of a sample of a set of short pairs."""
    sample = random.Random(5).sample(list(rows(name)), most)
    labels = [LABELS[row["nli"]] if row["nli"] else -1 if row["label"] else -2 for row in sample]
    return read(model, [(row["context"], row["claim"]) for row in sample]), np.array(labels)


def cards(model: CrossEncoder, every: int) -> str:
    claims = list(card_claims(lines(CARDS / "cards.dev.jsonl")[::every], lines(CARDS / "twins.dev.jsonl")))
    documents = {claim.source: Document(claim.source, rendered=False) for claim in claims}
    windows = [documents[claim.source].windows(claim.text, rarity) for claim in claims]
    pairs = [(w.text, claim.text) for claim, found in zip(claims, windows, strict=True) for w in found]
    readings = iter(read(model, pairs))
    shares = [np.array([next(readings) for _ in found]) for found in windows]
    risk = np.array([1 - share[:, ENTAILMENT].max() for share in shares])
    denied = np.array([share[:, CONTRADICTION].max() for share in shares])
    labels = np.array([claim.label for claim in claims])
    twin = [i > 0 and (claims[i - 1].card, claims[i - 1].text) == (c.card, c.text) for i, c in enumerate(claims)]
    own = ~np.array(twin)
    wrong = labels != ENTAILMENT
    pairs_at = [i for i, is_twin in enumerate(twin) if is_twin and wrong[i] != wrong[i - 1]]
    ordered = np.mean([(risk[i] > risk[i - 1]) == wrong[i] for i in pairs_at])
    unsupported = own & wrong
    return (
        f"cards {own.sum()} own {auroc(list(risk[own]), list(wrong[own])):.3f} "
        f"all {auroc(list(risk), list(wrong)):.3f} "
        f"pairs {len(pairs_at)} ordered {ordered:.3f} contradiction against neutral "
        f"{auroc(list(denied[unsupported]), list(labels[unsupported] == CONTRADICTION)):.3f} "
        f"(neutral {int((labels[unsupported] == NEUTRAL).sum())})"
    )


def evidence_given(model: CrossEncoder, every: int) -> str:
    """How claims are read with a narrow window around the passage that their twin edits: no retrieval."""
    claims = list(card_claims(lines(CARDS / "cards.dev.jsonl")[::every], lines(CARDS / "twins.dev.jsonl")))
    documents = {claim.source: Document(claim.source, rendered=False) for claim in claims}
    pairs, labels = [], []
    for claim in claims:
        found = evidence_pieces(documents[claim.source], claim)
        if found:
            window = documents[claim.source].window_around(found, WINDOW_BUDGETS[0] * len(found))
            pairs.append((window.text, claim.text))
            labels.append(claim.label)
    shares, truth = read(model, pairs), np.array(labels)
    risk = auroc(list(1 - shares[:, ENTAILMENT]), list(truth != ENTAILMENT))
    right = (shares.argmax(1) == truth).mean()
    return f"evidence given {len(truth)}: accuracy {right:.3f} AUROC {risk:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--most", type=int, default=800, help="rows of each public set")
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = load_model(options.checkpoint)
    found, labels = public(model, "train.mnli.dev", options.most)
    print(f"mnli {(found.argmax(1) == labels).mean():.3f}", end=" ")
    found, labels = public(model, "measure.vitaminc", options.most)
    supported = (labels == ENTAILMENT) | (labels == -1)
    print(f"vitaminc {auroc(list(found[:, ENTAILMENT]), list(supported)):.3f}", end=" ", flush=True)
    print(cards(model, options.every), flush=True)
    print(evidence_given(model, options.every), flush=True)


if __name__ == "__main__":
    main()
