"""What a batch comes to: its counts, whether it passes, and the files that say so.

All of it is kept in bounded memory: what a file needs at its end waits in temporary files.
"""

from __future__ import annotations

import heapq
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from groundwire.cli.console import ExitCode, write_atomic
from groundwire.errors import GroundwireError, InputError
from groundwire.integrations.rows import BatchRow, parse_row, row_group
from groundwire.reports.batch import (
    LISTED_ROWS,
    BatchSummary,
    batch_markdown,
    batch_sarif,
    group_table,
    junit_case,
    junit_document,
    percent,
    row_results,
    sarif_rules,
)
from groundwire.reports.html import batch_page, batch_row
from groundwire.reports.parse import report_from
from groundwire.reports.tables import CsvTable, ParquetTable, claim_rows
from groundwire.types import HallucinationReport

_GATE_OUTCOMES = {ExitCode.OK: "passed", ExitCode.FLAGGED: "failed", ExitCode.COULD_NOT_CHECK: "undecided"}
_ROW_END = "\x00"
"""Ends a row of the page in its temporary file; sanitized HTML has none."""


@dataclass(frozen=True, slots=True)
class Gate:
    """When a batch passes, and the files it writes beside its reports.

    `max_rate` is the share of responses that may be flagged; `group_by` is a key of the input rows.
    """

    max_rate: float | None = None
    junit: Path | None = None
    summary: Path | None = None
    html: Path | None = None
    table: Path | None = None
    sarif: Path | None = None
    group_by: str | None = None

    def __post_init__(self) -> None:
        if self.max_rate is not None and not 0.0 <= self.max_rate <= 1.0:
            raise InputError(f"--max-rate must be between 0 and 1, got {self.max_rate:g}")
        for path in self.files:
            if path.is_dir() or not path.parent.is_dir():
                raise InputError(f"cannot write {path}", hint="the folder must exist")
        if len(set(self.files)) < len(self.files):
            raise InputError("--junit, --summary, --html, --table and --sarif must name different files")
        if self.table is not None and self.table.suffix not in (".csv", ".parquet"):
            raise InputError(f"--table {self.table} has no known format", hint="use a .csv or .parquet file")

    @property
    def files(self) -> tuple[Path, ...]:
        paths = (self.junit, self.summary, self.html, self.table, self.sarif)
        return tuple(path for path in paths if path is not None)

    def exit_code(self, figures: BatchSummary) -> ExitCode:
        """Without a rate: 1 if anything is flagged, else 3 if anything could not be checked.

        With a rate: a response that could not be checked may count either way, so the gate passes or fails
        only if the outcome is the same in both cases; otherwise it is undecided.
        """
        if self.max_rate is None:
            return ExitCode.of(True if figures.flagged else None if figures.failed else False)
        allowed = self.max_rate * figures.rows + 1e-9  # 0.29 * 100 is 28.999999999999996
        if figures.flagged > allowed:
            return ExitCode.FLAGGED
        passes = figures.rows and figures.flagged + figures.failed <= allowed
        return ExitCode.OK if passes else ExitCode.COULD_NOT_CHECK

    def describe(self, figures: BatchSummary) -> str:
        """The outcome in one line; empty without a gate."""
        if self.max_rate is None:
            return ""
        if not figures.rows:
            return "gate undecided: there were no rows"
        low, high = figures.flagged / figures.rows, (figures.flagged + figures.failed) / figures.rows
        found = percent(low) if low == high else f"{percent(low)} to {percent(high)}"
        outcome = _GATE_OUTCOMES[self.exit_code(figures)]
        return f"gate {outcome}: {found} flagged, at most {percent(self.max_rate)} allowed"


@dataclass(slots=True)
class BatchTally:
    """Counts the reports of a run and of the run that it resumes, and writes the gate's files."""

    name: str
    gate: Gate = field(default_factory=Gate)
    figures: BatchSummary = field(default_factory=BatchSummary)
    _cases: IO[str] | None = None
    _page: IO[str] | None = None
    _table: TableFile | None = None
    _results: IO[str] | None = None
    _rules: dict[str, str] = field(default_factory=dict)
    _worst: list[tuple[float, int, Mapping[str, Any]]] = field(default_factory=list)
    _errors: list[Mapping[str, Any]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        # On disk: the counts are written first in the files but known last.
        if self.gate.junit is not None:
            self._cases = self._open.enter_context(_spool())
        if self.gate.html is not None:
            self._page = self._open.enter_context(_spool())
        if self.gate.sarif is not None:
            self._results = self._open.enter_context(_spool())
        if self.gate.table is not None:
            self._table = self._open.enter_context(TableFile(self.gate.table))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def add(self, line: str, row: BatchRow) -> None:
        verdict: dict[str, Any] = json.loads(line)
        group = None if self.gate.group_by is None else row_group(row, self.gate.group_by)
        self.figures.add(verdict, group)
        self._keep_worst(verdict)
        if self._cases is not None:
            self._cases.write(junit_case(verdict, self.name))
        if self._page is not None or self._results is not None:
            report = _row_report(verdict, row)
            if self._page is not None:
                self._page.write(batch_row(report, row.number, group or "") + _ROW_END)
            if self._results is not None:
                self._rules |= sarif_rules(report)
                self._results.writelines(f"{found}\n" for found in row_results(report, row.number, self.name))
        if self._table is not None:
            self._table.rows.add(claim_rows(verdict, group or ""))

    def _keep_worst(self, verdict: Mapping[str, Any]) -> None:
        if verdict["flagged"] is None and len(self._errors) < LISTED_ROWS:
            self._errors.append(verdict)
        elif verdict["flagged"]:
            # The number breaks ties in favour of the earlier row; dicts cannot be compared.
            ranked = (verdict["risk"] or 0.0, -next(self._numbers), verdict)
            (heapq.heappush if len(self._worst) < LISTED_ROWS else heapq.heappushpop)(self._worst, ranked)

    def write(self) -> None:
        """Write the files."""
        figures, outcome = self.figures, self.gate.describe(self.figures)
        figures.worst = [verdict for _, _, verdict in sorted(self._worst, key=lambda r: r[:2], reverse=True)]
        figures.errors = self._errors
        if self.gate.junit is not None and self._cases is not None:
            counts = {"tests": figures.rows, "failures": figures.flagged, "errors": figures.failed}
            self._cases.seek(0)
            write_atomic(self.gate.junit, junit_document(self.name, counts, self._cases))
        if self.gate.summary is not None:
            write_atomic(self.gate.summary, batch_markdown(self.name, figures, outcome))
        if self.gate.html is not None and self._page is not None:
            summary = " · ".join(filter(None, (figures.describe(), outcome)))
            rows = _page_rows(self._page)
            write_atomic(self.gate.html, batch_page(self.name, summary, group_table(figures), rows))
        if self.gate.sarif is not None and self._results is not None:
            self._results.seek(0)
            failures = [f"{row['id']}: {row['error'] or 'could not be checked'}" for row in self._errors]
            if figures.failed > len(failures):
                failures.append(f"… and {figures.failed - len(failures)} more rows could not be checked")
            write_atomic(self.gate.sarif, batch_sarif(self.name, self._rules, failures, self._results))
        if self._table is not None:
            self._table.finish()

    @property
    def exit_code(self) -> ExitCode:
        return self.gate.exit_code(self.figures)


def _spool() -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace", newline="")


def _row_report(verdict: Mapping[str, Any], row: BatchRow) -> HallucinationReport:
    try:
        parsed = parse_row(row.raw)
        response, texts = parsed.response, {source.id: source.text for source in parsed.sources}
    except GroundwireError:  # the report says why the row could not be checked
        response, texts = "", {}
    return report_from(verdict, response, lambda source, start, end: texts.get(source, "")[start:end])


def _page_rows(file: IO[str]) -> Iterator[str]:
    """The rows from the temporary file, one at a time."""
    file.seek(0)
    rest = ""
    while chunk := file.read(1_000_000):
        *rows, rest = (rest + chunk).split(_ROW_END)
        yield from rows


class TableFile:
    """A CSV or Parquet file that appears under its name when it is complete."""

    def __init__(self, path: Path, make: Callable[[Path], ParquetTable] = ParquetTable) -> None:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        self._path, self._part = path, Path(name)
        self._file = os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="")
        try:
            csv = path.suffix == ".csv"
            self.rows: CsvTable | ParquetTable = CsvTable(self._file) if csv else make(self._part)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._part.unlink(missing_ok=True)

    def finish(self) -> None:
        self.rows.close()
        self._file.close()
        self._part.chmod(0o644)
        self._part.replace(self._path)
