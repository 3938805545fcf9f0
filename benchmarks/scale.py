"""`python -m benchmarks.scale`: one process on one core, and Ray with a worker per core, in one run.

Needs the extra `ray`. Both check rows of the same kind. The start of the model and of Ray is not in the
rates, but in the seconds of the whole run.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Annotated

import typer

from benchmarks import command, run
from benchmarks.service import make_case
from groundwire.bench.measures import Figure, show
from groundwire.cli.console import open_console
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.integrations.rows import BatchRow, judge_rows
from groundwire.integrations.udf import TASK_ROWS, check_on_ray

app = command()
Judge = Callable[[Iterator[BatchRow]], Iterator[str]]


@app.command()
def scale(
    rows: Annotated[int, typer.Option(min=8, help="Rows for one process; each worker gets as many.")] = 1024,
    workers: Annotated[int, typer.Option(min=2, help="Ray's workers, one core each.")] = 2,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Print the rows a second of one process, of Ray, and Ray's share of `workers` times one process."""
    console = open_console()
    raise typer.Exit(show(console, measure(rows, workers), as_json=as_json))


def measure(rows: int, workers: int) -> Iterator[Figure]:
    if rows <= 2 * TASK_ROWS * workers:
        raise InputError(f"{rows} rows are too few", hint=f"use more than {2 * TASK_ROWS * workers}")
    if len(os.sched_getaffinity(0)) < workers:
        raise InputError(f"{workers} workers need {workers} cores")
    with one_core():
        alone, seconds = rate(lambda given: judge_rows(Groundwire(Config()), given), sample(rows), 1)
    yield Figure("one process on one core", alone, "rows/s")
    yield Figure("one process, with its start", seconds, "s")
    on_ray = partial(check_on_ray, workers=workers, config=Config())
    together, seconds = rate(on_ray, sample(rows * workers), workers * TASK_ROWS)
    yield Figure(f"Ray, {workers} workers", together, "rows/s")
    yield Figure("Ray, with its start", seconds, "s")
    yield Figure(f"Ray, share of {workers} processes", 100 * together / (workers * alone), "%", "≥ 90")
    yield Figure("load of the machine beside it", os.getloadavg()[0] - workers, "processes")


def sample(size: int) -> list[BatchRow]:
    """Answers of five claims against 200 words, as in `benchmarks.service`; no two are the same."""
    return [BatchRow(number, b64decode(make_case(number).body)) for number in range(1, size + 1)]


def rate(judge: Judge, rows: Sequence[BatchRow], skip: int) -> tuple[float, float]:
    """Rows a second after the first `skip`, which wait for the start, and the seconds of all."""
    begun, times = perf_counter(), []
    for _ in judge(iter(rows)):
        times.append(perf_counter())
    return (len(times) - skip) / (times[-1] - times[skip - 1]), times[-1] - begun


@contextmanager
def one_core() -> Iterator[None]:
    """The model then uses one thread, as it does where each worker has one core."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


if __name__ == "__main__":
    run(app)
