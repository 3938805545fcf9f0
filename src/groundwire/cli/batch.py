"""`groundwire batch`: check many responses, and gate a CI job on the result.

Rows are streamed in and out with bounded memory. The output has exactly one line per input row, in the same
order, with a digest of the row and the settings; that makes `--resume` safe: lines whose digest matches are
kept, and a line cut short by a kill is written again.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import os
import pickle
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Annotated, Any, BinaryIO, Self

import typer
from rich.console import Console

from groundwire._loop import run
from groundwire.cli.console import ExitCode, write_atomic
from groundwire.cli.options import Backend, ConfigFile, ProfileOption, Target, command_app, settings
from groundwire.cli.rows import STREAM, BatchRow, is_stream, judge_row, read_rows, row_digest
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, GroundwireError, InputError
from groundwire.integrations.ray import check_on_ray
from groundwire.reports.batch import (
    LISTED_ROWS,
    BatchSummary,
    batch_markdown,
    junit_case,
    junit_document,
    percent,
)
from groundwire.reports.history import FeedbackReader
from groundwire.reports.terminal import progress_bar

app = command_app()
ENGINES = ("local", "ray")
WINDOW = 8
"""Rows checked concurrently per worker, so that the model can batch their claims."""
_GATE_OUTCOMES = {
    ExitCode.OK: "passed",
    ExitCode.FLAGGED: "failed",
    ExitCode.COULD_NOT_CHECK: "undecided",
}


@app.command()
def batch(
    rows: Annotated[
        Path, typer.Argument(metavar="IN.jsonl", help="One response with its sources per line; '-' is stdin.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="One report per line; '-' is stdout.")],
    engine: Annotated[str, typer.Option(help="local, or ray for many machines.")] = "local",
    resume: Annotated[bool, typer.Option("--resume", help="Continue an earlier run that stopped.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    max_rate: Annotated[
        float | None, typer.Option(help="Fail only if a larger share than this is flagged, 0 to 1.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML, one test case per row.")] = None,
    summary: Annotated[Path | None, typer.Option(help="Write a summary in Markdown.")] = None,
    backend: Backend = None,
    target: Target = None,
    profile: ProfileOption = None,
    config: ConfigFile = None,
) -> None:
    """Judge many responses. A row that cannot be checked is reported as such, and the rest continue."""
    args = BatchArgs(rows, out, engine, resume, workers, Gate(max_rate, junit, summary))
    raise typer.Exit(run_batch(args, settings(config, backend, target, profile), Console(stderr=True)))


@dataclass(frozen=True, slots=True)
class Gate:
    """When a batch passes, and the files a CI job wants.

    `max_rate` is the share of responses that may be flagged; `junit` and `summary` are files to write.
    """

    max_rate: float | None = None
    junit: Path | None = None
    summary: Path | None = None

    def __post_init__(self) -> None:
        if self.max_rate is not None and not 0.0 <= self.max_rate <= 1.0:
            raise InputError(f"--max-rate must be between 0 and 1, got {self.max_rate:g}")
        for path in self.files:
            if path.is_dir() or not path.parent.is_dir():
                raise InputError(f"cannot write {path}", hint="the folder must exist")
        if self.junit is not None and self.junit == self.summary:
            raise InputError("--junit and --summary name the same file")

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(path for path in (self.junit, self.summary) if path is not None)

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
    """Counts the reports of a run, including those of the run that is resumed, in bounded memory."""

    name: str
    gate: Gate = field(default_factory=Gate)
    figures: BatchSummary = field(default_factory=BatchSummary)
    _cases: IO[str] | None = None
    _worst: list[tuple[float, int, Mapping[str, Any]]] = field(default_factory=list)
    _errors: list[Mapping[str, Any]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        if self.gate.junit is not None:
            # On disk: the counts are written first in the file but known last.
            file = TemporaryFile("w+", encoding="utf-8", errors="replace", newline="")
            self._cases = self._open.enter_context(file)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def add(self, line: str) -> None:
        verdict: dict[str, Any] = json.loads(line)
        figures = self.figures
        figures.rows += 1
        figures.flagged += verdict["flagged"] is True
        figures.failed += verdict["flagged"] is None
        if not self.gate.files:
            return
        figures.claims += len(verdict["claims"])
        bad = [claim for claim in verdict["claims"] if claim["flagged"]]
        figures.flagged_claims += len(bad)
        figures.statuses.update(claim["gap_type"] or claim["status"].lower() for claim in bad)
        self._keep_worst(verdict)
        if self._cases is not None:
            self._cases.write(junit_case(verdict, self.name))

    def _keep_worst(self, verdict: Mapping[str, Any]) -> None:
        if verdict["flagged"] is None and len(self._errors) < LISTED_ROWS:
            self._errors.append(verdict)
        elif verdict["flagged"]:
            # The number breaks ties in favour of the earlier row; dicts cannot be compared.
            ranked = (verdict["risk"] or 0.0, -next(self._numbers), verdict)
            (heapq.heappush if len(self._worst) < LISTED_ROWS else heapq.heappushpop)(self._worst, ranked)

    def write(self) -> None:
        """Write the JUnit file and the summary."""
        figures = self.figures
        figures.worst = [verdict for _, _, verdict in sorted(self._worst, key=lambda r: r[:2], reverse=True)]
        figures.errors = self._errors
        if self.gate.junit is not None and self._cases is not None:
            counts = {"tests": figures.rows, "failures": figures.flagged, "errors": figures.failed}
            self._cases.seek(0)
            write_atomic(self.gate.junit, junit_document(self.name, counts, self._cases))
        if self.gate.summary is not None:
            write_atomic(self.gate.summary, batch_markdown(self.name, figures, self.gate.describe(figures)))

    @property
    def exit_code(self) -> ExitCode:
        return self.gate.exit_code(self.figures)


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
        _run(args, engine, tally, console)
        found, gate = tally.figures, args.gate.describe(tally.figures)
        counts = f"{found.rows} rows: {found.flagged} flagged, {found.failed} could not be checked"
        console.print("\n".join(filter(None, (counts, gate))), highlight=False)
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
        for line in map(
            feedback.annotate_json, _judged(islice(read_rows(args.rows), done, None), args, engine)
        ):
            out.write(line.encode("utf-8", "backslashreplace") + b"\n")
            out.flush()
            tally.add(line)
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
    clash = next((path for path in args.gate.files if path.resolve() in _resolved(args.rows, args.out)), None)
    if clash is not None:
        raise InputError(f"{clash} is the input or the output", hint="choose another file for the summary")


def _resolved(*paths: Path) -> set[Path]:
    return {path.resolve() for path in paths}


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
        raise BatchInterrupted(
            "interrupted", hint="" if is_stream(args.out) else "continue with --resume"
        ) from None
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
        raise InputError(
            f"another run is writing to {path}", hint="wait for it, or choose another -o"
        ) from None


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
        tally.add(line.decode("utf-8"))
        valid += len(line)
    return valid


def _parse_report(line: bytes) -> dict[str, Any]:
    """A line of an earlier run; raises `ValueError` if it is not a report."""
    found = json.loads(line)
    if not isinstance(found, dict) or not {"id", "flagged", "claims"} <= found.keys():
        raise ValueError("not a report")
    return found


def _judged(rows: Iterator[BatchRow], args: BatchArgs, engine: Groundwire) -> Iterator[str]:
    """One line of JSON per row, in input order, with a bounded number of rows in memory."""
    try:
        if args.engine == "ray":
            yield from check_on_ray(rows, judge_row, args.workers, engine.config)
        elif args.workers > 1:
            yield from _in_processes(rows, args.workers, engine.config)
        else:
            while window := list(islice(rows, WINDOW)):
                yield from run(_judge_window(engine, window))
    finally:
        run(engine.aclose())


async def _judge_window(engine: Groundwire, window: list[BatchRow]) -> list[str]:
    return await asyncio.gather(*(judge_row(engine, row) for row in window))


def _in_processes(rows: Iterator[BatchRow], workers: int, config: Config) -> Iterator[str]:
    pickled, waiting = pickle.dumps(config), deque[Future[str]]()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        try:
            for row in rows:
                waiting.append(pool.submit(_judge_in_worker, pickled, row))
                if len(waiting) >= WINDOW * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            hint = "continue with --resume, perhaps with fewer --workers"
            raise BackendDown("a worker process died", hint=hint) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _judge_in_worker(pickled: bytes, row: BatchRow) -> str:
    return run(judge_row(_worker_engine(pickled), row))


@lru_cache(maxsize=1)
def _worker_engine(pickled: bytes) -> Groundwire:
    """Load the engine once per worker process. The pickle comes from the parent, so it is trusted."""
    return Groundwire(pickle.loads(pickled))
