"""The shipped weights as a checkpoint: on an empty machine, training goes on from what is in the repository.

`python -m training.restore OUT.pt`, then `training.train_pairs --start OUT.pt …`. The int8 weights are
written back as floats: what rounding took is gone, and a few steps of training bring it back. Word embeddings
were never trained, so they are taken from the base model as they are.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from training.model import CrossEncoder

SHIPPED = Path(__file__).resolve().parent.parent / "src" / "groundwire" / "models" / "verifier.onnx"
_QUANTIZED = "_quantized"
_FROZEN = "encoder.embeddings.word_embeddings.weight"


def restored(path: Path = SHIPPED) -> dict[str, torch.Tensor]:
    graph = onnx.load(str(path)).graph
    arrays = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    names = _matrix_names(graph, arrays)
    state = CrossEncoder().state_dict()
    for name, array in arrays.items():
        if name in state:
            state[name] = torch.tensor(array)
        elif name.endswith(_QUANTIZED):
            base = name.removesuffix(_QUANTIZED)
            target = names.get(name, base)
            if target != _FROZEN:
                state[target] = _matrix(arrays, base, tuple(state[target].shape))
    return state


def _matrix(arrays: dict[str, np.ndarray], base: str, shape: tuple[int, ...]) -> torch.Tensor:
    values = arrays[base + _QUANTIZED].astype(np.float32) - arrays[f"{base}_zero_point"].astype(np.float32)
    floats = torch.tensor(values * arrays[f"{base}_scale"])
    return (
        floats
        if tuple(floats.shape) == shape and base.endswith("embeddings.weight")
        else floats.T.contiguous()
    )


def _matrix_names(graph: onnx.GraphProto, arrays: dict[str, np.ndarray]) -> dict[str, str]:
    """Exported matrices have lost their names, but each is followed by the bias of the same layer."""
    maker = {output: node for node in graph.node for output in node.output}
    found = {}
    for node in graph.node:
        bias = next((name for name in node.input if name.endswith(".bias") and name in arrays), "")
        if node.op_type != "Add" or not bias:
            continue
        (before,) = (name for name in node.input if name != bias)
        while before in maker and maker[before].op_type in ("Mul", "Cast"):
            before = maker[before].input[0]
        if before in maker and maker[before].op_type == "MatMulInteger":
            found[maker[before].input[1]] = bias.removesuffix("bias") + "weight"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    torch.save({"model": restored()}, parser.parse_args().out)


if __name__ == "__main__":
    main()
