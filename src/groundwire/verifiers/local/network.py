"""The embedded cross-encoder: an int8 ONNX file and its tokenizer."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groundwire._optional import load
from groundwire.errors import BackendDown

Floats = NDArray[np.float32]

FOLDER = Path(__file__).parents[2] / "models"
TOKEN_LIMIT = 224
"""Longest input in tokens, as in training: a window of 110 words and a claim of 40 fit."""

_CLS, _SEP = 101, 102  # of BERT's vocabulary
_MAX_WORKERS = 4
_FEATURE = "the embedded verifier"
_FIRST_WORD = 990  # ids below are unused slots and single characters
_UNKNOWN_RARITY = 1.0


@dataclass(frozen=True, slots=True)
class Reading:
    """What the network says about one window and claim.

    `entailment`, `neutral` and `contradiction` are probabilities. `tokens` holds, for each token of the
    claim, its character range and the logit of its being unsupported.
    """

    entailment: float
    neutral: float
    contradiction: float
    tokens: tuple[tuple[int, int, float], ...]


def checked_file(name: str, folder: Path = FOLDER) -> Path:
    """The path of a model file whose hash matches the manifest."""
    path = folder / name
    try:
        wanted = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["sha256"][name]
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, KeyError, ValueError) as error:
        raise BackendDown(f"the embedded model is incomplete: {error}", hint="reinstall groundwire") from error
    if found != wanted:
        raise BackendDown(f"the embedded model's file {name} is damaged", hint="reinstall groundwire")
    return path


class Network:
    """Reads (window, claim) pairs, one inference each, several at a time in threads.

    Dynamic int8 quantisation takes its scale from the whole batch: a pair read in a batch would depend on its
    neighbours, so pairs are never batched.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        onnxruntime = load("onnxruntime", feature=_FEATURE, extra="local")
        tokenizers = load("tokenizers", feature=_FEATURE, extra="local")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # A pattern is kept for each length of input, and reserves its memory as one block that fits no other.
        options.enable_mem_pattern = False
        options.log_severity_level = 3
        self.session: Any = onnxruntime.InferenceSession(
            str(checked_file("verifier.onnx", folder)), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(checked_file("tokenizer.json", folder)))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
        self.pool = ThreadPoolExecutor(max(1, min(_MAX_WORKERS, cores)), thread_name_prefix="groundwire-network")
        self._ranks: dict[str, int] = self._tokenizer.get_vocab()
        self._top = math.log(max(3, len(self._ranks)))

    def rarity(self, word: str) -> float:
        """How rare a word is, 0 to 1, from its rank in the vocabulary, which is sorted by frequency."""
        rank = self._ranks.get(word.lower())
        return _UNKNOWN_RARITY if rank is None else math.log(max(2, rank - _FIRST_WORD)) / self._top

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Reading]:
        """One reading per (window, claim), in order."""
        return self.start(pairs)()

    def start(self, pairs: Sequence[tuple[str, str]]) -> Callable[[], list[Reading]]:
        """Start reading in the background. The returned function waits for the readings."""
        windows = self._tokenizer.encode_batch([_encodable(w) for w, _ in pairs], add_special_tokens=False)
        claims = self._tokenizer.encode_batch([_encodable(c) for _, c in pairs], add_special_tokens=False)
        # Longest first, so that the last thread to finish has little left to do.
        order = sorted(range(len(pairs)), key=lambda i: -len(windows[i].ids) - len(claims[i].ids))
        found = {i: self.pool.submit(self._read_one, windows[i], claims[i]) for i in order}
        return lambda: [found[i].result() for i in range(len(pairs))]

    def _read_one(self, window: Any, claim: Any) -> Reading:
        claim_ids = claim.ids[: TOKEN_LIMIT // 2]
        room = TOKEN_LIMIT - 3 - len(claim_ids)
        first = [_CLS, *window.ids[:room], _SEP]
        ids = np.array([[*first, *claim_ids, _SEP]], np.int64)
        types = np.zeros_like(ids)
        types[0, len(first) :] = 1
        pair, token = self.session.run(None, {"ids": ids, "mask": np.ones_like(ids), "types": types})
        shares = np.exp(pair[0] - pair[0].max())
        entailment, neutral, contradiction = (float(share) for share in shares / shares.sum())
        logits = token[0, len(first) : len(first) + len(claim_ids)]
        tokens = tuple((start, end, float(logit)) for (start, end), logit in zip(claim.offsets, logits, strict=False))
        return Reading(entailment, neutral, contradiction, tokens)


def _encodable(text: str) -> str:
    """Replace lone surrogates, which the tokenizer refuses, by one character each, so that offsets stay."""
    return text.encode("utf-8", "replace").decode("utf-8")
