"""`groundwire calibrate`: set the operating point from labelled rows, with a bound on false alarms.

With `--from-feedback` the rows are the reports that people gave feedback on: a report counts as supported if
all of its flags were marked wrong, and as unsupported if a claim was confirmed to be unsupported.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.console import Console

from groundwire._loop import run
from groundwire.budget import wilson
from groundwire.cli.batch import read_rows
from groundwire.cli.console import write_atomic
from groundwire.cli.options import command
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, GroundwireError, InputError
from groundwire.integrations.rows import ParsedBatchRow, parse_row
from groundwire.reports.feedback import open_feedback
from groundwire.reports.terminal import progress_bar
from groundwire.verdicts.calibration import TooFewRows, rank, reference, threshold

WINDOW = 8
"""Rows scored concurrently."""
_THRESHOLD_SCALE = 10_000  # four digits, as reports round a risk
_KEY = re.compile(r"^risk_threshold\s*:.*$", re.M)
_REFERENCE_KEY = re.compile(r"^calibration\s*:.*\n?", re.M)
_NEEDED = "rows with label 1 are needed"
_ROUNDING_ERROR = 0.00005
"""Reports round a risk to four digits: the true one may be higher by this much."""


@command("backend", "model", "labels", "target", "profile", "store")
def calibrate(
    rows: Annotated[
        Path | None, typer.Argument(metavar="[LABELLED.jsonl]", help="Batch rows with a label: 1 or 0.")
    ] = None,
    from_feedback: Annotated[
        bool, typer.Option("--from-feedback", help="Use people's feedback on verdicts instead.")
    ] = False,
    max_fpr: Annotated[float, typer.Option(help="Share of supported responses that may be flagged.")] = 0.05,
    confidence: Annotated[
        float | None, typer.Option(help="Guarantee it for these very rows, with this confidence.")
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Set the key in this YAML file.")] = None,
    *,
    config: Config,
) -> None:
    """Set the operating point from labelled rows, so that false alarms stay below a rate."""
    if (rows is None) != from_feedback:
        raise InputError("give either labelled rows or --from-feedback")
    bound = FalseAlarmBound(max_fpr, confidence)
    if rows is None:
        old = _read_existing(out)
        point, notes = _from_feedback(bound, config)
    else:
        labelled = list(read_labelled(rows))
        bound.require(sum(supported for _, supported in labelled), "supported rows", _NEEDED)
        old = _read_existing(out)
        point, notes = _from_rows(labelled, bound, Groundwire(config)), []
    # Valid YAML, so that it can be redirected to a file.
    console = Console(highlight=False, soft_wrap=True, markup=False)
    for line in (*notes, *_explain(point)):
        console.print(f"# {line}")
    if point.reference:
        console.print(point.reference)
    console.print(point.line)
    if out is not None:
        write_atomic(out, _merge(old, point, out))
        console.print(f"# written to {out}")


@dataclass(frozen=True, slots=True)
class FalseAlarmBound:
    """At most `max_fpr` false alarms: on average, or with `confidence` for these very rows."""

    max_fpr: float
    confidence: float | None = None

    def __str__(self) -> str:
        confidence = f" at {_percent(self.confidence)} confidence" if self.confidence else ""
        return f"≤ {_percent(self.max_fpr)}{confidence}"

    def require(self, supported: int, what: str, needed: str) -> None:
        """Raise `InputError` if so few supported responses cannot guarantee the bound."""
        try:
            rank(supported, self.max_fpr, self.confidence)
        except TooFewRows as error:
            hint = f"at least {error.needed} {needed}"
            raise InputError(f"{supported} {what} cannot guarantee false alarms {self}", hint=hint) from None
        except ValueError as error:
            raise InputError(str(error)) from None


LabelledRow = tuple[ParsedBatchRow, bool]
"""A row, and whether its sources support it."""


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The threshold and its counts: `alarms` are flags on supported rows, `caught` on unsupported ones.

    `risks` are those of all rows if they are a sample of the answers in use, else empty.
    """

    risk_threshold: float
    bound: FalseAlarmBound
    supported: int
    alarms: int
    unsupported: int
    caught: int
    backend: str
    failed: int = 0
    profile: str = ""
    risks: tuple[float, ...] = ()

    @classmethod
    def choose(
        cls, bound: FalseAlarmBound, supported: Sequence[float], others: Sequence[float], backend: str
    ) -> OperatingPoint:
        """The lowest threshold that keeps the bound, from the risks of supported and unsupported responses."""
        cut = round_up(threshold(supported, bound.max_fpr, bound.confidence))
        alarms, caught = (sum(risk > cut for risk in risks) for risks in (supported, others))
        return cls(cut, bound, len(supported), alarms, len(others), caught, backend)

    @property
    def reference(self) -> str:
        """The line that lets the service notice if its answers differ from these rows; empty without them."""
        if not self.risks:
            return ""
        edges, counts = reference(self.risks, self.risk_threshold)
        found = {"backend": self.backend, "profile": self.profile, "edges": edges, "counts": counts}
        return f"calibration: {json.dumps(found)}"  # JSON is YAML

    @property
    def line(self) -> str:
        """The line of configuration, with its origin as a comment."""
        origin = f"false alarms {self.bound}, {self.supported} supported rows, backend {self.backend}"
        return f"risk_threshold: {self.risk_threshold}  # calibrated: {origin}"


def read_labelled(path: Path) -> Iterator[LabelledRow]:
    """Batch rows with a `label`. A row that cannot be used is an error: the bound holds for all of them."""
    if not path.is_file():
        raise InputError(f"{path} is not a file")
    for row in read_rows(path):
        try:
            parsed, label = parse_row(row.raw), json.loads(row.raw).get("label")
            if label not in (0, 1):
                raise InputError("'label' must be 1 (supported) or 0 (not)")
            yield parsed, bool(label)
        except InputError as error:
            raise InputError(f"{path}, row {row.number}: {error}") from None


def _from_rows(rows: Sequence[LabelledRow], bound: FalseAlarmBound, engine: Groundwire) -> OperatingPoint:
    """Score every row with the engine and choose the lowest threshold that keeps the bound."""
    risks = _risks(rows, engine)
    supported = [r for r, (_, label) in zip(risks, rows, strict=True) if r is not None and label]
    others = [r for r, (_, label) in zip(risks, rows, strict=True) if r is not None and not label]
    failed = len(rows) - len(supported) - len(others)
    if rows and failed == len(rows):
        raise BackendDown(f"none of the {len(rows)} rows could be checked", hint="run groundwire doctor")
    lost = f" ({failed} rows could not be checked)" if failed else ""
    bound.require(len(supported), f"supported rows{lost}", _NEEDED)
    point = OperatingPoint.choose(bound, supported, others, engine.backend.name)
    return replace(point, failed=failed, profile=engine.profile.name, risks=(*supported, *others))


def round_up(value: float) -> float:
    """Round to four digits, never down: rounding must not add false alarms."""
    return min(1.0, ceil(value * _THRESHOLD_SCALE) / _THRESHOLD_SCALE)


def _risks(rows: Sequence[LabelledRow], engine: Groundwire) -> list[float | None]:
    risks: list[float | None] = []

    async def score(window: Sequence[LabelledRow]) -> list[float | None]:
        return await asyncio.gather(*(_risk(row, engine) for row, _ in window))

    try:
        with progress_bar(Console(stderr=True)) as progress:
            bar = progress.add_task("scoring", total=len(rows))
            for start in range(0, len(rows), WINDOW):
                window = rows[start : start + WINDOW]
                risks += run(score(window))
                progress.advance(bar, len(window))
    finally:
        run(engine.aclose())
    return risks


async def _risk(row: ParsedBatchRow, engine: Groundwire) -> float | None:
    """The risk of a row; None if the row or one of its claims could not be checked."""
    try:
        report = await engine.check(row.response, row.sources, question=row.question)
    except GroundwireError:
        return None
    return None if report.error else report.risk


def _explain(point: OperatingPoint) -> Iterator[str]:
    bound = point.bound
    yield f"{point.supported} supported rows, {point.unsupported} others" + (
        f"; {point.failed} could not be checked and are left out" if point.failed else ""
    )
    kth = _ordinal(rank(point.supported, bound.max_fpr, bound.confidence))
    yield f"flagged: responses with a risk over {point.risk_threshold}, the {kth} smallest of supported rows"
    limit = f"at most {_percent(bound.max_fpr)}"
    if bound.confidence:
        confidence = f"with {_percent(bound.confidence)} confidence"
        yield f"guaranteed {confidence}: {limit} of new supported responses are flagged,"
    else:
        yield f"guaranteed: a new supported response is flagged with probability {limit},"
    yield "as long as new responses are drawn from the same distribution as these rows"
    if not point.unsupported:
        yield "how many unsupported responses it catches is unknown: there are no rows with label 0"
        return
    low, high = wilson(point.caught, point.unsupported)
    counts = f"{point.caught} of {point.unsupported} unsupported rows, {point.caught / point.unsupported:.0%}"
    yield f"expected to catch: {counts} (95% interval {low:.0%} to {high:.0%})"


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _read_existing(out: Path | None) -> str:
    """The content of the output file, validated before the rows are scored."""
    if out is None:
        return ""
    if out.suffix not in (".yaml", ".yml"):
        raise InputError(f"cannot write {out}", hint="-o must be a YAML file")
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise InputError(f"cannot write {out}", hint="-o must be a file in an existing folder")
    try:
        return out.read_text(encoding="utf-8") if out.exists() else ""
    except (OSError, UnicodeDecodeError):
        raise InputError(f"cannot read {out}", hint="choose another -o") from None


def _merge(old: str, point: OperatingPoint, out: Path) -> str:
    """The file with this key set, the reference of an older threshold replaced, and the rest unchanged."""
    old = _REFERENCE_KEY.sub("", old)
    if _KEY.search(old):
        text = _KEY.sub(lambda _: point.line, old, count=1)
    else:
        text = f"{old.rstrip()}\n{point.line}\n".lstrip()
    text = f"{text.rstrip()}\n{point.reference}\n" if point.reference else text
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError:
        data = None
    if not isinstance(data, dict) or data.get("risk_threshold") != point.risk_threshold:
        raise InputError(f"{out} does not have one key per line", hint="add the line above to it by hand")
    return text


# ---- from feedback


def _from_feedback(bound: FalseAlarmBound, config: Config) -> tuple[OperatingPoint, list[str]]:
    """The operating point, and notes on what it rests on.

    Only reports of the configured backend and profile count: risks of others are not comparable.
    """
    with open_feedback(config) as feedback:
        reviewed = feedback.reviewed()
    backend = config.hallucination.backend.type
    own = [r for r in reviewed if (r.report.backend, r.report.profile) == (backend, config.profile)]
    risks = [(min(1.0, r.report.risk + _ROUNDING_ERROR), r.supported) for r in own if r.report.risk is not None]
    supported = [risk for risk, label in risks if label is True]
    others = [risk for risk, label in risks if label is False]
    needed = "are needed, each with all its flags marked wrong or a claim right"
    bound.require(len(supported), "supported responses with feedback", needed)
    notes = [
        "from feedback: people mark what they notice, so the rows are not a random sample,",
        "and the service cannot watch whether its answers still look like them",
    ]
    undecided, foreign = len(own) - len(supported) - len(others), len(reviewed) - len(own)
    if undecided:
        notes.append(f"{undecided} responses have unmarked flags or no risk, and are left out")
    if foreign:
        notes.append(f"{foreign} were checked with another backend or profile, and are left out")
    return OperatingPoint.choose(bound, supported, others, backend), notes
