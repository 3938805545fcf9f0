"""`groundwire batch --engine ray`: `GroundwireUDF` under Ray Data, with the same rows and output as locally.

`RAY_ADDRESS` names the cluster; without it Ray runs on this machine. Rows are sent with the tasks, so the
nodes need groundwire installed but no shared file system.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import islice
from typing import Any

from groundwire._optional import load
from groundwire.config import Config
from groundwire.errors import BackendDown
from groundwire.integrations.rows import BatchRow
from groundwire.integrations.udf import GroundwireUDF

TASK_ROWS = 32
"""Rows per task: seconds of work, and what is repeated if a worker is killed."""
ROWS_PER_WORKER = 4096
"""Rows submitted at once per worker, and held in memory. Workers load the engine anew for each such window,
which takes seconds of its minutes."""
TASK_RETRIES = 60
"""How often a task is repeated after its worker was lost. Until a lost node is noticed, some seconds, every
attempt fails at once: 3 attempts were not enough. A row that always kills its worker ends the run."""


def check_on_ray(rows: Iterator[BatchRow], workers: int, config: Config) -> Iterator[str]:
    """Yield one output line per row, in order."""
    ray = load("ray", feature="--engine ray", extra="ray")
    data = load("ray.data", feature="--engine ray", extra="ray")
    ray.init(ignore_reinit_error=True, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    try:
        while window := list(islice(rows, ROWS_PER_WORKER * workers)):
            checked = data.from_arrow(_tables(window)).map_batches(
                GroundwireUDF,
                fn_constructor_kwargs={"config": config},
                batch_size=TASK_ROWS,
                batch_format="pyarrow",
                compute=data.ActorPoolStrategy(size=workers),
                max_task_retries=TASK_RETRIES,
            )
            yield from (row["report"] for row in checked.iter_rows())
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[0]
        raise BackendDown(f"the Ray job failed: {reason}", hint="continue with --resume") from None
    finally:
        ray.shutdown()


def _tables(window: list[BatchRow]) -> list[Any]:
    """The rows as one table per task, since Ray Data gives each block to one worker."""
    arrow = load("pyarrow", feature="--engine ray", extra="ray")
    parts = (window[start : start + TASK_ROWS] for start in range(0, len(window), TASK_ROWS))
    return [arrow.table({"number": [row.number for row in part], "row": [row.raw for row in part]}) for part in parts]
