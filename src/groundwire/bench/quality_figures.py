"""The predictions of each system for each row, the figures computed from them, and their tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Literal

import numpy as np
from rich.table import Table

from groundwire.bench import measures
from groundwire.bench.measures import NAN, Range
from groundwire.bench.quality_data import LabelledRow

OURS = "groundwire"
ALL = "all"
HEADLINE = "ragtruth"
"""The set whose figures are reported by themselves; the means are over the others."""
Origin = Literal["model", "seen in training", "out of fold", "partly out of fold"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """The risk of a row, and flag, spans and contradiction from systems that provide them."""

    risk: float
    flagged: bool | None = None
    spans: tuple[Range, ...] | None = None
    denied: bool | None = None


Answers = Sequence[Prediction | None]
"""A system's predictions, one per row; None if it failed."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A set, the predictions of every system, and the origin of ours."""

    name: str
    rows: Sequence[LabelledRow]
    answers: Mapping[str, Answers]
    origin: Origin = "model"


@dataclass(frozen=True, slots=True)
class QualityFigures:
    """The figures of one system on one set or task; undefined ones are NaN."""

    set: str
    task: str
    system: str
    rows: int
    bad: float
    auroc: float
    f1: float
    precision: float
    recall: float
    balanced_accuracy: float
    calibration_error: float
    span_f1: float
    contradiction_f1: float
    failed: int
    origin: str


def measure(judged: Judged) -> Iterator[QualityFigures]:
    """The figures of all systems for the whole set, then for each task if there are several."""
    tasks = sorted({row.task for row in judged.rows})
    for task in [ALL, *(tasks if len(tasks) > 1 else ())]:
        inside = [n for n, row in enumerate(judged.rows) if task in (ALL, row.task)]
        for system, answers in judged.answers.items():
            pairs = [(judged.rows[n], answers[n]) for n in inside]
            yield _figures(judged, task, system, pairs)


def _figures(
    judged: Judged, task: str, system: str, pairs: Sequence[tuple[LabelledRow, Prediction | None]]
) -> QualityFigures:
    answered = [(row, prediction) for row, prediction in pairs if prediction is not None]
    bad = np.array([row.bad for row, _ in answered], bool)
    risk = np.array([prediction.risk for _, prediction in answered], np.float64)
    flags = [prediction.flagged for _, prediction in answered]
    flagged = np.array(flags, bool) if answered and None not in flags else None
    ours = system == OURS
    return QualityFigures(
        set=judged.name,
        task=task,
        system=system,
        rows=len(pairs),
        bad=sum(row.bad for row, _ in pairs) / len(pairs),
        auroc=measures.auroc(bad, risk),
        f1=NAN if flagged is None else measures.f1(bad, flagged),
        precision=NAN if flagged is None else measures.precision(bad, flagged),
        recall=NAN if flagged is None else measures.recall(bad, flagged),
        balanced_accuracy=NAN if flagged is None else measures.balanced_accuracy(bad, flagged),
        calibration_error=measures.calibration_error(bad, risk) if ours else NAN,
        span_f1=_span_f1(answered) if ours else NAN,
        contradiction_f1=_contradiction_f1(answered) if ours else NAN,
        failed=len(pairs) - len(answered),
        origin=judged.origin if ours else "",
    )


def _span_f1(answered: Sequence[tuple[LabelledRow, Prediction]]) -> float:
    """Character F1 over annotated rows and over supported ones, in which every mark is wrong."""
    if not any(row.spans for row, _ in answered):
        return NAN
    known = [(ours.spans or (), row.spans or ()) for row, ours in answered if row.spans or not row.bad]
    return measures.span_count(known).f1


def _contradiction_f1(answered: Sequence[tuple[LabelledRow, Prediction]]) -> float:
    """Macro F1 of separating contradicted from unmentioned claims among the unsupported ones."""
    known = [(row.denied, ours.denied) for row, ours in answered if None not in (row.denied, ours.denied)]
    truth, found = (np.array(side, bool) for side in zip(*known, strict=True)) if known else (None, None)
    if truth is None or found is None or truth.all() or not truth.any():
        return NAN
    return (measures.f1(truth, found) + measures.f1(~truth, ~found)) / 2


def new_words(row: LabelledRow) -> float:
    """Share of the claim's words that are not in the context: a baseline."""
    words = _words(row.claim)
    return len(words - _words(row.context)) / max(1, len(words))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


BASELINES: Mapping[str, Callable[[LabelledRow], Prediction]] = {
    "flag all": lambda _: Prediction(1.0, flagged=True),
    "new words": lambda row: Prediction(new_words(row)),
    "length": lambda row: Prediction(float(len(row.claim))),
}


Slices = Mapping[tuple[str, str], Mapping[str, QualityFigures]]
"""(set, task) → system → figures."""


def tables(figures: Sequence[QualityFigures]) -> list[Table]:
    """Our figures, then AUROC and F1 of all systems, one line per set or task."""
    by_slice: dict[tuple[str, str], dict[str, QualityFigures]] = {}
    for one in figures:
        by_slice.setdefault((one.set, one.task), {})[one.system] = one
    return [_ours(by_slice), _comparison(by_slice, "auroc"), _comparison(by_slice, "f1")]


def _ours(by_slice: Slices) -> Table:
    found = _table(OURS, ("rows", "bad", "AUROC", "F1", "bal.acc", "ECE", "span F1", "against F1"))
    found.add_column("from", no_wrap=True)
    for (name, task), systems in by_slice.items():
        one = systems[OURS]
        shared = (one.auroc, one.f1, one.balanced_accuracy, one.calibration_error, one.span_f1)
        numbers = (*shared, one.contradiction_f1)
        origin = f"{one.origin}, {one.failed} failed" if one.failed else one.origin
        found.add_row(_label(name, task), f"{one.rows:,}", f"{one.bad:.0%}", *map(_three, numbers), origin)
    return found


def _comparison(by_slice: Slices, figure: Literal["auroc", "f1"]) -> Table:
    """The systems for which the figure is defined: F1 needs flags, AUROC a ranking."""
    names = list(next(iter(by_slice.values()), {}))
    without = ("new words", "length") if figure == "f1" else ("flag all",)
    shown = [name for name in names if name not in without]
    found = _table(figure.upper(), shown)
    for (name, task), systems in by_slice.items():
        found.add_row(_label(name, task), *(_three(getattr(systems[system], figure)) for system in shown))
    return found


def _table(title: str, columns: Sequence[str]) -> Table:
    found = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    found.add_column(title, no_wrap=True)
    for column in columns:
        found.add_column(column, justify="right", no_wrap=True)
    return found


def _label(name: str, task: str) -> str:
    return name if task == ALL else f"  {task}"


def _three(value: float) -> str:
    return "–" if isnan(value) else f"{value:.3f}".removeprefix("0")


def means(figures: Sequence[QualityFigures]) -> dict[str, float]:
    """The mean AUROC of each system over the sets other than RAGTruth, each with equal weight."""
    found: dict[str, list[float]] = {}
    for one in figures:
        if one.task == ALL and one.set != HEADLINE and not isnan(one.auroc):
            found.setdefault(one.system, []).append(one.auroc)
    return {system: sum(values) / len(values) for system, values in found.items()}


def mean_contradiction(figures: Sequence[QualityFigures]) -> float | None:
    """The mean over the sets that label unsupported claims as contradicted or not mentioned."""
    found = [one.contradiction_f1 for one in figures if one.task == ALL and one.system == OURS]
    known = [value for value in found if not isnan(value)]
    return sum(known) / len(known) if known else None


def as_json(figures: Sequence[QualityFigures], facts: Mapping[str, object]) -> str:
    """The figures as JSON, with `facts` about the run; undefined figures are null."""
    rows = [{key: _plain(value) for key, value in asdict(one).items()} for one in figures]
    mean = {system: round(value, 4) for system, value in means(figures).items()}
    contradiction = mean_contradiction(figures)
    means_of = {
        "mean_auroc_of_other_sets": mean,
        "mean_contradiction_f1": None if contradiction is None else round(contradiction, 4),
    }
    return json.dumps({**facts, **means_of, "figures": rows}, indent=1) + "\n"


def _plain(value: object) -> object:
    if isinstance(value, float):
        return None if isnan(value) else round(value, 4)
    return value
