"""Boosted trees evaluated with numpy alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    base: float = 0.0

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Trees:
        return cls(
            feature=arrays["feature"].astype(np.int32),
            threshold=arrays["threshold"].astype(np.float64),
            left=arrays["left"].astype(np.int32),
            right=arrays["right"].astype(np.int32),
            value=arrays["value"].astype(np.float64),
            depth=int(arrays["depth"].item()),
            base=float(arrays["base"].item()),
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
        total: Floats = self.value[trees, at].sum(axis=1) + self.base
        return total
