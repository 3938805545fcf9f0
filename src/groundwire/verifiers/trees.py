"""Boosted trees evaluated with numpy alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Trees:
    """All trees side by side: `feature[t, n]` is the column node `n` of tree `t` looks at, -1 for a leaf.

    A leaf points to itself, so walking `depth` steps ends in the right leaf whatever the path's length.
    """

    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    value: Floats
    depth: int

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> Trees:
        """Read the arrays whose names begin with `prefix`; several forests can share a file."""
        return cls(
            feature=arrays[f"{prefix}feature"].astype(np.int32),
            threshold=arrays[f"{prefix}threshold"].astype(np.float64),
            left=arrays[f"{prefix}left"].astype(np.int32),
            right=arrays[f"{prefix}right"].astype(np.int32),
            value=arrays[f"{prefix}value"].astype(np.float64),
            depth=int(arrays[f"{prefix}depth"].item()),
        )

    def raw(self, table: Floats) -> Floats:
        """The sum of all trees' leaves, one number per row."""
        trees = np.arange(len(self.feature))
        at = np.zeros((len(table), len(self.feature)), np.int32)
        for _ in range(self.depth):
            column = self.feature[trees, at]
            seen = np.take_along_axis(table, np.maximum(column, 0), axis=1)
            goes_left = seen <= self.threshold[trees, at]
            at = np.where(goes_left, self.left[trees, at], self.right[trees, at])
        total: Floats = self.value[trees, at].sum(axis=1)
        return total
