"""What rounding to int8 costs: the shipped trees on both networks' outputs, over the same answers.

`python -m training.precision EXPORTED --network NAME [--answers N]`, where EXPORTED is a folder that
`export_network` wrote (it holds both). The answers were seen in training: the two lines can be compared
with each other, and with nothing else.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from pathlib import Path

import numpy as np
from training.export_network import write_manifest
from training.hybrid import risk, table
from training.report import sizes
from training.scores import auroc, f1

from groundwire.verifiers.features import NAMES
from groundwire.verifiers.local import Calibration
from groundwire.verifiers.network import FOLDER, Network
from groundwire.verifiers.trees import Trees


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("exported", type=Path)
    parser.add_argument("--network", required=True)
    parser.add_argument("--answers", type=int, default=260)
    options = parser.parse_args()
    rag = table("dev.ragtruth", options.network)
    chosen = set(random.Random(9).sample(range(len(rag.made.rows)), options.answers))
    claims = [i for i in range(len(rag.bad)) if rag.row[i] in chosen]
    pairs = [(rag.made.near[i], rag.made.claims[i].text) for i in claims]
    for name, file in (("int8", "verifier.onnx"), ("fp32", "verifier.fp32.onnx")):
        columns = outputs(options.exported, file, pairs)
        p_bad = np.array(unsupported(rag.x[claims], columns, sizes(rag)[claims]))
        rows = sorted(chosen)
        bad = np.array([rag.made.rows[row]["label"] == 0 for row in rows])
        risks = risk(rag.row[claims], p_bad, len(rag.made.rows))[rows]
        flagged = f1(bad, risks > Calibration.load().risk_threshold)
        pair = auroc(rag.bad[claims], -columns[:, 0])
        whole = auroc(bad, risks)
        print(f"{name}: claims AUROC {pair:.3f}, answers AUROC {whole:.3f}, F1 {flagged:.3f}, {len(rows)}")


def outputs(exported: Path, file: str, pairs: list[tuple[str, str]]) -> np.ndarray:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(exported / file, folder / "verifier.onnx")
        shutil.copy(exported / "tokenizer.json", folder / "tokenizer.json")
        write_manifest(folder, ("verifier.onnx", "tokenizer.json"))
        return np.array([reading.columns for reading in Network(folder).read(pairs)])


def unsupported(features: np.ndarray, columns: np.ndarray, words: np.ndarray) -> list[float]:
    curve = Calibration.load()
    with np.load(FOLDER / "hybrid.npz") as arrays:
        long, short = Trees.from_arrays(arrays, "long_"), Trees.from_arrays(arrays, "short_")
    x = features.astype(float).copy()
    x[:, len(NAMES) :] = columns
    raw = zip(long.raw(x), short.raw(x), words, strict=True)
    return [curve.unsupported(float(a), float(b), int(n)) for a, b, n in raw]


if __name__ == "__main__":
    main()
