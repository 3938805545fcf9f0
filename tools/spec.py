"""`make spec`: which requirement ids have a test, and which do not.

The ids stand in `tools/spec_ids.txt`, one a line with a few words; tests name them with
`@pytest.mark.spec("SPEC-08.05")`.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def requirements(path: Path = ROOT / "tools" / "spec_ids.txt") -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line.split()[0]: line.split(maxsplit=1)[1] for line in lines if line.strip()}


def marked_tests(folder: Path = ROOT / "tests", marker: str = "spec") -> dict[str, list[str]]:
    """Requirement id → the tests that prove it, or with the marker "published", that publish its figure."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("test_*.py")):
        for name, identity in _marks(ast.parse(path.read_text(encoding="utf-8")), marker):
            found[identity].append(f"{path.relative_to(ROOT)}::{name}")
    return found


def _marks(tree: ast.Module, marker: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for decorator in node.decorator_list:
                yield from ((node.name, identity) for identity in _ids(decorator, marker))


def _ids(decorator: ast.expr, marker: str) -> Iterator[str]:
    if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == f"pytest.mark.{marker}":
        for argument in decorator.args:
            yield str(ast.literal_eval(argument))


def main() -> int:
    wanted, tested, published = requirements(), marked_tests(), marked_tests(marker="published")
    for identity, words in wanted.items():
        tests = tested.get(identity, [])
        mark = "✓" if tests else "○" if identity in published else "·"
        print(f"{mark} {identity:<13} {words}" + (f"  ({len(tests)})" if tests else ""))
    unknown = sorted({*tested, *published} - set(wanted))
    done = sum(identity in tested for identity in wanted)
    only_published = len(set(published) - set(tested))
    print(f"\n{done} of {len(wanted)} requirements have a test; {only_published} more (○) are figures that a")
    print("benchmark publishes: they depend on the machine, so no test can prove them")
    if unknown:
        print("unknown ids on tests: " + ", ".join(unknown), file=sys.stderr)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
