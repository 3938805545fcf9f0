"""What a batch comes to: its counts, whether it passes, and the files that say so.

All of it is kept in bounded memory: rows and reports wait in a temporary file until the counts are known.
"""

from __future__ import annotations

import heapq
import json
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self

from groundwire._optional import load
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
        if self.table is not None and self.table.suffix == ".parquet":
            load("pyarrow", feature="Parquet output", extra="pandas")  # fail before any row is checked

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


class BatchTally:
    """Counts the reports of a run and of the run that it resumes, and writes the gate's files."""

    def __init__(self, name: str, gate: Gate | None = None) -> None:
        self.name, self.gate, self.figures = name, gate or Gate(), BatchSummary()
        self._worst: list[tuple[float, int, Mapping[str, Any]]] = []
        # On disk: the counts are written first in the files but known last.
        self._spool = tempfile.TemporaryFile() if self.gate.files else None  # noqa: SIM115 (__exit__ closes it)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._spool is not None:
            self._spool.close()

    def add(self, line: str, row: BatchRow) -> None:
        verdict: dict[str, Any] = json.loads(line)
        self.figures.add(verdict, self._group(row))
        if verdict["flagged"] is None and len(self.figures.errors) < LISTED_ROWS:
            self.figures.errors.append(verdict)
        elif verdict["flagged"]:
            # The number breaks ties in favour of the earlier row; dicts cannot be compared.
            ranked = (verdict["risk"] or 0.0, -self.figures.rows, verdict)
            (heapq.heappush if len(self._worst) < LISTED_ROWS else heapq.heappushpop)(self._worst, ranked)
        if self._spool is not None:
            pickle.dump((line, row), self._spool)

    def write(self) -> None:
        """Write the files."""
        gate, figures, outcome = self.gate, self.figures, self.gate.describe(self.figures)
        figures.worst = [verdict for *_, verdict in sorted(self._worst, key=lambda r: r[:2], reverse=True)]
        if gate.junit is not None:
            counts = {"tests": figures.rows, "failures": figures.flagged, "errors": figures.failed}
            cases = (junit_case(verdict, self.name) for verdict, _ in self._spooled())
            write_atomic(gate.junit, junit_document(self.name, counts, cases))
        if gate.summary is not None:
            write_atomic(gate.summary, batch_markdown(self.name, figures, outcome))
        if gate.html is not None:
            summary = " · ".join(filter(None, (figures.describe(), outcome)))
            rows = (batch_row(_row_report(v, row), row.number, self._group(row) or "") for v, row in self._spooled())
            write_atomic(gate.html, batch_page(self.name, summary, group_table(figures), rows))
        if gate.sarif is not None:
            write_atomic(gate.sarif, self._sarif())
        if gate.table is not None:
            with TableFile(gate.table) as table:
                for verdict, row in self._spooled():
                    table.rows.add(claim_rows(verdict, self._group(row) or ""))
                table.finish()

    def _sarif(self) -> Iterator[str]:
        rules: dict[str, str] = {}
        for verdict, row in self._spooled():
            rules |= sarif_rules(_row_report(verdict, row))
        failures = [f"{row['id']}: {row['error'] or 'could not be checked'}" for row in self.figures.errors]
        if self.figures.failed > len(failures):
            failures.append(f"… and {self.figures.failed - len(failures)} more rows could not be checked")
        found = (row_results(_row_report(v, row), row.number, self.name) for v, row in self._spooled())
        return batch_sarif(self.name, rules, failures, chain.from_iterable(found))

    def _spooled(self) -> Iterator[tuple[dict[str, Any], BatchRow]]:
        """The verdicts with their rows, one at a time."""
        if self._spool is not None:
            self._spool.seek(0)
            for _ in range(self.figures.rows):
                line, row = pickle.load(self._spool)
                yield json.loads(line), row

    def _group(self, row: BatchRow) -> str | None:
        return None if self.gate.group_by is None else row_group(row, self.gate.group_by)

    @property
    def exit_code(self) -> ExitCode:
        return self.gate.exit_code(self.figures)


def _row_report(verdict: Mapping[str, Any], row: BatchRow) -> HallucinationReport:
    try:
        parsed = parse_row(row.raw)
        response, texts = parsed.response, {source.id: source.text for source in parsed.sources}
    except GroundwireError:  # the report says why the row could not be checked
        response, texts = "", {}
    return report_from(verdict, response, lambda source, start, end: texts.get(source, "")[start:end])


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
