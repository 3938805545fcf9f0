"""Keep a checkpoint small enough to commit, and restore it on an empty machine.

python -m training.checkpoint pack CHECKPOINT.pt FILE.npz
python -m training.checkpoint unpack FILE.npz CHECKPOINT.pt

Fine-tuning moves the weights a little away from their base, so only the differences are stored: 8 bits each
with a scale per row. Word vectors are frozen and come from the base itself (`training.base_model`).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from training.base_model import BASE

FROZEN = "encoder.word.weight"


def _base(name: str) -> dict[str, torch.Tensor]:
    state = torch.load(BASE / name / "encoder.pt", weights_only=True)
    return {f"encoder.{name}": value for name, value in state.items()}


def pack(checkpoint: Path, target: Path) -> None:
    found = torch.load(checkpoint, weights_only=True)
    base = _base(found["base"])
    arrays: dict[str, np.ndarray] = {"base": np.array(found["base"])}
    for name, value in found["model"].items():
        if name == FROZEN:
            continue
        change = (value - base[name] if name in base else value).float().numpy()
        if change.ndim < 2:
            arrays[name] = change
            continue
        scale = np.maximum(np.abs(change).max(axis=1, keepdims=True), 1e-12) / 127
        arrays[f"{name}|int8"] = np.round(change / scale).astype(np.int8)
        arrays[f"{name}|scale"] = scale.astype(np.float32)
    np.savez_compressed(target, **arrays)


def unpack(source: Path, checkpoint: Path) -> None:
    with np.load(source) as arrays:
        kind = str(arrays["base"])
        base = _base(kind)
        state = {FROZEN: base[FROZEN]}
        for key in arrays.files:
            if key == "base":
                continue
            name, _, part = key.partition("|")
            if part == "scale":
                continue
            change = arrays[key].astype(np.float32)
            if part == "int8":
                change = change * arrays[f"{name}|scale"]
            value = torch.from_numpy(change)
            state[name] = base[name] + value if name in base else value
    torch.save({"base": kind, "model": state}, checkpoint)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
        raise SystemExit(__doc__)
    {"pack": pack, "unpack": unpack}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
