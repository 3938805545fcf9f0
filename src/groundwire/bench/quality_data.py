"""Labelled data sets: `dev.NAME.SPLIT.jsonl.gz` files, one claim or answer per row."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from groundwire.bench.measures import Range
from groundwire.errors import InputError


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """`bad`: not everything in the claim is supported. `spans`: where, or None if they are not marked.

    `denied`: the context contradicts the claim; False if it does not mention it, None if unknown.
    """

    id: str
    task: str
    context: str
    claim: str
    bad: bool
    spans: tuple[Range, ...] | None
    group: str
    question: str = ""
    denied: bool | None = None


_DENIED = {"contradiction": True, "neutral": False}


@dataclass(frozen=True, slots=True)
class DataSet:
    name: str
    rows: tuple[LabelledRow, ...]


def load_sets(folder: Path, wanted: Sequence[str] = (), limit: int | None = None) -> list[DataSet]:
    """Load the data sets of a folder, with their splits joined.

    Args:
        wanted: names of the sets, by default all.
        limit: about that many rows per set.

    Raises `InputError` if a set is missing or cannot be read.
    """
    files: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.glob("dev.*.jsonl.gz")):
        files[path.name.split(".")[1]].append(path)
    if not files:
        raise InputError(f"no dev.*.jsonl.gz files in {folder}", hint="set --data or GROUNDWIRE_DATA")
    unknown = [name for name in wanted if name not in files]
    if unknown:
        raise InputError(f"unknown set {unknown[0]}", hint=f"choose from {', '.join(files)}")
    return [
        DataSet(name, tuple(sample([row for path in paths for row in _read(path)], limit)))
        for name, paths in files.items()
        if not wanted or name in wanted
    ]


def sample(rows: Sequence[LabelledRow], limit: int | None) -> list[LabelledRow]:
    """Take whole groups in a fixed pseudo-random order until there are `limit` rows."""
    groups: dict[str, list[LabelledRow]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    chosen: list[LabelledRow] = []
    for group in sorted(groups, key=lambda name: sha256(name.encode()).digest()):
        if limit is not None and len(chosen) >= limit:
            break
        chosen += groups[group]
    return chosen


def _read(path: Path) -> Iterator[LabelledRow]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                yield _row(json.loads(line))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"cannot read {path}: {error}") from None


def _row(raw: dict[str, Any]) -> LabelledRow:
    meta, bad = raw.get("meta") or {}, raw["label"] == 0
    spans = raw.get("spans")
    return LabelledRow(
        id=raw["id"],
        task=raw["task"],
        context=raw["context"],
        claim=raw["claim"],
        bad=bad,
        spans=None if spans is None else tuple((span["start"], span["end"]) for span in spans),
        group=str(meta.get("group", raw["id"])),
        question=meta.get("question") or "",
        denied=_DENIED.get(raw.get("nli") or "") if bad else None,
    )
