"""Every package belongs to one layer and imports only from lower ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tools.size import repeated_class_names

import groundwire

PACKAGE = Path(groundwire.__file__).parent
LAYERS = (
    ("__main__",),
    ("cli", "pytest_plugin"),
    ("server", "bench", "testing"),
    ("integrations",),
    ("proxy", "mcp"),
    ("api", "client"),
    ("agent", "rag"),
    ("streaming", "traces", "memory"),
    ("engine",),
    ("pipeline",),
    ("verdicts",),
    ("detectors", "actions"),
    ("verifiers", "retrieval", "claims", "openie"),
    ("reports",),
    ("llm", "stores"),
    ("text", "metrics", "otel", "conversion", "requests"),
    ("config",),
    ("_loop", "_optional", "sse"),
    ("types", "budget", "errors", "version", "models"),
)
"""A module may import its own package and the layers below it, without exceptions."""
RANK = {name: len(LAYERS) - depth for depth, names in enumerate(LAYERS) for name in names}


def imports(path: Path) -> Iterator[str]:
    """The packages of ours that a file imports, also in functions and for type checkers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("groundwire."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.ImportFrom) and node.module == "groundwire":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("groundwire."))


def top(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_imports_go_downwards_only() -> None:
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        here = top(path)
        if here == "__init__":
            continue
        for there in imports(path):
            if here != there and RANK[there] >= RANK[here]:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {there}")
    assert wrong == []


def test_every_part_has_a_layer() -> None:
    parts = {top(path) for path in PACKAGE.rglob("*.py")} - {"__init__"}
    assert parts <= set(RANK)


def test_the_budget_needs_nothing_but_maths() -> None:
    tree = ast.parse((PACKAGE / "budget.py").read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert modules == {"__future__", "dataclasses", "math"}


def test_a_class_name_is_defined_once() -> None:
    assert repeated_class_names() == []
