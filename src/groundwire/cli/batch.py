"""`groundwire batch`: check many responses, and gate a CI job on the result. `groundwire compare`: two such runs.

Rows are streamed in and out with bounded memory, as JSON lines or Parquet. The output has exactly one report
per input row, in the same order, with a digest of the row and the settings; that makes `--resume` safe: lines
whose digest matches are kept, and a line cut short by a kill is written again.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer
from rich.console import Console

from groundwire._loop import run
from groundwire._optional import load
from groundwire.cli.console import ExitCode, print_result, stdin_bytes
from groundwire.cli.options import AsJson, command
from groundwire.cli.tally import BatchTally, Gate, TableFile
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, GroundwireError, InputError
from groundwire.integrations.rows import CONCURRENT_ROWS, BatchRow, judge_row, judge_rows, row_digest
from groundwire.integrations.udf import VERDICT_COLUMNS, check_on_ray, process_engine, record_line, verdict_record
from groundwire.reports.batch import compare_runs
from groundwire.reports.feedback import FeedbackReader
from groundwire.reports.tables import ParquetTable
from groundwire.reports.terminal import progress_bar, show_batch, show_comparison

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
        return tally.exit_code


def _run(args: BatchArgs, engine: Groundwire, tally: BatchTally, console: Console) -> None:
    with (
        FeedbackReader(engine.config) as feedback,
        _opened(args, tally, engine.config) as out,
        progress_bar(console) as progress,
    ):
        total = None if is_stream(args.rows) else sum(1 for _ in read_rows(args.rows))
        done = tally.figures.rows
        bar = progress.add_task("checking", total=total, completed=done)
        rows, waiting = tee_rows(islice(read_rows(args.rows), done, None))
        for line in map(feedback.annotate_json, _judged(rows, args, engine)):
            out.write(line.encode("utf-8", "backslashreplace") + b"\n")
            out.flush()
            tally.add(line, waiting.popleft())
            progress.advance(bar)


def tee_rows(rows: Iterator[BatchRow]) -> tuple[Iterator[BatchRow], deque[BatchRow]]:
    """The rows, and a queue of those that were taken but whose line has not come back yet."""
    waiting: deque[BatchRow] = deque()

    def taken() -> Iterator[BatchRow]:
        for row in rows:
            waiting.append(row)
            yield row

    return taken(), waiting


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
    make = partial(ParquetTable, columns=VERDICT_COLUMNS, group=_REPORTS_IN_MEMORY)
    with TableFile(args.out, make) as table, lines.open(encoding="utf-8") as file:
        for line in file:
            table.rows.add([verdict_record(line.rstrip("\n"))])
        table.finish()
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
        except ValueError:
            break
        if not same:
            made = f"{args.out} was not made from {args.rows} with these settings"
            hint = "use another -o, or start over without --resume"
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
