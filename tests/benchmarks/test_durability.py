"""The cost of durable commits, in small."""

from __future__ import annotations

from benchmarks.durability import WRITES, measure


def test_commits_of_both_modes_are_compared_by_kind() -> None:
    found = {figure.name: figure.value for figure in measure(2)}
    for kind in WRITES:
        assert found[f"{kind}, FULL, median of 2"] > 0
        assert found[f"{kind}, NORMAL, median of 2"] > 0
        assert found[f"{kind}, FULL / NORMAL"] > 0
