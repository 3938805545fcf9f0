"""`groundwire calibrate --from-feedback`: the operating point from what people said of verdicts.

A report that somebody spoke about is a row: supported where all of its flags were called false alarms, not
where a claim was found unsupported. Its risk is the one it had then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from groundwire.cli.calibrate import OperatingPoint, Promise, deliver, existing, explain, round_up
from groundwire.cli.feedback import opened
from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.stores.feedback import Reviewed
from groundwire.verdicts.conformal import TooFewRows, rank, threshold

_HALF_A_DIGIT = 0.00005
"""Reports round a risk to four digits: it may have been this much higher."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """The risks of supported and other responses, and how many reports could not be used."""

    supported: list[float]
    others: list[float]
    undecided: int
    foreign: int


def run_calibrate_feedback(promise: Promise, out: Path | None, config: Config) -> int:
    old = existing(out)
    with opened(config) as opinions:
        rows = sort(opinions.reviewed(), config)
    point = operating_point(rows, promise, config)
    deliver(point, _explained(point, rows), out, old)
    return 0


def sort(reviewed: Sequence[Reviewed], config: Config) -> Sorted:
    """Risks compare only within one backend and profile: the ones that are configured."""
    ours = (config.hallucination.backend.type, config.profile)
    own = [r for r in reviewed if (r.report.backend, r.report.profile) == ours]
    risks = [(min(1.0, r.report.risk + _HALF_A_DIGIT), r.supported) for r in own if r.report.risk is not None]
    supported = [risk for risk, label in risks if label is True]
    others = [risk for risk, label in risks if label is False]
    undecided = len(own) - len(supported) - len(others)
    return Sorted(supported, others, undecided, len(reviewed) - len(own))


def operating_point(rows: Sorted, promise: Promise, config: Config) -> OperatingPoint:
    try:
        rank(len(rows.supported), promise.max_fpr, promise.confidence)
    except TooFewRows as short:
        what = (
            f"{len(rows.supported)} supported responses with feedback cannot promise false alarms {promise}"
        )
        hint = f"at least {short.needed} are needed, each with all its flags marked wrong or a claim right"
        raise InputError(what, hint=hint) from None
    except ValueError as error:
        raise InputError(str(error)) from None
    cut = round_up(threshold(rows.supported, promise.max_fpr, promise.confidence))
    return OperatingPoint(
        risk_threshold=cut,
        promise=promise,
        supported=len(rows.supported),
        alarms=sum(risk > cut for risk in rows.supported),
        unsupported=len(rows.others),
        caught=sum(risk > cut for risk in rows.others),
        failed=0,
        backend=config.hallucination.backend.type,
    )


def _explained(point: OperatingPoint, rows: Sorted) -> Iterator[str]:
    yield "from feedback; people mark what strikes them, so this is as fair as their choice"
    if rows.undecided:
        yield f"{rows.undecided} responses have flags that nobody marked, or no risk, and are left out"
    if rows.foreign:
        yield f"{rows.foreign} were judged by another backend or profile and are left out"
    yield from explain(point)
