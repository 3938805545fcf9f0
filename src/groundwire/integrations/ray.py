"""`groundwire batch --engine ray`: the same rows and output, distributed over a Ray cluster by Ray Data.

`RAY_ADDRESS` names the cluster; without it Ray runs on this machine. Rows are sent with the tasks, so the
nodes need groundwire installed but no shared file system.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Coroutine, Iterator
from itertools import islice
from typing import Any, TypeVar

from groundwire._loop import run
from groundwire._optional import load
from groundwire.config import Config
from groundwire.engine import Groundwire

Row = TypeVar("Row")
WINDOW_ROWS = 4096
"""Rows submitted at once: enough to keep a cluster busy, few enough to hold in memory."""
BATCH_ROWS = 16
"""Rows per task."""


class RayWorker:
    """One per worker: loads the engine once and turns rows into output lines."""

    def __init__(self, settings: bytes) -> None:
        config, self._judge = pickle.loads(settings)
        self._engine = Groundwire(config)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        rows = (pickle.loads(bytes(row)) for row in batch["row"])
        return {"line": [run(self._judge(self._engine, row)) for row in rows]}


def check_on_ray(
    rows: Iterator[Row],
    judge: Callable[[Groundwire, Row], Coroutine[Any, Any, str]],
    workers: int,
    config: Config,
) -> Iterator[str]:
    """Yield one output line per row, in order. `judge` must be a function of a module: workers import it."""
    ray = load("ray", feature="--engine ray", extra="ray")
    data = load("ray.data", feature="--engine ray", extra="ray")
    ray.init(
        ignore_reinit_error=True, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR
    )
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    settings = pickle.dumps((config, judge))
    try:
        while window := list(islice(rows, WINDOW_ROWS)):
            dataset = data.from_items([{"row": pickle.dumps(row)} for row in window])
            checked = dataset.map_batches(
                RayWorker,
                fn_constructor_args=(settings,),
                batch_size=BATCH_ROWS,
                compute=data.ActorPoolStrategy(size=workers),
            )
            yield from (row["line"] for row in checked.iter_rows())
    finally:
        ray.shutdown()
