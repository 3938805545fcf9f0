"""Claims as a flat table, one row per claim: for pandas, CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from groundwire._optional import load
from groundwire.reports.json import report_object
from groundwire.text.controls import inert_cell
from groundwire.types import HallucinationReport

_EXTRA = {"extra": "pandas"}
_TEXTS = ("id", "text", "status", "gap_type", "reason", "method", "key")
_FIGURES = ("p1", "p0", "required_bits", "observed_bits", "budget_gap", "confidence")
_CLAIM_COLUMNS = {
    **dict.fromkeys(_TEXTS, "string"),
    "flagged": "bool_",
    **dict.fromkeys(_FIGURES, "float64"),
    **dict.fromkeys(("start", "end"), "int64"),
}
COLUMNS = {
    "response": "string",
    "group": "string",
    "response_flagged": "bool_",
    "response_risk": "float64",
    "error": "string",
    **_CLAIM_COLUMNS,
    "citations": "string",
    "sources": "string",
}
"""The columns and their Arrow types. The claim's own are named as in the JSON."""


def claim_rows(report: Mapping[str, Any], group: str = "") -> Iterator[dict[str, Any]]:
    """One row per claim of a report's JSON object; one without a claim if there are none."""
    whole = {
        "response": str(report["id"]),
        "group": group,
        "response_flagged": report["flagged"],
        "response_risk": report["risk"],
        "error": report["error"],
    }
    claims: Iterable[Mapping[str, Any]] = report["claims"] or ({},)
    for claim in claims:
        own = {name: claim.get(name) for name in _CLAIM_COLUMNS}
        sources = dict.fromkeys(ref["source"] for ref in claim.get("evidence", ()))
        yield {**whole, **own, "citations": ", ".join(claim.get("citations", ())), "sources": ", ".join(sources)}


def claims_frame(report: HallucinationReport) -> Any:
    """The report as a pandas DataFrame."""
    pandas = load("pandas", feature="to_pandas()", **_EXTRA)
    frame = pandas.DataFrame(list(claim_rows(report_object(report))), columns=list(COLUMNS)).drop(columns="group")
    # The same types whether or not all is measured, so that the frames of many reports can be put together.
    return frame.astype(dict.fromkeys(("response_risk", *_FIGURES), "float64"))


def csv_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The rows as CSV with a header; text that a spreadsheet would take for a formula is quoted."""
    line = io.StringIO(newline="")
    writer = csv.DictWriter(line, COLUMNS)
    writer.writeheader()
    for row in rows:
        writer.writerow({name: inert_cell(v) if isinstance(v, str) else v for name, v in row.items()})
        yield line.getvalue()
        line.seek(0)
        line.truncate()
    yield line.getvalue()  # the header, if there are no rows


def arrow_schema(columns: Mapping[str, str]) -> Any:
    arrow = load("pyarrow", feature="Parquet output", **_EXTRA)
    return arrow.schema([(name, getattr(arrow, kind)()) for name, kind in columns.items()])


def write_parquet(
    path: Path, rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str] = COLUMNS, group: int = 20_000
) -> None:
    """Write rows as Parquet; needs the extra `pandas`. `group` is how many are in memory at once: some megabytes."""
    arrow = load("pyarrow", feature="Parquet output", **_EXTRA)
    parquet = load("pyarrow.parquet", feature="Parquet output", **_EXTRA)
    schema, remaining = arrow_schema(columns), iter(rows)
    with parquet.ParquetWriter(str(path), schema) as writer:
        while some := list(islice(remaining, group)):
            writer.write_table(arrow.Table.from_pylist(some, schema=schema))
