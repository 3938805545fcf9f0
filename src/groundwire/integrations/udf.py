"""`GroundwireUDF`: checks batches of rows wherever a framework maps a function over pandas or Arrow batches.

Ray Data:  dataset.map_batches(GroundwireUDF, batch_format="pyarrow", compute=ActorPoolStrategy(size=16))
Spark:     frame.mapInPandas(udf.map, schema=udf.schema)
Dask:      frame.map_partitions(udf, meta=udf.meta)
"""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from math import isnan
from threading import Lock
from typing import Any, Unpack

from groundwire._optional import load
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, InputError
from groundwire.integrations.evaluator import GROUNDED, UNCHECKED, UNGROUNDED, EngineKwargs, engine_config, open_engine
from groundwire.integrations.rows import BatchRow, judge_rows
from groundwire.reports.tables import arrow_schema

VERDICT_COLUMNS = {
    **dict.fromkeys(("id", "label"), "string"),
    **dict.fromkeys(("score", "risk"), "float64"),
    **dict.fromkeys(("error", "report"), "string"),
}
"""The columns of a verdict and their Arrow types."""
_LINES = {"number", "row"}
"""The columns of a batch whose rows are still lines of JSON."""
_LABELS = {True: UNGROUNDED, False: GROUNDED, None: UNCHECKED}
_opening = Lock()


class GroundwireUDF:
    """A pandas DataFrame or Arrow table of rows in, one of verdicts out, row by row in the same order.

    Rows have the columns of `groundwire batch` (`id`, `response`, `sources` or `context`, `question`,
    `history`); a row without an id is named by a digest, so that a repeated task gives the same name.
    Verdicts have `id`, `label` (grounded, ungrounded, unchecked), `score` (the share of supported claims),
    `risk`, `error` and the `report` as JSON. A row that cannot be checked has an error and no score.

    Settings are read where it is constructed and travel with it; each process opens the engine once.
    """

    schema = ", ".join(f"{name} {kind}" for name, kind in VERDICT_COLUMNS.items()).replace("float64", "double")
    """The columns of a verdict, for Spark."""

    def __init__(self, **options: Unpack[EngineKwargs]) -> None:
        self._settings = pickle.dumps({**options, "config": engine_config(**options)})

    def __call__(self, batch: Any) -> Any:
        lines = judge_rows(process_engine(self._settings), batch_rows(batch))
        verdicts = [verdict_record(line) for line in lines]
        if not hasattr(batch, "to_pylist"):
            return _frame(verdicts).set_index(batch.index)
        return type(batch).from_pylist(verdicts, schema=arrow_schema(VERDICT_COLUMNS))

    def map(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The verdicts on each batch, for frameworks that pass an iterator."""
        return map(self, batches)

    @property
    def meta(self) -> Any:
        """An empty result, from which Dask takes the columns and their types."""
        return _frame([])


def process_engine(settings: bytes) -> Groundwire:
    """The engine of this process for pickled `EngineKwargs`, which come from the caller and are trusted."""
    with _opening:  # threads of one process share it
        return _open(settings)


@lru_cache(maxsize=2)
def _open(settings: bytes) -> Groundwire:
    return open_engine(**pickle.loads(settings))


def batch_rows(batch: Any) -> Iterator[BatchRow]:
    """The rows of a pandas DataFrame or an Arrow table."""
    if hasattr(batch, "to_pylist"):
        records, names = batch.to_pylist(), batch.schema.names
    elif hasattr(batch, "to_dict"):
        records, names = batch.to_dict("records"), list(batch.columns)
    else:
        hint = 'with Ray Data, set batch_format="pyarrow"'
        raise InputError(f"a batch must be a pandas DataFrame or an Arrow table, got {type(batch).__name__}", hint=hint)
    if set(names) == _LINES:
        yield from (BatchRow(int(record["number"]), record["row"]) for record in records)
    else:
        yield from (BatchRow(0, record_line(record)) for record in records)


def record_line(record: Mapping[str, Any]) -> bytes:
    """A row of columns as a line of JSON. Nulls are left out: a column has a cell in every row."""
    text = json.dumps(
        _plain(record), default=lambda v: v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v)
    )
    return text.encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items() if not _is_null(item)}
    if hasattr(value, "tolist"):  # NumPy
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return value
    if value and all(isinstance(item, tuple) and len(item) == 2 for item in value):  # Arrow's maps
        return {key: _plain(item) for key, item in value}
    return [_plain(item) for item in value]


def _is_null(value: object) -> bool:
    """None, NaN, or pandas' own null."""
    return value is None or (isinstance(value, float) and isnan(value)) or type(value).__name__ == "NAType"


def verdict_record(line: str) -> dict[str, Any]:
    report = json.loads(line)
    return {
        "id": report["id"],
        "label": _LABELS[report["flagged"]],
        "score": report["grounding_ratio"],
        "risk": report["risk"],
        "error": report["error"],
        "report": line,
    }


def _frame(verdicts: list[dict[str, Any]]) -> Any:
    pandas = load("pandas", feature="GroundwireUDF", extra="pandas")
    kinds = {name: kind.replace("string", "object") for name, kind in VERDICT_COLUMNS.items()}
    return pandas.DataFrame(verdicts, columns=list(VERDICT_COLUMNS)).astype(kinds)


# `groundwire batch --engine ray`.

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
