"""Labelled rows, metrics of scores and flags against labels with NumPy only, and figures with their targets.

`bad` is True for unsupported rows.

>>> bad = np.array([True, True, False, False])
>>> auroc(bad, np.array([0.9, 0.4, 0.4, 0.1]))
0.875
>>> f1(bad, np.array([True, False, True, False])), balanced_accuracy(bad, np.array([True, True, True, False]))
(0.5, 0.75)
"""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import isnan
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from groundwire.errors import InputError

Flags = NDArray[np.bool_]
Scores = NDArray[np.float64]
Range = tuple[int, int]
NAN = float("nan")
BINS = 10  # of the calibration error; the usual number


def auroc(bad: Flags, score: Scores) -> float:
    """Probability that an unsupported row scores above a supported one; equal scores count half."""
    positives, negatives = int(bad.sum()), int((~bad).sum())
    if not positives or not negatives:
        return NAN
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    above = ranks[bad].sum() - positives * (positives + 1) / 2
    return float(above / (positives * negatives))


def precision(bad: Flags, flagged: Flags) -> float:
    return _share(int((bad & flagged).sum()), int(flagged.sum()))


def recall(bad: Flags, flagged: Flags) -> float:
    return _share(int((bad & flagged).sum()), int(bad.sum()))


def f1(bad: Flags, flagged: Flags) -> float:
    """F1 of the unsupported class; NaN if there are no such rows and no flags."""
    return _share(2 * int((bad & flagged).sum()), int(bad.sum()) + int(flagged.sum()))


def balanced_accuracy(bad: Flags, flagged: Flags) -> float:
    """Mean recall of both classes: .5 for a constant answer."""
    return (recall(bad, flagged) + recall(~bad, ~flagged)) / 2


@dataclass(frozen=True, slots=True)
class Bin:
    """Rows with a similar stated risk: its mean, the share of unsupported rows, and the count."""

    stated: float
    true: float
    rows: int


def reliability(bad: Flags, risk: Scores, bins: int = BINS) -> list[Bin]:
    """Equal-width bins of the stated risk, without empty ones."""
    which = np.clip((risk * bins).astype(int), 0, bins - 1)
    return [
        Bin(float(risk[inside].mean()), float(bad[inside].mean()), int(inside.sum()))
        for inside in (which == number for number in range(bins))
        if inside.any()
    ]


def calibration_error(bad: Flags, risk: Scores, bins: int = BINS) -> float:
    """Expected calibration error: mean distance of stated and true risk over rows."""
    if not len(bad):
        return NAN
    return sum(b.rows * abs(b.stated - b.true) for b in reliability(bad, risk, bins)) / len(bad)


@dataclass(frozen=True, slots=True)
class SpanCount:
    """Characters marked by both, by us (`marked`) and by annotators (`true`)."""

    both: int
    marked: int
    true: int

    @property
    def f1(self) -> float:
        return _share(2 * self.both, self.marked + self.true)


def span_count(pairs: Iterable[tuple[Sequence[Range], Sequence[Range]]]) -> SpanCount:
    """Counts over all rows, each a pair (marked by us, marked by annotators)."""
    both = marked = true = 0
    for ours, theirs in pairs:
        mine, gold = _characters(ours), _characters(theirs)
        both += len(mine & gold)
        marked += len(mine)
        true += len(gold)
    return SpanCount(both, marked, true)


def _characters(ranges: Sequence[Range]) -> set[int]:
    return {at for start, end in ranges for at in range(start, end)}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else NAN


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
        auroc=auroc(bad, risk),
        f1=NAN if flagged is None else f1(bad, flagged),
        precision=NAN if flagged is None else precision(bad, flagged),
        recall=NAN if flagged is None else recall(bad, flagged),
        balanced_accuracy=NAN if flagged is None else balanced_accuracy(bad, flagged),
        calibration_error=calibration_error(bad, risk) if ours else NAN,
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
    return span_count(known).f1


def _contradiction_f1(answered: Sequence[tuple[LabelledRow, Prediction]]) -> float:
    """Macro F1 of separating contradicted from unmentioned claims among the unsupported ones."""
    known = [(row.denied, ours.denied) for row, ours in answered if None not in (row.denied, ours.denied)]
    truth, found = (np.array(side, bool) for side in zip(*known, strict=True)) if known else (None, None)
    if truth is None or found is None or truth.all() or not truth.any():
        return NAN
    return (f1(truth, found) + f1(~truth, ~found)) / 2


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


_COLUMNS = (("figure", "left"), ("measured", "right"), ("", "left"), ("bar", "left"))


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number; `bar` is its target, if it has one."""

    name: str
    value: float
    unit: str
    bar: str = ""


def show(console: Console, figures: Iterable[Figure], *, as_json: bool) -> int:
    """Print figures as a table, or as JSON to stdout; returns the exit code."""
    found = list(figures)
    if as_json:
        print(json.dumps([asdict(figure) for figure in found], indent=2))
        return 0
    table = Table(box=None, pad_edge=False)
    for column, side in _COLUMNS:
        table.add_column(column, justify=side)  # type: ignore[arg-type]
    for figure in found:
        table.add_row(figure.name, f"{figure.value:,.4g}", figure.unit, figure.bar)
    console.print(table)
    return 0
