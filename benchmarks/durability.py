"""`python -m benchmarks.durability`: what SQLite's `synchronous = FULL` costs per commit.

Facts, jobs and reports are written to two stores in turn, one commit each: one as it is shipped, one with
`synchronous = NORMAL`, whose last commits a power cut may take back.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import randbytes
from sqlite3 import Connection as SQLiteConnection
from statistics import median
from time import perf_counter
from typing import Annotated

import typer
from sqlalchemy import event

from benchmarks import command, run
from groundwire.bench.measures import Figure, show
from groundwire.cli.console import open_console
from groundwire.stores.database import Database, open_database
from groundwire.stores.facts import add_many
from groundwire.stores.queue import JobQueue
from groundwire.stores.reports import ReportStore, ReportSummary, StoredReport
from groundwire.types import Fact, Role, Value

MODES = ("FULL", "NORMAL")
_BODY_BYTES = 5000  # of a report with five claims


def measure(commits: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        stores = {mode: open_database(str(Path(folder) / f"{mode}.db")) for mode in MODES}
        try:
            stores["NORMAL"].close()  # its connections are opened anew
            event.listen(stores["NORMAL"].engine, "connect", _set_normal)
            for name, write in WRITES.items():
                yield from _compared(name, write, stores, commits)
        finally:
            for store in stores.values():
                store.close()


def _set_normal(connection: SQLiteConnection, _: object) -> None:
    connection.execute("PRAGMA synchronous = NORMAL")


def _write_fact(store: Database, number: int) -> None:
    roles = (Role("subject", Value(f"plant {number}")), Role("object", Value("steel")))
    with store.write() as connection:
        add_many(connection, [Fact("", "produces", roles)])


def _write_job(store: Database, number: int) -> None:
    with store.write() as connection:
        JobQueue(store, "benchmark").enqueue(connection, str(number), "{}")


def _write_report(store: Database, number: int) -> None:
    summary = ReportSummary(
        id=str(number), kind="check", owner="", created=float(number), title="", flagged=None, risk=None,
        grounding=None, claims=5, flagged_claims=1, unchecked=0, backend="local", profile="default",
    )  # fmt: skip
    body = randbytes(_BODY_BYTES // 2).hex()  # a constant one would be compressed to nothing
    ReportStore(store).add([StoredReport(summary, body)])


WRITES: Mapping[str, Callable[[Database, int], None]] = {
    "fact": _write_fact, "job": _write_job, "report": _write_report,
}  # fmt: skip


def _compared(
    name: str, write: Callable[[Database, int], None], stores: Mapping[str, Database], commits: int
) -> Iterator[Figure]:
    """In turn, so that other load on the machine affects both."""
    taken: dict[str, list[float]] = {mode: [] for mode in stores}
    for number in range(commits):
        for mode, store in stores.items():
            began = perf_counter()
            write(store, number)
            taken[mode].append(1000 * (perf_counter() - began))
    for mode, times in taken.items():
        yield Figure(f"{name}, {mode}, median of {commits}", median(times), "ms")
    full, normal = (median(taken[mode]) for mode in MODES)
    yield Figure(f"{name}, FULL / NORMAL", full / normal, "×")


app = command()


@app.command()
def main(
    commits: Annotated[int, typer.Option(min=1, help="Commits of each kind to each store.")] = 500,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Compare the cost of a commit with synchronous = FULL, which ships, and NORMAL."""
    show(open_console(), measure(commits), as_json=as_json)


if __name__ == "__main__":
    run(app)
