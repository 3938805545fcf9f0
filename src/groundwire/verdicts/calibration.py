"""A threshold with a guaranteed false positive rate, for any model and any data: split conformal prediction.

Let n supported responses be scored, and let a new one be exchangeable with them (no trend, no selection).
Flag scores above the k-th smallest of the n. By symmetry the rank of the new score among all n + 1 is
uniform, so it is flagged with probability at most (n + 1 − k) / (n + 1), whatever the scores mean and
however many are equal.

- On average over calibration sets: k = n + 1 − ⌊(n + 1) · max_fpr⌋, which needs n ≥ 1 / max_fpr − 1.
- With confidence c for *this* set: the share of supported responses above the k-th smallest exceeds max_fpr
  with probability at most P(Binomial(n, max_fpr) ≤ n − k), so k is the least that keeps this within 1 − c.

>>> rows_needed(0.05), rows_needed(0.05, confidence=0.95)
(19, 59)
>>> threshold([n / 100 for n in range(1, 101)], 0.05)
0.96
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import ceil, exp, floor, lgamma, log, log1p, log2, nan
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from groundwire.config import CalibrationConfig, Config
from groundwire.types import HallucinationReport

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class TooFewRows(ValueError):
    """The guarantee needs more supported rows than there are."""

    def __init__(self, needed: int, given: int) -> None:
        super().__init__(f"{needed} supported rows are needed, got {given}")
        self.needed = needed
        self.given = given


def rows_needed(max_fpr: float, confidence: float | None = None) -> int:
    """The minimum number of supported rows for the guarantee.

    Args:
        max_fpr: the guaranteed false positive rate, between 0 and 1.
        confidence: guarantee it for this calibration set with this probability; None: on average.
    """
    for name, value in (("max_fpr", max_fpr), ("confidence", 0.5 if confidence is None else confidence)):
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} must be between 0 and 1, got {value}")
    if confidence is None:
        return ceil(1 / Fraction(str(max_fpr))) - 1
    return max(1, ceil(log(1 - confidence) / log1p(-max_fpr) - 1e-9))


def rank(rows: int, max_fpr: float, confidence: float | None = None) -> int:
    """The rank of the threshold among the scores in ascending order, from 1. Raises `TooFewRows`."""
    needed = rows_needed(max_fpr, confidence)
    if rows < needed:
        raise TooFewRows(needed, rows)
    if confidence is None:
        return rows + 1 - floor((rows + 1) * Fraction(str(max_fpr)))
    tails = accumulate(_binomial(rows, above, max_fpr) for above in range(rows))
    above = sum(1 for tail in tails if tail <= 1 - confidence + 1e-12) - 1
    return rows - max(above, 0)


def threshold(scores: Sequence[float], max_fpr: float, confidence: float | None = None) -> float:
    """The score above which a response is flagged, from the scores of supported ones; see `rows_needed`."""
    return sorted(scores)[rank(len(scores), max_fpr, confidence) - 1]


def _binomial(n: int, k: int, p: float) -> float:
    """P(Binomial(n, p) = k), by logarithms, because n may be large."""
    ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return exp(ways + k * log(p) + (n - k) * log1p(-p))


# ---- drift: watch whether the answers in use still look like the rows that `groundwire calibrate` was given.
#
# Its promise holds while both are exchangeable. Two sequential tests of this, which run for ever and raise a
# false alarm with a probability of at most `LEVEL`:
#
# - the ranks of the risks, in bins: has their distribution moved, up or down?
# - the share of flagged answers: has it risen?
#
# Each answer is ranked among the rows and all earlier answers, ties at random. If all are exchangeable, this
# p-value is uniform and independent of the earlier ones, so betting against it is a fair game: the capital of a
# player who starts with 1 ever reaches c with a probability of at most 1 / c (Ville's inequality), whatever the
# distribution and however long the run. The player keeps a reserve, which shrinks as 1 / log2(t + 2), and moves
# the rest into the bets little by little, so that a change is noticed whenever it comes.

LEVEL = 0.01
"""Probability that either test ever raises a false alarm."""
_ALARM_CAPITAL = 2 / LEVEL  # half of the level for each of the two tests
_SLOPES = (-2.0, -1.0, 1.0, 2.0)  # bets 1 + slope · (p − ½) on the ranks; negative ones on higher risks
_RISES = (1.25, 1.5, 2.0, 4.0)  # bets that the flagged share is this many times the share so far
_MAX_SHARE = 0.9  # of flagged answers that a bet assumes
_BINS = 10
_RECENT = 500  # answers that the stability index forgets within
_SAVE_INTERVAL = 100  # answers; more are lost if the process is killed
_WORDS = {
    "risks": "risks are distributed differently than among the calibration rows",
    "flagged": "more answers are flagged than among the calibration rows",
}
_log = logging.getLogger("groundwire")


def reference(risks: Sequence[float], threshold: float) -> tuple[list[float], list[int]]:
    """Bins of about equal counts, one edge of which is the threshold, and how many risks each has.

    >>> reference([0.1, 0.2, 0.3, 0.9], 0.25)
    ([0.1, 0.2, 0.25, 0.3, 0.9], [1, 1, 0, 1, 1, 0])
    """
    ordered = sorted(risks)
    deciles = {ordered[len(ordered) * n // _BINS] for n in range(_BINS)}
    edges = sorted({round(edge, 4) for edge in (*deciles, threshold)})
    counts = [0] * (len(edges) + 1)
    for risk in risks:
        counts[bisect_left(edges, risk)] += 1
    return edges, counts


class FairGame:
    """Capital that grows if p-values are not uniform. `peak` is the most it ever had."""

    def __init__(self, bets: int) -> None:
        self.rounds = 0
        self.capital = [0.0] * bets
        self.peak = 1.0

    @property
    def reserve(self) -> float:
        return 1.0 / log2(self.rounds + 2)

    @property
    def is_lost(self) -> bool:
        return self.peak >= _ALARM_CAPITAL

    def play(self, gains: Sequence[float]) -> None:
        """One round: the factor by which each bet multiplies its stake, 1 on average over uniform p."""
        before = self.reserve
        self.rounds += 1
        if self.is_lost:
            return
        stake = (before - self.reserve) / len(self.capital)
        self.capital = [(own + stake) * gain for own, gain in zip(self.capital, gains, strict=True)]
        self.peak = max(self.peak, self.reserve + sum(self.capital))


@dataclass(frozen=True, slots=True)
class DriftStatus:
    """`capitals` by test, of which `limit` is an alarm; `stability_index` is the PSI of recent answers."""

    answers: int
    alarms: tuple[str, ...]
    capitals: dict[str, float]
    stability_index: float | None
    limit: float = _ALARM_CAPITAL

    def __str__(self) -> str:
        seen = f"{self.answers:,} answers since the calibration"
        if not self.alarms:
            return f"{seen}, no drift (evidence {max(self.capitals.values()):.2g} of {self.limit:.0f})"
        return f"{' and '.join(self.alarms)} ({seen}): the promise may not hold, calibrate anew"


class DriftMonitor:
    """The tests of one calibration. Safe to call from several threads; an answer takes microseconds.

    Args:
        threshold: the calibrated `risk_threshold`, one of the edges.
        path: the file that keeps the state between restarts; without one the tests start anew.
        noise: breaks ties between equal ranks; a number in [0, 1).

    Attributes:
        problem: why the stored state could not be read; empty if it could, or if there is none.
    """

    def __init__(
        self,
        calibration: CalibrationConfig,
        threshold: float,
        path: str = "",
        noise: Callable[[], float] = random.random,
    ) -> None:
        self._calibration = calibration
        self._noise = noise
        self._first_flagged = bisect_left(calibration.edges, threshold) + 1
        self._counts = list(calibration.counts)
        self._recent = [0.0] * len(self._counts)
        self._games = {"risks": FairGame(len(_SLOPES)), "flagged": FairGame(len(_RISES))}
        self._lock = Lock()
        self.problem = ""
        self._path = Path(path).expanduser() if path else None
        key = json.dumps([calibration.edges, calibration.counts, threshold])
        self._fingerprint = hashlib.sha256(key.encode()).hexdigest()[:16]
        self._load()

    def observe(self, report: HallucinationReport) -> None:
        """Take a report of the calibrated backend and profile into account; others say nothing about it."""
        own = (report.backend, report.profile) == (self._calibration.backend, self._calibration.profile)
        if own and report.risk is not None and report.error is None:
            self.add(report.risk)

    def add(self, risk: float) -> None:
        with self._lock:
            before = self._alarms
            self._play(bisect_left(self._calibration.edges, risk))
            raised = self._alarms != before
            if raised:
                _log.error("drift: %s", self.status)  # shown at the default level
            if raised or self._games["risks"].rounds % _SAVE_INTERVAL == 0:
                self.save()

    def _play(self, place: int) -> None:
        counts, cut, noise = self._counts, self._first_flagged, self._noise()
        flagged, total = sum(counts[cut:]), sum(counts) + 1
        rank = (sum(counts[place + 1 :]) + noise * (counts[place] + 1)) / total
        self._games["risks"].play([1 + slope * (rank - 0.5) for slope in _SLOPES])
        self._games["flagged"].play(_gains(place >= cut, flagged, total, noise))
        counts[place] += 1
        self._recent = [share * (1 - 1 / _RECENT) for share in self._recent]
        self._recent[place] += 1 / _RECENT

    @property
    def _alarms(self) -> tuple[str, ...]:
        return tuple(_WORDS[name] for name, game in self._games.items() if game.is_lost)

    @property
    def status(self) -> DriftStatus:
        return DriftStatus(
            self._games["risks"].rounds,
            self._alarms,
            {name: game.peak for name, game in self._games.items()},
            self._stability_index(),
        )

    def _stability_index(self) -> float | None:
        """PSI of the recent answers against the rows; by convention .1 is small and .25 large."""
        seen, rows = sum(self._recent), sum(self._calibration.counts)
        if self._games["risks"].rounds < _RECENT:
            return None
        pairs = [
            ((now / seen + 0.005) / 1.05, (row / rows + 0.005) / 1.05)  # an empty bin would be infinite
            for now, row in zip(self._recent, self._calibration.counts, strict=True)
        ]
        return sum((now - row) * log(now / row) for now, row in pairs)

    def export(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Gauge

        alarm = Gauge("groundwire_drift_alarm", "1 once the promise may not hold", registry=registry)
        alarm.set_function(lambda: bool(self.status.alarms))
        evidence = Gauge("groundwire_drift_evidence", f"Alarm at {_ALARM_CAPITAL:.0f}", ["test"], registry=registry)
        for name, game in self._games.items():
            evidence.labels(name).set_function(partial(getattr, game, "peak"))
        index = Gauge("groundwire_drift_stability_index", "PSI of recent answers", registry=registry)
        # Not a number before there are enough answers: 0 would say that nothing has moved.
        index.set_function(lambda: nan if (found := self._stability_index()) is None else found)
        answers = Gauge("groundwire_drift_answers", "Answers since the calibration", registry=registry)
        answers.set_function(lambda: self.status.answers)

    def save(self) -> None:
        """Write the state, so that a restart continues. A file that cannot be written only costs that."""
        if self._path is None:
            return
        games = {name: [game.rounds, game.capital, game.peak] for name, game in self._games.items()}
        state = {"of": self._fingerprint, "counts": self._counts, "recent": self._recent, "games": games}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part = self._path.with_name(f"{self._path.name}.{os.getpid()}")
            part.write_text(json.dumps(state), encoding="utf-8")
            part.replace(self._path)
        except OSError as error:
            _log.warning("the state of the drift tests cannot be written: %s", error)

    def _load(self) -> None:
        """Continue from the stored state, if it is one of this very calibration."""
        if self._path is None:
            return
        try:
            self._restore(json.loads(self._path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError, LookupError) as error:
            self.problem = f"the state of the drift tests cannot be read, they start anew: {error}"
            _log.warning("%s", self.problem)

    def _restore(self, state: Any) -> None:
        if state["of"] != self._fingerprint:
            return
        games = [
            (self._games[name], _numbers(r), _numbers(c), _numbers(p)) for name, (r, c, p) in state["games"].items()
        ]
        counts, recent = _numbers(state["counts"]), _numbers(state["recent"])
        if not len(counts) == len(recent) == len(self._counts):
            raise ValueError("it has other bins")
        self._counts, self._recent = counts, recent
        for game, (rounds,), capital, (peak,) in games:
            game.rounds, game.capital, game.peak = rounds, capital, peak


def _numbers(given: Any) -> list[Any]:
    """The numbers of a stored list, or a stored number as a list of one."""
    numbers = given if isinstance(given, list) else [given]
    if not all(isinstance(number, int | float) for number in numbers):
        raise ValueError("it has other things than numbers")
    return numbers


def open_monitor(config: Config) -> DriftMonitor | None:
    """The monitor of the configured calibration, with its stored state; None if there is none to watch."""
    calibration = config.calibration
    if not calibration.edges:
        return None
    if config.risk_threshold not in calibration.edges:
        _log.warning("risk_threshold is not the calibrated one: its promise cannot be watched")
        return None
    return DriftMonitor(calibration, config.risk_threshold, config.server.drift_path)


def _gains(is_flagged: bool, flagged: int, total: int, noise: float) -> list[float]:
    """What the bets on a higher flagged share gain: its likelihood, divided by that of the share so far."""
    # The flagged answers rank first; the bets assume more p-values below `share` than there should be.
    share = max(flagged, 1) / (total - 1)
    p = noise * (flagged + 1) / total if is_flagged else (flagged + noise * (total - flagged)) / total
    gains = []
    for rise in _RISES:
        assumed = min(rise * share, max(share, _MAX_SHARE))
        gains.append(assumed / share if p < share else (1 - assumed) / (1 - share) if share < 1 else 1.0)
    return gains
