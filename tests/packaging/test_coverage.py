"""The coverage floors: lines and branches are added up per package, and one below its floor is named."""

from __future__ import annotations

from typing import Any

import pytest
from tools.coverage import below, shares


def measured(lines: tuple[int, int], branches: tuple[int, int]) -> dict[str, Any]:
    names = ("covered_lines", "num_statements", "covered_branches", "num_branches")
    return {"summary": dict(zip(names, (*lines, *branches), strict=True))}


def test_a_package_is_the_sum_of_its_files() -> None:
    files = {
        "src/groundwire/stores/facts.py": measured((80, 80), (10, 20)),
        "/home/me/src/groundwire/stores/migrations/env.py": measured((0, 10), (0, 0)),
        "src/groundwire/budget.py": measured((30, 30), (9, 10)),
    }
    assert shares(files) == pytest.approx({"budget": 97.5, "stores": 100 * 90 / 110})


def test_a_package_below_its_floor_is_named() -> None:
    assert below({"budget": 97.5, "stores": 90.0, "text": 89.9}) == ["budget", "text"]
