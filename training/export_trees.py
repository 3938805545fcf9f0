"""A fitted LightGBM booster as plain arrays for `groundwire.verifiers.trees`."""

from __future__ import annotations

from typing import Any

import numpy as np


def arrays_of(booster: Any) -> dict[str, np.ndarray]:
    """Pad every tree to the largest; leaves point to themselves."""
    trees = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
    flat = [_flatten(tree) for tree in trees]
    size = max(len(nodes) for nodes in flat)
    shape = (len(flat), size)
    out = {
        "feature": np.full(shape, -1, np.int32),
        "threshold": np.zeros(shape),
        "left": np.zeros(shape, np.int32),
        "right": np.zeros(shape, np.int32),
        "value": np.zeros(shape),
    }
    for t, nodes in enumerate(flat):
        for n, (feature, threshold, left, right, value) in enumerate(nodes):
            out["feature"][t, n], out["threshold"][t, n] = feature, threshold
            out["left"][t, n], out["right"][t, n], out["value"][t, n] = left, right, value
    out["depth"] = np.array(max(_depth(tree) for tree in trees))
    return out


def _depth(node: dict[str, Any]) -> int:
    return 1 + max(_depth(node["left_child"]), _depth(node["right_child"])) if "left_child" in node else 0


def _flatten(root: dict[str, Any]) -> list[tuple[int, float, int, int, float]]:
    nodes: list[tuple[int, float, int, int, float]] = []

    def add(node: dict[str, Any]) -> int:
        at = len(nodes)
        nodes.append((-1, 0.0, at, at, float(node.get("leaf_value", 0.0))))
        if "left_child" in node:
            left, right = add(node["left_child"]), add(node["right_child"])
            nodes[at] = (int(node["split_feature"]), float(node["threshold"]), left, right, 0.0)
        return at

    add(root)
    return nodes
