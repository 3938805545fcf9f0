"""The files of a batch: rows from JSON lines or Parquet, and the reports that were written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from groundwire._optional import load
from groundwire.cli.console import stdin_bytes
from groundwire.errors import InputError
from groundwire.integrations.rows import BatchRow
from groundwire.integrations.udf import record_line

STREAM = Path("-")
_GROUP_ROWS = 256
"""Rows of a Parquet file in memory at once: a response with its sources may be large."""


def is_stream(path: Path) -> bool:
    """True for stdin, stdout, a pipe or a device, which can be read only once."""
    return path == STREAM or (path.exists() and not path.is_file() and not path.is_dir())


def is_parquet(path: Path) -> bool:
    return path.suffix == ".parquet"


def read_rows(path: Path) -> Iterator[BatchRow]:
    """The rows of a file, numbered from 1; blank lines are skipped."""
    lines = map(record_line, _records(path)) if is_parquet(path) else _lines(path)
    yield from (BatchRow(number, line) for number, line in enumerate(lines, start=1))


def read_reports(path: Path) -> Iterator[str]:
    """The lines that a batch wrote, also those in the column `report` of a Parquet file."""
    if is_parquet(path):
        yield from (record["report"] for record in _records(path, ["report"]))
    else:
        with path.open(encoding="utf-8") as file:
            yield from file


def _lines(path: Path) -> Iterator[bytes]:
    with nullcontext(stdin_bytes()) if path == STREAM else path.open("rb") as file:
        yield from (line for line in file if line.strip())


def _records(path: Path, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
    arrow = load("pyarrow", feature="Parquet", extra="pandas")
    parquet = load("pyarrow.parquet", feature="Parquet", extra="pandas")
    try:
        with parquet.ParquetFile(path) as file:
            for group in file.iter_batches(_GROUP_ROWS, columns=columns):
                yield from group.to_pylist()
    except arrow.ArrowException as error:
        raise InputError(f"{path} is not a Parquet file: {error}") from None
