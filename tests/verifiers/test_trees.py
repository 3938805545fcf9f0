"""Boosted trees as arrays."""

from __future__ import annotations

import numpy as np

from groundwire.verifiers.trees import Trees


def test_rows_walk_to_their_leaves() -> None:
    trees = Trees.from_arrays(
        {
            "feature": np.array([[0, -1, 1, -1, -1], [1, -1, -1, -1, -1]]),
            "threshold": np.array([[0.5, 0, 2.0, 0, 0], [1.0, 0, 0, 0, 0]]),
            "left": np.array([[1, 1, 3, 3, 4], [1, 1, 2, 3, 4]]),
            "right": np.array([[2, 1, 4, 3, 4], [2, 1, 2, 3, 4]]),
            "value": np.array([[0, 1.0, 0, 10.0, 100.0], [0, 0.25, 0.5, 0, 0]]),
            "depth": np.array(2),
        }
    )
    rows = np.array([[0.0, 0.0], [1.0, 2.0], [1.0, 3.0]])
    assert trees.raw(rows).tolist() == [1.25, 10.5, 100.5]
