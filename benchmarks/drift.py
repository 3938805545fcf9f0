"""`python -m benchmarks.drift`: how soon the drift monitor notices that its calibration no longer holds.

A simulation with known truth: risks of supported and unsupported answers are drawn, a threshold is calibrated
on some of them, and then the supported ones change.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median
from time import process_time
from typing import Annotated

import typer

from benchmarks import command, run
from groundwire.bench.measures import Figure, show
from groundwire.cli.console import open_console
from groundwire.config import CalibrationConfig
from groundwire.verdicts.calibration import DriftMonitor, reference, threshold

ROWS, UNSUPPORTED, MAX_FPR = 300, 0.15, 0.05
BEFORE = 1000
"""Answers before the change."""
MOST = 5000
SHIFTS = {0.25: 17, 0.5: 34}
"""Shift of the supported answers' risks, and the share of them, in per cent, that is then flagged."""

app = command()


@dataclass
class Traffic:
    """Answers of which 15 % are unsupported. `shift` raises the risks of the supported ones: see `SHIFTS`."""

    rng: random.Random
    shift: float = 0.0

    def answers(self, count: int) -> Iterator[tuple[bool, float]]:
        for _ in range(count):
            if self.rng.random() < UNSUPPORTED:
                yield False, self.rng.betavariate(6, 2)
            else:
                yield True, self.rng.betavariate(1 + 2 * self.shift, 8 - 3 * self.shift)


def calibrated(traffic: Traffic, count: int = ROWS) -> tuple[CalibrationConfig, float]:
    rows = list(traffic.answers(count))
    cut = round(threshold([risk for supported, risk in rows if supported], MAX_FPR), 4)
    edges, counts = reference([risk for _, risk in rows], cut)
    return CalibrationConfig(backend="fake", profile="default", edges=tuple(edges), counts=tuple(counts)), cut


def started(seed: int, state: str = "", rows: int = ROWS) -> tuple[Traffic, DriftMonitor, float]:
    traffic = Traffic(random.Random(seed))
    calibration, cut = calibrated(traffic, rows)
    return traffic, DriftMonitor(calibration, cut, state, traffic.rng.random), cut


def answers_until_alarm(traffic: Traffic, monitor: DriftMonitor, most: int) -> int | None:
    for number, (_, risk) in enumerate(traffic.answers(most), 1):
        monitor.add(risk)
        if monitor.status.alarms:
            return number
    return None


def measure(runs: int, rows: int) -> Iterator[Figure]:
    alarms, begun = 0, process_time()
    for seed in range(runs):
        traffic, monitor, _ = started(seed, rows=rows)
        alarms += answers_until_alarm(traffic, monitor, 2 * BEFORE) is not None
    seconds = process_time() - begun
    yield Figure(f"alarms in 2,000 answers without a change, of {runs} runs", alarms, "")
    yield Figure("processor time an answer, with the drawing", seconds / (2 * BEFORE * runs) * 1e6, "µs")
    for shift, flagged in SHIFTS.items():
        delays = [delay(seed, shift, rows) for seed in range(runs)]
        yield Figure(f"{flagged} % of the supported flagged: answers until the alarm, median", median(delays), "")
        yield Figure(f"{flagged} % of the supported flagged: … at most", max(delays), "")


def delay(seed: int, shift: float, rows: int = ROWS) -> int:
    """Answers after a change until the alarm; `MOST` where there is none, or one before the change."""
    traffic, monitor, _ = started(seed, rows=rows)
    if answers_until_alarm(traffic, monitor, BEFORE) is not None:
        return MOST
    return answers_until_alarm(replace(traffic, shift=shift), monitor, MOST) or MOST


@app.command()
def drift(
    runs: Annotated[int, typer.Option(min=1, help="Simulated services.")] = 40,
    rows: Annotated[int, typer.Option(min=40, help="Rows that each is calibrated with.")] = ROWS,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Print how often and how soon the monitor raises an alarm."""
    logging.disable(logging.ERROR)  # each alarm is a line of the log
    raise typer.Exit(show(open_console(), measure(runs, rows), as_json=as_json))


if __name__ == "__main__":
    run(app)
