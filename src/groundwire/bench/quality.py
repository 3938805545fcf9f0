"""`groundwire bench quality`: detection quality on labelled data, next to trivial baselines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.console import Console

from groundwire._loop import run
from groundwire.bench.measures import (
    BASELINES,
    OURS,
    Answers,
    DataSet,
    Judged,
    LabelledRow,
    Origin,
    Prediction,
    as_json,
    load_sets,
    mean_contradiction,
    means,
    measure,
    tables,
)
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError, InputError
from groundwire.reports.terminal import progress_bar
from groundwire.types import NOTHING_TO_CHECK, Source, Status
from groundwire.version import __version__

WINDOW = 8  # rows checked concurrently


def run_quality(
    data: Path,
    sets: Sequence[str],
    limit: int | None,
    json_out: Path | None,
    oof: Path | None,
    *,
    config: Config,
    console: Console,
) -> int:
    """Measure and print; returns the exit code.

    Args:
        limit: about that many rows per set.
        oof: out-of-fold predictions, made by models that were not trained on the group of the row.
    """
    if json_out and json_out.is_dir():
        raise InputError(f"cannot write {json_out}", hint="it is a folder")
    loaded = load_sets(data, sets, limit)
    known = load_predictions(oof) if oof else {}
    engine = Groundwire(config)
    try:
        judged = judge_sets(loaded, engine, known)
    finally:
        run(engine.aclose())
    publish(judged, {"backend": engine.backend.name, "limit": limit}, json_out, console)
    return 0


OtherSystems = Callable[[Sequence[LabelledRow]], Mapping[str, Answers]]
"""Predictions of systems other than groundwire and the baselines (`benchmarks.peers`), by system name."""


def judge_sets(
    sets: Sequence[DataSet], engine: Groundwire, known: Mapping[str, Prediction], others: OtherSystems | None = None
) -> list[Judged]:
    """Run every system on every set."""
    judged = []
    with progress_bar(Console(stderr=True)) as progress:
        bar = progress.add_task("", total=sum(len(one.rows) for one in sets))
        for one in sets:
            progress.update(bar, description=one.name)
            answers: dict[str, Answers] = {
                OURS: run(_ours(one.rows, engine, known, lambda n: progress.advance(bar, n)))
            }
            answers |= {name: [guess(row) for row in one.rows] for name, guess in BASELINES.items()}
            if others is not None:
                answers |= others(one.rows)
            judged.append(Judged(one.name, one.rows, answers, _origin(one, engine.backend.name, known)))
    return judged


async def _ours(
    rows: Sequence[LabelledRow], engine: Groundwire, known: Mapping[str, Prediction], done: Callable[[int], None]
) -> Answers:
    """The engine's verdicts, or the out-of-fold predictions of rows that have one."""
    found: list[Prediction | None] = []
    for start in range(0, len(rows), WINDOW):
        window = rows[start : start + WINDOW]
        found += await asyncio.gather(*(_verdict(row, engine, known.get(row.id)) for row in window))
        done(len(window))
    return found


async def _verdict(row: LabelledRow, engine: Groundwire, known: Prediction | None) -> Prediction | None:
    if known:
        return known
    try:
        report = await engine.check(row.claim, [Source("context", row.context)], question=row.question)
    except GroundwireError:
        return None
    if report.error == NOTHING_TO_CHECK:
        return Prediction(0.0, False, (), False)
    if report.flagged is None or report.risk is None:
        return None
    return Prediction(
        report.risk,
        report.flagged,
        tuple((span.start, span.end) for span in report.spans),
        any(claim.status is Status.CONTRADICTED for claim in report.claims),
    )


def _origin(one: DataSet, backend: str, known: Mapping[str, Prediction]) -> Origin:
    held_out = sum(row.id in known for row in one.rows)
    if held_out:
        return "out of fold" if held_out == len(one.rows) else "partly out of fold"
    return "seen in training" if backend == "local" and one.name in trained_on() else "model"


def trained_on() -> frozenset[str]:
    """The sets that the embedded model was trained on, from `models/card.json`: {"trained_on": [...]}."""
    card = files("groundwire").joinpath("models", "card.json")
    if not card.is_file():
        return frozenset()
    return frozenset(json.loads(card.read_text(encoding="utf-8")).get("trained_on", ()))


def load_predictions(path: Path) -> dict[str, Prediction]:
    """Read predictions, one `{"id", "risk", "flagged", "spans": [[start, end], …], "denied"}` per line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines if line.strip()]
        return {
            row["id"]: Prediction(
                float(row["risk"]),
                bool(row["flagged"]),
                tuple((s, e) for s, e in row.get("spans") or ()),
                row.get("denied"),
            )
            for row in rows
        }
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} does not contain predictions: {error!r}") from None


def publish(judged: Sequence[Judged], facts: Mapping[str, object], json_out: Path | None, console: Console) -> None:
    """Print the tables; write the figures as JSON, with `facts` about the run."""
    figures = [one for result in judged for one in measure(result)]
    for shown in tables(figures):
        console.print(shown)
        console.print()
    mean = means(figures)
    if mean:
        listed = " · ".join(f"{name} {value:.3f}" for name, value in mean.items() if name != "flag all")
        console.print(f"mean AUROC over sets other than RAGTruth: {listed}", highlight=False)
    contradiction = mean_contradiction(figures)
    if contradiction is not None:
        console.print(f"contradicted or not mentioned, mean macro F1: {contradiction:.3f}", highlight=False)
    if json_out:
        write_text(json_out, as_json(figures, {"groundwire": __version__, **facts}))


def write_text(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
