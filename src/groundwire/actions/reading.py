"""The network's opinion of a statement: it reads the statement beside the calls, as it reads claims beside sources."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from groundwire.actions.ledger_text import ledger_window
from groundwire.types import CallRecord
from groundwire.verifiers.local.calibration import Calibration, logit
from groundwire.verifiers.local.network import FOLDER, Reading
from groundwire.verifiers.local.verifier import open_network

MAX_READ = 40
"""Sentences of one message that are read: each costs an inference."""


@dataclass(frozen=True, slots=True)
class StatementReading:
    """How likely a sentence is false of the ledger, and whether the calls deny it rather than lack it."""

    risk: float
    denied: bool


def read_statements(
    sentences: Sequence[str], calls: Sequence[CallRecord], ruled: Sequence[bool], acts: Sequence[bool]
) -> list[StatementReading]:
    """A reading per sentence. `ruled`: the rules flag it; `acts`: it states an action, not only how things are."""
    pairs = [(ledger_window(calls, sentence), sentence) for sentence in sentences[:MAX_READ]]
    readings = open_network().read(pairs)
    return [_judged(*one) for one in zip(readings, ruled, acts, strict=False)]


def features(reading: Reading, ruled: bool, acts: bool) -> tuple[float, ...]:
    """What the regression of `training.traces` sees."""
    return logit(reading.entailment), logit(reading.contradiction), float(ruled), float(acts)


def _judged(reading: Reading, ruled: bool, acts: bool) -> StatementReading:
    weights, bias = _weights()
    score = bias + sum(w * x for w, x in zip(weights, features(reading, ruled, acts), strict=True))
    return StatementReading(1 / (1 + math.exp(-score)), reading.contradiction > reading.neutral)


@lru_cache(maxsize=1)
def _weights() -> tuple[tuple[float, ...], float]:
    fitted = Calibration.load(FOLDER).actions
    return fitted[:-1], fitted[-1]
