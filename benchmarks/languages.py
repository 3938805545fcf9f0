"""`python -m benchmarks.languages FILE …`: what the lexical verifier decides in other languages than English.

A file has one JSON object per line (`.gz` is unpacked) with `context`, `claim` and `nli` (entailment, neutral
or contradiction). The cases in `languages_held.jsonl` were written after the thresholds had been chosen.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import command, run
from groundwire.bench.measures import Figure, show
from groundwire.cli.console import open_console
from groundwire.verifiers.lexical import compare

HELD = Path(__file__).with_name("languages_held.jsonl")
app = command()


def rows(path: Path) -> list[dict[str, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def measure(found: Sequence[dict[str, Any]]) -> Iterator[Figure]:
    decided, right = Counter[str](), Counter[str]()
    for row in found:
        by = compare(row["claim"], row["context"]).rule or "undecided"
        decided[by] += 1
        right[by] += is_right(by, row["nli"])
    for by in ("words", "silence", "roles", "negation", "fact"):
        yield Figure(f"decided by {by}: right, of {decided[by]}", right[by], "")
    yield Figure(f"undecided, of {len(found)}", decided["undecided"], "")


def is_right(by: str, label: str) -> bool:
    """Shared words mean entailment, silence anything but that, a difference contradiction."""
    wanted = {"words": ("entailment",), "silence": ("neutral", "contradiction")}
    return label in wanted.get(by, ("contradiction",))


@app.command()
def languages(
    files: Annotated[list[Path] | None, typer.Argument(help="Default: languages_held.jsonl.")] = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Print, per way to decide, how often it was taken and how often it was right."""
    found = [row for path in files or [HELD] for row in rows(path)]
    raise typer.Exit(show(open_console(), measure(found), as_json=as_json))


if __name__ == "__main__":
    run(app)
