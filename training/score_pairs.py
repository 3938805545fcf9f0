"""Outputs of a checkpoint for claims and their evidence: pair logits and what the token head says.

COLUMNS are the network's inputs to the hybrid; the token probabilities are kept for spans.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from training.model import TOKENIZER, CrossEncoder
from training.pairs import Pair, encode
from training.train_pairs import collate

LIMIT = 160
COLUMNS = ("entail", "neutral", "contradict", "token_max", "token_second", "token_mean")


def load_model(path: Path | str) -> CrossEncoder:
    model = CrossEncoder()
    model.load_state_dict(torch.load(path, weights_only=True)["model"])
    return model.eval()


def summarise(pair: np.ndarray, tokens: np.ndarray) -> list[float]:
    """The six columns of one claim: log-probabilities of the pair head, logits of the worst tokens."""
    top = pair.max()
    logp = pair - top - np.log(np.exp(pair - top).sum())
    worst = np.sort(tokens)[::-1]
    second = worst[1] if len(worst) > 1 else worst[0]
    return [*map(float, logp), float(worst[0]), float(second), float(tokens.mean())]


def score(
    model: CrossEncoder, evidence: Sequence[str], claims: Sequence[str], size: int = 32
) -> tuple[np.ndarray, list[np.ndarray]]:
    """One row of COLUMNS per claim, and the logits of its tokens."""
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    coded = encode(tokenizer, [Pair(e, c, 0) for e, c in zip(evidence, claims, strict=True)], LIMIT)
    order = sorted(range(len(coded)), key=lambda i: len(coded[i].ids))
    table = np.zeros((len(coded), len(COLUMNS)), np.float32)
    tokens: list[np.ndarray] = [np.zeros(0)] * len(coded)
    for at in range(0, len(order), size):
        chosen = order[at : at + size]
        ids, mask, types, *_ = collate([coded[i] for i in chosen])
        with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
            pair, token = model(ids, mask, types)
        for row, i in enumerate(chosen):
            n = len(coded[i].ids)
            tokens[i] = token[row, coded[i].claim_from : n - 1].float().numpy()
            table[i] = summarise(pair[row].float().numpy(), tokens[i] if len(tokens[i]) else np.zeros(1))
    return table, tokens
