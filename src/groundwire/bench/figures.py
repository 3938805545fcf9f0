"""Measured figures with their targets, as a table or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

_COLUMNS = (("figure", "left"), ("measured", "right"), ("", "left"), ("bar", "left"))


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number; `bar` is its target, if it has one."""

    name: str
    value: float
    unit: str
    bar: str = ""


def show(console: Console, figures: Iterable[Figure], *, as_json: bool) -> int:
    """Print figures as a table, or as JSON to stdout; returns the exit code."""
    found = list(figures)
    if as_json:
        print(json.dumps([asdict(figure) for figure in found], indent=2))
        return 0
    table = Table(box=None, pad_edge=False)
    for column, side in _COLUMNS:
        table.add_column(column, justify=side)  # type: ignore[arg-type]
    for figure in found:
        table.add_row(figure.name, f"{figure.value:,.4g}", figure.unit, figure.bar)
    console.print(table)
    return 0
