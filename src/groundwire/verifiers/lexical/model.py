"""The calibrated model: three logits, linear in the features. Its figures are made by training/lexical.py."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp

from groundwire.verifiers.lexical.features import FEATURES


@dataclass(frozen=True, slots=True)
class LexicalCalibration:
    """`coefficients`: one (yes, no, unsure) row a feature. `operating_points`: profile → threshold in bits.

    `doubt`: what each answer keeps whatever the words say, since words never make anything certain.
    """

    coefficients: tuple[tuple[float, float, float], ...]
    doubt: tuple[float, float, float]
    word_weights: Mapping[str, float]
    operating_points: Mapping[str, float]


@cache
def calibration() -> LexicalCalibration:
    """The calibration that ships with the package."""
    raw = json.loads(files("groundwire.verifiers.lexical").joinpath("calibration.json").read_text("utf-8"))
    rows = raw["coefficients"]
    return LexicalCalibration(
        coefficients=tuple((rows[name][0], rows[name][1], rows[name][2]) for name in FEATURES),
        doubt=(raw["doubt"][0], raw["doubt"][1], raw["doubt"][2]),
        word_weights=raw["word_weights"],
        operating_points=raw["operating_points"],
    )


def probabilities(values: Sequence[float], model: LexicalCalibration) -> tuple[float, float, float]:
    """P(yes), P(no), P(unsure)."""
    logits = [
        sum(value * row[k] for value, row in zip(values, model.coefficients, strict=True)) for k in range(3)
    ]
    top = max(logits)
    exps = [exp(logit - top) for logit in logits]
    share = (1.0 - sum(model.doubt)) / sum(exps)
    yes, no, unsure = (doubt + share * e for doubt, e in zip(model.doubt, exps, strict=True))
    return yes, no, unsure
