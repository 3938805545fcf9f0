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


def marked_tests(folder: Path = ROOT / "tests") -> dict[str, list[str]]:
    """Requirement id → the tests that claim to prove it."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("test_*.py")):
        for name, identity in _marks(ast.parse(path.read_text(encoding="utf-8"))):
            found[identity].append(f"{path.relative_to(ROOT)}::{name}")
    return found


def _marks(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for decorator in node.decorator_list:
                yield from ((node.name, identity) for identity in _ids(decorator))


def _ids(decorator: ast.expr) -> Iterator[str]:
    if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.spec":
        for argument in decorator.args:
            yield str(ast.literal_eval(argument))


def main() -> int:
    wanted, tested = requirements(), marked_tests()
    for identity, words in wanted.items():
        tests = tested.get(identity, [])
        print(f"{'✓' if tests else '·'} {identity:<13} {words}" + (f"  ({len(tests)})" if tests else ""))
    unknown = sorted(set(tested) - set(wanted))
    done = sum(identity in tested for identity in wanted)
    print(f"\n{done} of {len(wanted)} requirements have a test")
    if unknown:
        print("unknown ids on tests: " + ", ".join(unknown), file=sys.stderr)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
