"""The whole verifier once for every fold, so that the package itself can be asked about answers it never saw.

python -m training.folds --network NAME --onnx-a FOLDER --onnx-b FOLDER --models FOLDER
Writes WORK/folds/NAME/HALF-FOLD/: the network of the other half, trees fitted without the fold's groups, and
the calibration of `--models` (two slopes and two offsets, fitted on held-out scores of all folds).
"""

from __future__ import annotations

import argparse
import pickle
import shutil
from pathlib import Path

import numpy as np
from training.data import WORK
from training.export_network import write_manifest
from training.export_trees import arrays_of
from training.matrix import matrix
from training.pools_grounded import half
from training.ship import FILES, forests, tables

Known = dict[str, dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]]


def remembered(network: str) -> Known:
    """By half, what the network of the other half made of its sentences."""
    made = matrix("dev.ragtruth")
    columns = np.load(WORK / "network" / network / "dev.ragtruth.npy")
    tokens = pickle.loads((WORK / "network" / network / "dev.ragtruth.tokens.pkl").read_bytes())
    known: Known = {"A": {}, "B": {}}
    for i, (claim, near) in enumerate(zip(made.claims, made.near, strict=True)):
        known[half(made.rows[claim.row])][near, claim.text] = (columns[i], tokens[i])
    return known


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", required=True)
    parser.add_argument("--onnx-a", type=Path, required=True)
    parser.add_argument("--onnx-b", type=Path, required=True)
    parser.add_argument("--models", type=Path, default=Path(__file__).parents[1] / "src/groundwire/models")
    options = parser.parse_args()
    data = tables(options.network)
    for number in range(5):
        boosters = forests(data, options.network, number)
        arrays = {f"{p}{n}": a for p, b in boosters.items() for n, a in arrays_of(b).items()}
        # half A's answers are read by the network that saw half B, and the other way round
        for side, onnx in (("A", options.onnx_b), ("B", options.onnx_a)):
            out = WORK / "folds" / options.network / f"{side}{number}"
            out.mkdir(parents=True, exist_ok=True)
            for name in ("verifier.onnx", "tokenizer.json"):
                shutil.copy(onnx / name, out / name)
            shutil.copy(options.models / "calibration.json", out / "calibration.json")
            np.savez_compressed(out / "hybrid.npz", **arrays)
            write_manifest(out, FILES)
        print("fold", number, flush=True)
    known = WORK / "folds" / options.network / "known.pkl"
    known.write_bytes(pickle.dumps(remembered(options.network)))


if __name__ == "__main__":
    main()
