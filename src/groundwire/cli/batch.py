"""`groundwire batch`: many responses, streamed in and out with bounded memory.

The output holds exactly one line per input line, in the same order; that is what makes `--resume` safe: the
number of complete lines already written says where to go on, and a line cut short by a kill is written anew.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, BinaryIO

from rich.console import Console

from groundwire._loop import run
from groundwire.cli.gate import Gate, Ledger
from groundwire.cli.opinions import Said
from groundwire.cli.rows import STREAM, Row, is_stream, judge_row, read_rows, row_identity
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, GroundwireError, InputError
from groundwire.integrations.ray import judge_on_ray
from groundwire.reports.terminal import progress_bar

ENGINES = ("local", "ray")
WINDOW = 8
"""Rows under way at once, per worker."""


@dataclass(frozen=True, slots=True)
class Job:
    rows: Path
    out: Path
    engine: str = "local"
    resume: bool = False
    workers: int = 1
    gate: Gate = field(default_factory=Gate)


class Interrupted(GroundwireError):
    exit_code = 130


def run_batch(job: Job, config: Config, console: Console) -> int:
    _refuse_nonsense(job)
    engine = Groundwire(config)  # what is wrong with the configuration is said before the output is touched
    with Ledger(str(job.rows), job.gate) as ledger:
        _run(job, engine, ledger, console)
        found, told = ledger.figures, job.gate.told(ledger.figures)
        said = f"{found.rows} rows: {found.flagged} flagged, {found.failed} could not be checked"
        console.print("\n".join(filter(None, (said, told))), highlight=False)
        ledger.write()
        return ledger.exit_code


def _run(job: Job, engine: Groundwire, ledger: Ledger, console: Console) -> None:
    with Said(engine.config) as said, _opened(job, ledger) as out, progress_bar(console) as progress:
        total = None if is_stream(job.rows) else sum(1 for _ in read_rows(job.rows))
        done = ledger.figures.rows
        bar = progress.add_task("checking", total=total, completed=done)
        for line in map(said.line, _judged(islice(read_rows(job.rows), done, None), job, engine)):
            out.write(line.encode("utf-8", "backslashreplace") + b"\n")
            out.flush()
            ledger.add(line)
            progress.advance(bar)


def _refuse_nonsense(job: Job) -> None:
    if job.engine not in ENGINES:
        raise InputError(f"unknown engine '{job.engine}'", hint=f"use one of {', '.join(ENGINES)}")
    streams = [path for path in (job.rows, job.out) if is_stream(path)]
    if job.resume and streams:
        raise InputError(f"--resume cannot go on with the stream {streams[0]}", hint="name a file")
    if not is_stream(job.rows) and not job.rows.is_file():
        raise InputError(f"there is no file {job.rows}")
    if job.out.exists() and job.rows.exists() and job.out.samefile(job.rows):
        raise InputError("input and output are the same file", hint="choose another -o")
    if job.out.is_dir() or not job.out.parent.is_dir():
        raise InputError(f"cannot write {job.out}", hint="-o names a file in a folder that exists")
    clash = next((path for path in job.gate.files if path.resolve() in _resolved(job.rows, job.out)), None)
    if clash is not None:
        raise InputError(f"{clash} is the input or the output", hint="name another file for the summary")


def _resolved(*paths: Path) -> set[Path]:
    return {path.resolve() for path in paths}


@contextmanager
def _opened(job: Job, ledger: Ledger) -> Iterator[BinaryIO]:
    """The output, at the place where the next line goes; lines that stand there already are tallied."""
    try:
        with _open(job.out) as out:
            if not is_stream(job.out):
                _lock(out, job.out)
                out.truncate(_keep(out, job, ledger) if job.resume else 0)
                out.seek(0, 2)
            yield out
    except KeyboardInterrupt:
        raise Interrupted("interrupted", hint="" if is_stream(job.out) else "go on with --resume") from None
    except OSError as error:
        whole = ledger.figures.rows and not is_stream(job.out)
        hint = "the lines written so far are whole; go on with --resume" if whole else ""
        raise InputError(f"cannot write {job.out}: {error.strerror}", hint=hint) from None


def _open(path: Path) -> BinaryIO:
    """An earlier run's lines stay until it is known that nobody else writes there."""
    if path == STREAM:
        return os.fdopen(os.dup(1), "wb")
    return path.open("r+b" if path.is_file() else "wb")


def _lock(out: BinaryIO, path: Path) -> None:
    """Two runs on one output would mix their lines. Released when the file is closed, by a kill too."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"another run writes to {path}", hint="wait for it, or choose another -o") from None


def _keep(out: BinaryIO, job: Job, ledger: Ledger) -> int:
    """How many bytes of an earlier run's output are good: whole lines that match their input."""
    good = 0
    for row, line in zip(read_rows(job.rows), out, strict=False):
        if not line.endswith(b"\n"):
            break
        try:
            same = _report(line)["id"] == row_identity(row)
        except ValueError:
            break
        if not same:
            hint = "use another -o, or leave --resume out to begin anew"
            raise InputError(
                f"{job.out} was not made from {job.rows} (line {ledger.figures.rows + 1})", hint=hint
            )
        ledger.add(line.decode("utf-8"))
        good += len(line)
    return good


def _report(line: bytes) -> dict[str, Any]:
    """A line of an earlier run; what is none is a `ValueError`."""
    found = json.loads(line)
    if not isinstance(found, dict) or not {"id", "flagged", "claims"} <= found.keys():
        raise ValueError("no report")
    return found


def _judged(rows: Iterator[Row], job: Job, engine: Groundwire) -> Iterator[str]:
    """One line of JSON per row, in order, with only a window of rows in memory."""
    try:
        if job.engine == "ray":
            yield from judge_on_ray(rows, job.workers, engine.config)
        elif job.workers > 1:
            yield from _in_processes(rows, job.workers, engine.config)
        else:
            while window := list(islice(rows, WINDOW)):
                yield from run(_judge_window(engine, window))
    finally:
        run(engine.aclose())


async def _judge_window(engine: Groundwire, window: list[Row]) -> list[str]:
    return await asyncio.gather(*(judge_row(engine, row) for row in window))


def _in_processes(rows: Iterator[Row], workers: int, config: Config) -> Iterator[str]:
    settings, waiting = pickle.dumps(config), deque[Future[str]]()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        try:
            for row in rows:
                waiting.append(pool.submit(_judge_elsewhere, settings, row))
                if len(waiting) >= WINDOW * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            hint = "go on with --resume, perhaps with fewer --workers"
            raise BackendDown("a worker process died", hint=hint) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _judge_elsewhere(settings: bytes, row: Row) -> str:
    return run(judge_row(_engine(settings), row))


@lru_cache(maxsize=1)
def _engine(settings: bytes) -> Groundwire:
    """A worker loads its engine once; the settings come from the parent, never from outside."""
    return Groundwire(pickle.loads(settings))
