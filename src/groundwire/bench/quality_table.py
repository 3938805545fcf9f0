"""Quality figures for people (a table) and for programs (JSON)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isnan
from typing import Literal

from rich.table import Table

from groundwire.bench.quality_figures import ALL, HEADLINE, OURS, QualityFigures

Slices = Mapping[tuple[str, str], Mapping[str, QualityFigures]]
"""(set, task) → system → figures."""


def tables(figures: Sequence[QualityFigures]) -> list[Table]:
    """Ours in full, then everyone's ranking (AUROC) and everyone's flags (F1), a line a set or task."""
    by_slice: dict[tuple[str, str], dict[str, QualityFigures]] = {}
    for one in figures:
        by_slice.setdefault((one.set, one.task), {})[one.system] = one
    return [_ours(by_slice), _beside(by_slice, "auroc"), _beside(by_slice, "f1")]


def _ours(by_slice: Slices) -> Table:
    found = _table(OURS, ("rows", "bad", "AUROC", "F1", "bal.acc", "ECE", "span F1", "against F1"))
    found.add_column("from", no_wrap=True)
    for (name, task), systems in by_slice.items():
        one = systems[OURS]
        kept = (one.auroc, one.f1, one.balanced_accuracy, one.calibration_error, one.span_f1)
        numbers = (*kept, one.contradiction_f1)
        origin = f"{one.origin}, {one.failed} failed" if one.failed else one.origin
        found.add_row(_label(name, task), f"{one.rows:,}", f"{one.bad:.0%}", *map(_three, numbers), origin)
    return found


def _beside(by_slice: Slices, figure: Literal["auroc", "f1"]) -> Table:
    """Only those for whom the figure means something: who never flags has no F1, who flags all no ranking."""
    names = list(next(iter(by_slice.values()), {}))
    without = ("new words", "length") if figure == "f1" else ("flag all",)
    shown = [name for name in names if name not in without]
    found = _table(figure.upper(), shown)
    for (name, task), systems in by_slice.items():
        found.add_row(_label(name, task), *(_three(getattr(systems[system], figure)) for system in shown))
    return found


def _table(title: str, columns: Sequence[str]) -> Table:
    found = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    found.add_column(title, no_wrap=True)
    for column in columns:
        found.add_column(column, justify="right", no_wrap=True)
    return found


def _label(name: str, task: str) -> str:
    return name if task == ALL else f"  {task}"


def _three(value: float) -> str:
    return "–" if isnan(value) else f"{value:.3f}".removeprefix("0")


def means(figures: Sequence[QualityFigures]) -> dict[str, float]:
    """Each system's AUROC averaged over the sets other than RAGTruth: no set counts twice for its size."""
    found: dict[str, list[float]] = {}
    for one in figures:
        if one.task == ALL and one.set != HEADLINE and not isnan(one.auroc):
            found.setdefault(one.system, []).append(one.auroc)
    return {system: sum(values) / len(values) for system, values in found.items()}


def mean_contradiction(figures: Sequence[QualityFigures]) -> float | None:
    """Averaged over the sets that know of the unsupported whether the context speaks against it."""
    found = [one.contradiction_f1 for one in figures if one.task == ALL and one.system == OURS]
    known = [value for value in found if not isnan(value)]
    return sum(known) / len(known) if known else None


def as_json(figures: Sequence[QualityFigures], facts: Mapping[str, object]) -> str:
    """`facts` say how the figures came about; what cannot be said is null."""
    rows = [{key: _plain(value) for key, value in asdict(one).items()} for one in figures]
    mean = {system: round(value, 4) for system, value in means(figures).items()}
    told = mean_contradiction(figures)
    means_of = {
        "mean_auroc_of_other_sets": mean,
        "mean_contradiction_f1": None if told is None else round(told, 4),
    }
    return json.dumps({**facts, **means_of, "figures": rows}, indent=1) + "\n"


def _plain(value: object) -> object:
    if isinstance(value, float):
        return None if isnan(value) else round(value, 4)
    return value
