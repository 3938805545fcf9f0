"""`groundwire calibrate`: a user's own operating point, with a promise about false alarms."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import yaml
from rich.console import Console

from groundwire._loop import run
from groundwire.budget import wilson
from groundwire.cli.rows import Parsed, Row, parse_row, read_rows
from groundwire.cli.streams import write_whole
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, GroundwireError, InputError
from groundwire.reports.terminal import progress_bar
from groundwire.verdicts.conformal import TooFewRows, rank, threshold

WINDOW = 8
SCALE = 10_000
KEY = re.compile(r"^risk_threshold\s*:.*$", re.M)


@dataclass(frozen=True, slots=True)
class Promise:
    """What is asked for: at most `max_fpr` false alarms, on average or with `confidence` for these rows."""

    max_fpr: float
    confidence: float | None = None

    def __str__(self) -> str:
        sure = f" at {_percent(self.confidence)} confidence" if self.confidence else ""
        return f"≤ {_percent(self.max_fpr)}{sure}"


@dataclass(frozen=True, slots=True)
class Labelled:
    row: Parsed
    supported: bool


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The threshold and what was seen at it. `alarms` are flags on supported rows, `caught` on the others."""

    risk_threshold: float
    promise: Promise
    supported: int
    alarms: int
    unsupported: int
    caught: int
    failed: int
    backend: str

    @property
    def line(self) -> str:
        """The one line of configuration, with its origin."""
        origin = f"false alarms {self.promise}, {self.supported} supported rows, backend {self.backend}"
        return f"risk_threshold: {self.risk_threshold}  # calibrated: {origin}"


def run_calibrate(path: Path, promise: Promise, out: Path | None, config: Config) -> int:
    rows = list(labelled(path))
    _refuse_too_few(sum(row.supported for row in rows), promise)
    old = existing(out)
    engine = Groundwire(config)
    point = calibrate(rows, promise, engine, Console(stderr=True))
    deliver(point, explain(point), out, old)
    return 0


def deliver(point: OperatingPoint, words: Iterable[str], out: Path | None, old: str) -> None:
    """Console output is valid YAML, so that it can be sent to a file as it is."""
    console = Console(highlight=False, soft_wrap=True)
    for line in words:
        console.print(f"# {line}", markup=False)
    console.print(point.line, markup=False)
    if out is not None:
        write_whole(out, merged(old, point, out))
        console.print(f"# written to {out}", markup=False)


def labelled(path: Path) -> Iterator[Labelled]:
    """Batch rows with a `label`. A row that cannot be used is an error: the promise rests on all of them."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    for row in read_rows(path):
        try:
            yield Labelled(parse_row(row.raw), _label(row))
        except InputError as error:
            raise InputError(f"{path}, row {row.number}: {error}") from None


def _label(row: Row) -> bool:
    label = json.loads(row.raw).get("label")
    if label not in (0, 1):
        raise InputError("'label' must be 1 (supported) or 0 (not)")
    return bool(label)


def _refuse_too_few(supported: int, promise: Promise, failed: int = 0) -> None:
    try:
        rank(supported, promise.max_fpr, promise.confidence)
    except TooFewRows as short:
        lost = f" ({failed} rows could not be checked)" if failed else ""
        what = f"{supported} supported rows{lost} cannot promise false alarms {promise}"
        raise InputError(what, hint=f"at least {short.needed} rows with label 1 are needed") from None
    except ValueError as error:
        raise InputError(str(error)) from None


def calibrate(
    rows: Sequence[Labelled], promise: Promise, engine: Groundwire, console: Console
) -> OperatingPoint:
    """Score every row with the engine, and put the threshold where the promise is kept."""
    risks = _risks(rows, engine, console)
    supported = [r for r, row in zip(risks, rows, strict=True) if r is not None and row.supported]
    others = [r for r, row in zip(risks, rows, strict=True) if r is not None and not row.supported]
    failed = len(rows) - len(supported) - len(others)
    if rows and failed == len(rows):
        raise BackendDown(f"none of the {len(rows)} rows could be checked", hint="groundwire doctor says why")
    _refuse_too_few(len(supported), promise, failed)
    cut = round_up(threshold(supported, promise.max_fpr, promise.confidence))
    return OperatingPoint(
        risk_threshold=cut,
        promise=promise,
        supported=len(supported),
        alarms=sum(risk > cut for risk in supported),
        unsupported=len(others),
        caught=sum(risk > cut for risk in others),
        failed=failed,
        backend=engine.backend.name,
    )


def round_up(value: float) -> float:
    """A few digits, and never below: rounding must not add false alarms."""
    return min(1.0, ceil(value * SCALE) / SCALE)


def _risks(rows: Sequence[Labelled], engine: Groundwire, console: Console) -> list[float | None]:
    risks: list[float | None] = []
    try:
        with progress_bar(console) as progress:
            bar = progress.add_task("scoring", total=len(rows))
            for start in range(0, len(rows), WINDOW):
                window = rows[start : start + WINDOW]
                risks += run(_score(window, engine))
                progress.advance(bar, len(window))
    finally:
        run(engine.aclose())
    return risks


async def _score(window: Sequence[Labelled], engine: Groundwire) -> list[float | None]:
    return await asyncio.gather(*(_risk(labelled.row, engine) for labelled in window))


async def _risk(row: Parsed, engine: Groundwire) -> float | None:
    """None where the row, or a claim of it, could not be checked: half a risk is no risk."""
    try:
        report = await engine.check(row.response, row.sources, question=row.question)
    except GroundwireError:
        return None
    return None if report.error else report.risk


def explain(point: OperatingPoint) -> Iterator[str]:
    promise = point.promise
    yield f"{point.supported} supported rows, {point.unsupported} others" + (
        f"; {point.failed} could not be checked and are left out" if point.failed else ""
    )
    kth = _nth(rank(point.supported, promise.max_fpr, promise.confidence))
    yield f"flagged: responses with a risk over {point.risk_threshold}, the supported rows' {kth} smallest"
    most = f"at most {_percent(promise.max_fpr)}"
    if promise.confidence:
        sure = f"with {_percent(promise.confidence)} confidence"
        yield f"promised {sure}: {most} of new supported responses are flagged,"
    else:
        yield f"promised: a new supported response is flagged with probability {most},"
    yield "as long as new responses come from where these rows came from"
    yield _recall(point)


def _recall(point: OperatingPoint) -> str:
    if not point.unsupported:
        return "how many unsupported responses it catches is unknown: there are no rows with label 0"
    low, high = wilson(point.caught, point.unsupported)
    seen = f"{point.caught} of {point.unsupported} unsupported rows, {point.caught / point.unsupported:.0%}"
    return f"expected to catch: {seen} (95% interval {low:.0%} to {high:.0%})"


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _nth(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def existing(out: Path | None) -> str:
    """What the file holds already, checked before anything is computed."""
    if out is None:
        return ""
    if out.suffix not in (".yaml", ".yml"):
        raise InputError(f"cannot write {out}", hint="-o names a YAML file")
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise InputError(f"cannot write {out}", hint="-o names a file in a folder that exists")
    try:
        return out.read_text(encoding="utf-8") if out.exists() else ""
    except (OSError, UnicodeDecodeError):
        raise InputError(f"cannot read {out}", hint="choose another -o") from None


def merged(old: str, point: OperatingPoint, out: Path) -> str:
    """The file with this key set and everything else as it was."""
    if KEY.search(old):
        text = KEY.sub(lambda _: point.line, old, count=1)
    else:
        text = f"{old.rstrip()}\n{point.line}\n".lstrip()
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError:
        data = None
    if not isinstance(data, dict) or data.get("risk_threshold") != point.risk_threshold:
        raise InputError(f"{out} is not written as keys and values a line", hint="add the line above to it")
    return text
