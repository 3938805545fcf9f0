"""The embedded cross-encoder: an int8 ONNX file, its tokenizer, and nothing else."""

from __future__ import annotations

import hashlib
import json
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

FOLDER = Path(__file__).resolve().parent.parent / "models"
COLUMNS = ("entail", "neutral", "contradict", "token_max", "token_second", "token_mean")
TOKEN_LIMIT = 160
_CLS, _SEP = 101, 102
_MAX_WORKERS = 4
_FEATURE = "the embedded verifier"


@dataclass(frozen=True, slots=True)
class Reading:
    """What the network says of one pair: COLUMNS, and for each claim token its range and its logit."""

    columns: tuple[float, ...]
    offsets: tuple[tuple[int, int], ...]
    logits: Floats


def checked(name: str, folder: Path = FOLDER) -> Path:
    """The path of a model file whose hash is the one in the manifest."""
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
    """Reads pairs one by one, several at a time in threads.

    Dynamic int8 takes its scale from the whole batch, so a pair in a batch would depend on its neighbours;
    alone it never does.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        onnxruntime = load("onnxruntime", feature=_FEATURE, extra="local")
        tokenizers = load("tokenizers", feature=_FEATURE, extra="local")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        self.session: Any = onnxruntime.InferenceSession(
            str(checked("verifier.onnx", folder)), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(checked("tokenizer.json", folder)))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        workers = max(1, min(_MAX_WORKERS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2))
        self.pool = ThreadPoolExecutor(workers, thread_name_prefix="groundwire-network")

    def vocabulary(self) -> dict[str, int]:
        found: dict[str, int] = self._tokenizer.get_vocab()
        return found

    def offsets(self, text: str) -> tuple[tuple[int, int], ...]:
        """Where the tokens of a text stand in it."""
        found = self._tokenizer.encode(_sound(text), add_special_tokens=False).offsets
        return tuple(found)

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Reading]:
        """One reading per (evidence, claim), in order."""
        return self.begin(pairs)()

    def begin(self, pairs: Sequence[tuple[str, str]]) -> Callable[[], list[Reading]]:
        """Start reading in the background; what comes back waits for the readings and gives them."""
        left = self._tokenizer.encode_batch([_sound(e) for e, _ in pairs], add_special_tokens=False)
        right = self._tokenizer.encode_batch([_sound(c) for _, c in pairs], add_special_tokens=False)
        # long ones first: the last thread to finish then has little left
        order = sorted(range(len(pairs)), key=lambda i: -len(left[i].ids) - len(right[i].ids))
        found = {i: self.pool.submit(self._one, left[i], right[i]) for i in order}
        return lambda: [found[i].result() for i in range(len(pairs))]

    def _one(self, evidence: Any, claim: Any) -> Reading:
        claim_ids = claim.ids[: TOKEN_LIMIT // 2]
        room = TOKEN_LIMIT - 3 - len(claim_ids)
        first = [_CLS, *evidence.ids[:room], _SEP]
        ids = np.array([[*first, *claim_ids, _SEP]], np.int64)
        types = np.zeros_like(ids)
        types[0, len(first) :] = 1
        pair, token = self.session.run(None, {"ids": ids, "mask": np.ones_like(ids), "types": types})
        logits = token[0, len(first) : len(first) + len(claim_ids)].astype(np.float32)
        return Reading(columns(pair[0], logits), tuple(claim.offsets[: len(claim_ids)]), logits)


def _sound(text: str) -> str:
    """Half of a surrogate pair is no character; it becomes one, in its place, so that offsets stay."""
    return text.encode("utf-8", "replace").decode("utf-8")


def columns(pair: Floats, logits: Floats) -> tuple[float, ...]:
    """COLUMNS of one pair: log-probabilities of the pair head, logits of the worst tokens."""
    top = float(pair.max())
    logp = pair - top - float(np.log(np.exp(pair - top).sum()))
    tokens = logits if len(logits) else np.zeros(1, np.float32)
    worst = np.sort(tokens)[::-1]
    second = worst[1] if len(worst) > 1 else worst[0]
    return (*(float(value) for value in logp), float(worst[0]), float(second), float(tokens.mean()))
