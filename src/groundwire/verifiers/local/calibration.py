"""From the network's readings of a claim's windows to P(yes), P(unsure) and P(no).

A small softmax regression over what the network says of the narrow and of the wide window and over the check of the
claim's numbers, fitted on held-out claims, turns them into probabilities. It sees no words, no length, no format and no
data set.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from groundwire.verifiers.local.network import FOLDER, Reading, checked_file
from groundwire.verifiers.local.quantities import NO_NUMBERS, NumberCheck

_EDGE = 1e-4
"""Probabilities of the network are clipped here before logits are taken: beyond, int8 noise decides."""

_TOKEN_EDGE = 6.0

CLEAR = 0.95
"""A first window this sure of entailment or contradiction settles the claim; no further one is read."""


@dataclass(frozen=True, slots=True)
class Probabilities:
    yes: float
    unsure: float
    no: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Fitted numbers and operating points, as `training.calibrate` wrote them.

    `weights` has a row for yes, unsure and no and a column per feature.
    """

    name: str
    weights: tuple[tuple[float, ...], ...]
    bias: tuple[float, ...]
    prior_yes: float
    threshold_bits: float
    risk_threshold: float

    @classmethod
    def load(cls, folder: Path = FOLDER) -> Calibration:
        data = json.loads(checked_file("calibration.json", folder).read_text(encoding="utf-8"))
        data["weights"] = tuple(tuple(row) for row in data["weights"])
        data["bias"] = tuple(data["bias"])
        return cls(**data)

    def probabilities(self, readings: Sequence[Reading], numbers: NumberCheck = NO_NUMBERS) -> Probabilities:
        """The three probabilities of a claim from all of its windows and its numbers."""
        values = features(readings, numbers)
        logits = np.asarray(self.weights) @ np.asarray(values) + np.asarray(self.bias)
        shares = np.exp(logits - logits.max())
        yes, unsure, no = (float(share) for share in shares / shares.sum())
        return Probabilities(yes, unsure, no)


def is_clear(reading: Reading) -> bool:
    """Whether the first window settles a claim."""
    return max(reading.entailment, reading.contradiction) >= CLEAR


def features(readings: Sequence[Reading], numbers: NumberCheck) -> list[float]:
    """The narrow window's three logits, the wide one's, the worst token, numbers. A lone window counts as both.

    Neutral is no function of the other two once they are clipped: without its logit the log loss on 4,138
    claims is .760 instead of .744, and on cards .19 of the neutral claims are called contradicted instead of .15.
    """
    narrow, wide = readings[0], readings[-1]
    return [
        *(_logit(share) for one in (narrow, wide) for share in (one.entailment, one.neutral, one.contradiction)),
        min(_worst_token(reading) for reading in readings),
        float(numbers.absent),
        float(numbers.replaced),
        float(numbers.derived),
    ]


def _worst_token(reading: Reading) -> float:
    """The logit of the token that is most likely unsupported, clipped where more says nothing."""
    return max(-_TOKEN_EDGE, min(_TOKEN_EDGE, max((logit for *_, logit in reading.tokens), default=0.0)))


def _logit(share: float) -> float:
    clipped = min(1 - _EDGE, max(_EDGE, share))
    return math.log(clipped / (1 - clipped))
