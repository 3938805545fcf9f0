"""Export a checkpoint to ONNX (fp32 and int8) with its tokenizer.

python -m training.export_network WORK/checkpoints/RUN.pt OUT_FOLDER
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from training.model import TOKENIZER
from training.score_pairs import load_model


def export(checkpoint: Path, folder: Path) -> tuple[Path, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    model = load_model(checkpoint)
    full, small = folder / "verifier.fp32.onnx", folder / "verifier.onnx"
    ids = torch.randint(1000, 20000, (2, 48))
    mask = torch.ones_like(ids)
    types = torch.zeros_like(ids)
    types[:, 24:] = 1
    axes = {name: {0: "batch", 1: "tokens"} for name in ("ids", "mask", "types", "token")} | {
        "pair": {0: "batch"}
    }
    torch.onnx.export(
        model,
        (ids, mask, types),
        str(full),
        input_names=["ids", "mask", "types"],
        output_names=["pair", "token"],
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )
    quantize_dynamic(full, small, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    shutil.copy(TOKENIZER, folder / "tokenizer.json")
    write_manifest(folder, ("verifier.onnx", "tokenizer.json"))
    return full, small


def write_manifest(folder: Path, names: tuple[str, ...]) -> None:
    """The hashes that the package checks before it trusts a file."""
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    (folder / "manifest.json").write_text(json.dumps({"sha256": hashes}, indent=1) + "\n", encoding="utf-8")


def average(checkpoints: list[Path], out: Path) -> None:
    """The mean of several checkpoints' weights."""
    states = [torch.load(path, weights_only=True)["model"] for path in checkpoints]
    mean = {name: sum(state[name].float() for state in states) / len(states) for name in states[0]}
    dtypes = {name: value.dtype for name, value in states[0].items()}
    torch.save({"model": {name: value.to(dtypes[name]) for name, value in mean.items()}}, out)


if __name__ == "__main__":
    for path in export(Path(sys.argv[1]), Path(sys.argv[2])):
        print(path, round(path.stat().st_size / 1e6, 1), "MB")
