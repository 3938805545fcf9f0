"""`groundwire batch`: check many responses, and gate a CI job on the result. `groundwire compare`: two such runs.

Rows are streamed in and out with bounded memory, as JSON lines or Parquet. The output has exactly one report
per input row, in the same order, with a digest of the row and the settings; that makes `--resume` safe: lines
whose digest matches are kept, and a line cut short by a kill is written again. For the files that are written
beside it, rows and reports wait in a temporary file until the counts are known.
"""

from __future__ import annotations

import heapq
import json
import os
import pickle
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Self

import typer
from rich.console import Console

from groundwire._loop import run
from groundwire._optional import load
from groundwire.cli.console import ExitCode, print_result, replacement, stdin_bytes, write_atomic
from groundwire.cli.options import AsJson, command
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, GroundwireError, InputError
from groundwire.integrations.rows import (
    CONCURRENT_ROWS,
    BatchRow,
    judge_row,
    judge_rows,
    parse_row,
    row_digest,
    row_group,
)
from groundwire.integrations.udf import VERDICT_COLUMNS, check_on_ray, process_engine, record_line, verdict_record
from groundwire.reports.batch import (
    LISTED_ROWS,
    BatchSummary,
    batch_markdown,
    batch_sarif,
    compare_runs,
    junit_case,
    junit_document,
    percent,
    row_results,
    sarif_rules,
)
from groundwire.reports.feedback import FeedbackReader
from groundwire.reports.html import batch_page, batch_row
from groundwire.reports.json import report_from
from groundwire.reports.tables import claim_rows, csv_lines, write_parquet
from groundwire.reports.terminal import progress_bar, show_batch, show_comparison
from groundwire.types import HallucinationReport

# ---- what a batch comes to: its counts, whether it passes, and the files that say so

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
            write_atomic(gate.html, batch_page(self.name, summary, figures.group_table(), rows))
        if gate.sarif is not None:
            write_atomic(gate.sarif, self._sarif())
        if gate.table is not None:
            claims = (claim for v, row in self._spooled() for claim in claim_rows(v, self._group(row) or ""))
            if gate.table.suffix == ".csv":
                write_atomic(gate.table, csv_lines(claims))
            else:
                with replacement(gate.table) as part:
                    write_parquet(part, claims)

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


def _row_report(verdict: Mapping[str, Any], row: BatchRow) -> HallucinationReport:
    try:
        parsed = parse_row(row.raw)
        response, texts = parsed.response, {source.id: source.text for source in parsed.sources}
    except GroundwireError:  # the report says why the row could not be checked
        response, texts = "", {}
    return report_from(verdict, response, lambda source, start, end: texts.get(source, "")[start:end])


# ---- the run

ENGINES = ("local", "ray")
STREAM = Path("-")
_GROUP_ROWS = 256
"""Rows of a Parquet file in memory at once: a response with its sources may be large."""
_REPORTS_IN_MEMORY = 1000
"""Reports per row group of a Parquet file: each has some kilobytes."""


@command("backend", "model", "labels", "target", "profile")
def batch(
    rows: Annotated[
        Path,
        typer.Argument(
            metavar="IN", help="Responses with their sources: JSON lines ('-' is stdin), or a .parquet file."
        ),
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="One report per row: JSON lines ('-' is stdout), or a .parquet file.")
    ],
    engine: Annotated[str, typer.Option(help="local, or ray for many machines.")] = "local",
    resume: Annotated[bool, typer.Option("--resume", help="Continue an earlier run that stopped.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    max_rate: Annotated[
        float | None, typer.Option(help="Fail only if a larger share than this is flagged, 0 to 1.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML, one test case per row.")] = None,
    summary: Annotated[Path | None, typer.Option(help="Write a summary in Markdown.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page to sort and to filter.")] = None,
    table: Annotated[Path | None, typer.Option(help="Write one row per claim: a .csv or .parquet file.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Write SARIF, with each finding at the line of its row.")] = None,
    group_by: Annotated[
        str | None, typer.Option(metavar="KEY", help="Count by this key of the input rows, such as meta.model.")
    ] = None,
    *,
    config: Config,
) -> ExitCode:
    """Judge many responses. A row that cannot be checked is reported as such, and the rest continue."""
    gate = Gate(max_rate, junit, summary, html, table, sarif, group_by)
    return run_batch(BatchArgs(rows, out, engine, resume, workers, gate), config, Console(stderr=True))


@dataclass(frozen=True, slots=True)
class BatchArgs:
    rows: Path
    out: Path
    engine: str = "local"
    resume: bool = False
    workers: int = 1
    gate: Gate = field(default_factory=Gate)


class BatchInterrupted(GroundwireError):
    exit_code = ExitCode.INTERRUPTED


def run_batch(args: BatchArgs, config: Config, console: Console) -> ExitCode:
    _validate(args)
    engine = Groundwire(config)  # before the output is touched: a bad configuration must not truncate it
    with BatchTally(str(args.rows), args.gate) as tally:
        with _json_lines(args) as chosen:
            _run(chosen, engine, tally, console)
        show_batch(tally.figures, args.gate.describe(tally.figures), console)
        tally.write()
        return args.gate.exit_code(tally.figures)


def _run(args: BatchArgs, engine: Groundwire, tally: BatchTally, console: Console) -> None:
    with (
        FeedbackReader(engine.config) as feedback,
        _opened(args, tally, engine.config) as out,
        progress_bar(console) as progress,
    ):
        total = None if is_stream(args.rows) else sum(1 for _ in read_rows(args.rows))
        done = tally.figures.rows
        bar = progress.add_task("checking", total=total, completed=done)
        waiting: deque[BatchRow] = deque()  # rows that were taken but whose line has not come back yet

        def taken() -> Iterator[BatchRow]:
            for row in islice(read_rows(args.rows), done, None):
                waiting.append(row)
                yield row

        for line in map(feedback.annotate_json, _judged(taken(), args, engine)):
            out.write(line.encode("utf-8", "backslashreplace") + b"\n")
            out.flush()
            tally.add(line, waiting.popleft())
            progress.advance(bar)


def _validate(args: BatchArgs) -> None:
    if args.engine not in ENGINES:
        raise InputError(f"unknown engine '{args.engine}'", hint=f"use one of {', '.join(ENGINES)}")
    streams = [path for path in (args.rows, args.out) if is_stream(path)]
    if args.resume and streams:
        raise InputError(f"--resume needs a file, not the stream {streams[0]}")
    if not is_stream(args.rows) and not args.rows.is_file():
        raise InputError(f"{args.rows} is not a file")
    if args.out.exists() and args.rows.exists() and args.out.samefile(args.rows):
        raise InputError("input and output are the same file", hint="choose another -o")
    if args.out.is_dir() or not args.out.parent.is_dir():
        raise InputError(f"cannot write {args.out}", hint="-o must be a file in an existing folder")
    if args.out.suffix.casefold() == ".csv":
        raise InputError("-o writes JSON lines or Parquet, not CSV", hint=f"--table {args.out} writes CSV")
    taken = {args.rows.resolve(), args.out.resolve()}
    clash = next((path for path in args.gate.files if path.resolve() in taken), None)
    if clash is not None:
        raise InputError(f"{clash} is the input or the output", hint="choose another file for the summary")


@contextmanager
def _json_lines(args: BatchArgs) -> Iterator[BatchArgs]:
    """The arguments with JSON lines as output, of which a Parquet file is made when all are written.

    Lines can be appended and resumed, a Parquet file cannot: it appears only when it is complete.
    """
    if not is_parquet(args.out):
        yield args
        return
    load("pyarrow", feature="Parquet", extra="pandas")  # fail before any row is checked
    lines = args.out.with_name(f".{args.out.name}.part")
    if args.resume and args.out.exists() and not lines.exists():
        lines.write_text("".join(line + "\n" for line in read_reports(args.out)), encoding="utf-8")
    yield replace(args, out=lines)
    with replacement(args.out) as part, lines.open(encoding="utf-8") as file:
        records = (verdict_record(line.rstrip("\n")) for line in file)
        write_parquet(part, records, VERDICT_COLUMNS, _REPORTS_IN_MEMORY)
    lines.unlink()


@contextmanager
def _opened(args: BatchArgs, tally: BatchTally, config: Config) -> Iterator[BinaryIO]:
    """The output, positioned where the next line goes; lines that exist already are tallied."""
    try:
        with _open(args.out) as out:
            if not is_stream(args.out):
                _lock(out, args.out)
                out.truncate(_valid_bytes(out, args, tally, config) if args.resume else 0)
                out.seek(0, 2)
            yield out
    except KeyboardInterrupt:
        raise BatchInterrupted("interrupted", hint="" if is_stream(args.out) else "continue with --resume") from None
    except OSError as error:
        resumable = tally.figures.rows and not is_stream(args.out)
        hint = "the last line may be cut off; --resume drops it and continues" if resumable else ""
        raise InputError(f"cannot write {args.out}: {error.strerror}", hint=hint) from None


def _open(path: Path) -> BinaryIO:
    """Open without truncating: the lines of an earlier run stay until the file is locked."""
    if path == STREAM:
        return os.fdopen(os.dup(1), "wb")
    if is_stream(path):  # cannot be opened for reading too
        return path.open("wb")
    return path.open("r+b" if path.exists() else "w+b")


def _lock(out: BinaryIO, path: Path) -> None:
    """Two runs on one output would mix their lines. The kernel releases the lock even after a kill."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"another run is writing to {path}", hint="wait for it, or choose another -o") from None


def _valid_bytes(out: BinaryIO, args: BatchArgs, tally: BatchTally, config: Config) -> int:
    """The length of an earlier run's output up to its last complete line; each must match its input row."""
    valid = 0
    for row, line in zip(read_rows(args.rows), out, strict=False):
        if not line.endswith(b"\n"):
            break
        try:
            same = _parse_report(line).get("digest") == row_digest(row, config)
        except (ValueError, RecursionError):
            break
        if not same:
            made = f"{args.out} was not made from {args.rows} with these settings"
            hint = "use another -o, or start over without --resume; another release counts as other settings"
            raise InputError(f"{made} (line {tally.figures.rows + 1})", hint=hint)
        tally.add(line.decode("utf-8"), row)
        valid += len(line)
    return valid


def _parse_report(line: bytes | str) -> dict[str, Any]:
    """A line of a run; raises `ValueError` if it is not a report."""
    found = json.loads(line)
    if not isinstance(found, dict) or not {"id", "flagged", "claims"} <= found.keys():
        raise ValueError("not a report")
    return found


def _judged(rows: Iterator[BatchRow], args: BatchArgs, engine: Groundwire) -> Iterator[str]:
    """One line of JSON per row, in input order, with a bounded number of rows in memory."""
    try:
        if args.engine == "ray":
            yield from check_on_ray(rows, args.workers, engine.config)
        elif args.workers > 1:
            yield from _in_processes(rows, args.workers, engine.config)
        else:
            yield from judge_rows(engine, rows)
    finally:
        run(engine.aclose())


def _in_processes(rows: Iterator[BatchRow], workers: int, config: Config) -> Iterator[str]:
    pickled, waiting = pickle.dumps({"config": config}), deque[Future[str]]()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        try:
            for row in rows:
                waiting.append(pool.submit(_judge_in_worker, pickled, row))
                if len(waiting) >= CONCURRENT_ROWS * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            hint = "continue with --resume, perhaps with fewer --workers"
            raise BackendDown("a worker process died", hint=hint) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _judge_in_worker(pickled: bytes, row: BatchRow) -> str:
    return run(judge_row(process_engine(pickled), row))


# ---- the files of a batch: rows from JSON lines or Parquet, and the reports that were written


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


# ---- two runs compared

_RUN_HELP = "What `groundwire batch -o` wrote."


@command()
def compare(
    run1: Annotated[Path, typer.Argument(metavar="RUN1", help=f"{_RUN_HELP} The earlier run.")],
    run2: Annotated[Path, typer.Argument(metavar="RUN2", help=f"{_RUN_HELP} The later run.")],
    as_json: AsJson = False,
    *,
    console: Console,
) -> ExitCode:
    """Show which responses and claims changed from RUN1 to RUN2. Exit code 1 if any became flagged."""
    found = compare_runs(read_run(run1), read_run(run2))
    if not found.responses:
        raise InputError(f"{run1} and {run2} have no response in common", hint="responses are matched by id")
    shown = {**asdict(found), "p_value": round(found.p_value, 6)}
    print_result(as_json, shown, lambda: show_comparison(found, console))
    return ExitCode.of(bool(found.broken))


def read_run(path: Path) -> dict[str, dict[str, Any]]:
    """The reports of a run by id."""
    found: dict[str, dict[str, Any]] = {}
    try:
        for number, line in enumerate(read_reports(path), start=1):
            try:
                report = _parse_report(line)
            except (ValueError, RecursionError):
                raise InputError(f"{path}: line {number} is not a report", hint="give the -o file of a batch") from None
            if report["id"] in found:
                raise InputError(f"{path}: the id {report['id']!r} occurs twice", hint="ids must be unique")
            found[report["id"]] = report
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    return found
