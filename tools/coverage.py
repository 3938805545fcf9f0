"""`make coverage`: hold the branch coverage of each package against its floor.

`python -m tools.coverage REPORT` reads the JSON report of coverage.py and exits with 1 if a package is below.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FLOOR = 90.0
"""Per cent of the lines and branches of a package that the tests must run."""
FLOORS = {"budget": 100.0}
"""Packages with a floor of their own. A change that covers more may raise one; none is ever lowered."""
_MARKER = "src/groundwire/"


def shares(files: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Per cent of the lines and branches that ran, by package or module directly below `groundwire`."""
    run: dict[str, int] = defaultdict(int)
    every: dict[str, int] = defaultdict(int)
    for path, found in files.items():
        name = path.replace("\\", "/").rpartition(_MARKER)[2].split("/")[0].removesuffix(".py")
        summary = found["summary"]
        run[name] += summary["covered_lines"] + summary["covered_branches"]
        every[name] += summary["num_statements"] + summary["num_branches"]
    return {name: 100.0 * run[name] / total if total else 100.0 for name, total in sorted(every.items())}


def below(found: Mapping[str, float]) -> list[str]:
    """The packages that are below their floor."""
    return [name for name, share in found.items() if share < FLOORS.get(name, FLOOR)]


def main() -> None:
    found = shares(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["files"])
    missed = below(found)
    for name, share in found.items():
        print(f"{name:14} {share:6.1f} %  {'below ' if name in missed else ''}{FLOORS.get(name, FLOOR):g}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
