"""Read the normalised data sets; nothing here writes."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

Row = dict[str, Any]
DATA = Path(os.environ.get("GROUNDWIRE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
WORK = Path(os.environ.get("GROUNDWIRE_TRAIN", Path(__file__).resolve().parents[2] / "train"))
OVERLAPPING = frozenset({"begin", "feversymmetric"})
MEASURE_ONLY = frozenset({"averitec", "sick", "factscore"})


def rows(name: str) -> Iterator[Row]:
    """Rows of `role.name` (all its splits) or of one file given without its ending."""
    paths = sorted(DATA.glob(f"{name}.*jsonl.gz"))
    if not paths:
        raise FileNotFoundError(f"no data set {name!r} under {DATA}; set GROUNDWIRE_DATA")
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)


@lru_cache(maxsize=8)
def groups(name: str) -> frozenset[str]:
    """The source texts of a data set."""
    return frozenset(str(row["meta"]["group"]) for row in rows(name))


def train_rows(name: str) -> Iterator[Row]:
    """Rows of `train.NAME` without the source texts that also stand in `dev.NAME`."""
    shared = groups(f"dev.{name}") if name in OVERLAPPING else frozenset()
    return (row for row in rows(f"train.{name}") if str(row["meta"]["group"]) not in shared)


def fold(row: Row, folds: int = 5) -> int:
    """A stable fold of the row's source text; rows of one group always share it."""
    return zlib.crc32(str(row["meta"]["group"]).encode()) % folds
