"""Export a checkpoint to ONNX (fp32 and int8) with its tokenizer.

python -m training.export CHECKPOINT FOLDER
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn
from training.base_model import BASE
from training.network import CLS, GTE_SMALL, SEP, SHAPES, CrossEncoder


def load_model(checkpoint: Path) -> CrossEncoder:
    """The network of a checkpoint, with as many layers as it has."""
    state = torch.load(checkpoint, weights_only=True)
    layers = 1 + max(int(name.split(".")[2]) for name in state["model"] if ".layers." in name)
    model = CrossEncoder(replace(SHAPES[state.get("base", GTE_SMALL.name)], layers=layers))
    model.load_state_dict(state["model"])
    return model.eval()


class BertIds(nn.Module):
    """A network that takes token ids of BERT's vocabulary, whatever its base: the package knows only these."""

    def __init__(self, model: CrossEncoder) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
        if self.model.encoder.shape.relative_buckets:
            ids = torch.where(ids == CLS, 0, torch.where(ids == SEP, 2, ids + 4))
        pair, token = self.model(ids, mask, types)
        return pair, token


def export(checkpoint: Path, folder: Path) -> tuple[Path, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    full, small = folder / "verifier.fp32.onnx", folder / "verifier.onnx"
    ids = torch.randint(1000, 20000, (2, 48))
    mask = torch.ones_like(ids)
    types = torch.zeros_like(ids)
    types[:, 24:] = 1
    axes = {name: {0: "batch", 1: "tokens"} for name in ("ids", "mask", "types", "token")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            BertIds(load_model(checkpoint)),
            (ids, mask, types),
            str(full),
            input_names=["ids", "mask", "types"],
            output_names=["pair", "token"],
            dynamic_axes=axes | {"pair": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )
    # reduce_range: on machines without VNNI full-range int8 products saturate.
    quantize_dynamic(full, small, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    vocabulary = json.loads((BASE / "gte-small" / "tokenizer.json").read_text(encoding="utf-8"))
    compact = json.dumps(vocabulary, ensure_ascii=False, separators=(",", ":"))
    (folder / "tokenizer.json").write_text(compact, encoding="utf-8")
    write_manifest(folder)
    return full, small


def write_manifest(folder: Path) -> None:
    """The hashes that the package checks before it trusts a file."""
    names = ("verifier.onnx", "tokenizer.json", "calibration.json")
    hashes = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names if (folder / name).exists()
    }
    (folder / "manifest.json").write_text(json.dumps({"sha256": hashes}, indent=1) + "\n", encoding="utf-8")


def average(checkpoints: list[Path], out: Path) -> None:
    """Write the mean of several checkpoints' weights."""
    found = [torch.load(path, weights_only=True) for path in checkpoints]
    states = [one["model"] for one in found]
    mean = {name: sum(s[name] for s in states) / len(states) for name in states[0]}
    torch.save({"base": found[0].get("base", GTE_SMALL.name), "model": mean}, out)


if __name__ == "__main__":
    *checkpoints, target = (Path(argument) for argument in sys.argv[1:])
    if len(checkpoints) > 1:
        average(checkpoints, target.with_suffix(".mean.pt"))
        checkpoints = [target.with_suffix(".mean.pt")]
    for path in export(checkpoints[0], target):
        print(path.name, round(path.stat().st_size / 1e6, 1), "MB")
