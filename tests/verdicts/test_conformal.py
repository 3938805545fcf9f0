"""The promise is kept: by arithmetic on small cases, by simulation on many."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.verdicts.calibration import TooFewRows, rank, rows_needed, threshold

Draw = Callable[[np.random.Generator, int], np.ndarray]
ALPHAS = st.sampled_from([0.01, 0.05, 0.07, 0.1, 0.2, 0.29, 0.5])


def test_the_rows_a_promise_needs() -> None:
    assert [rows_needed(a) for a in (0.5, 0.1, 0.05, 0.01, 0.001)] == [1, 9, 19, 99, 999]
    assert [rows_needed(a, 0.95) for a in (0.1, 0.05, 0.01)] == [29, 59, 299]
    assert rows_needed(0.5, 0.5) == 1


def test_too_few_rows_are_refused_with_the_number_needed() -> None:
    with pytest.raises(TooFewRows) as refused:
        threshold([0.1] * 18, 0.05)
    assert (refused.value.needed, refused.value.given) == (19, 18)
    assert threshold([0.1] * 18 + [0.9], 0.05) == 0.9


@pytest.mark.parametrize(("fpr", "confidence"), [(0.0, None), (1.0, None), (0.05, 0.0), (0.05, 1.0)])
def test_impossible_promises_are_refused(fpr: float, confidence: float | None) -> None:
    with pytest.raises(ValueError, match="must be between 0 and 1"):
        rows_needed(fpr, confidence)


@given(st.integers(1, 400), ALPHAS)
def test_the_rank_is_the_least_that_keeps_the_promise(rows: int, alpha: float) -> None:
    if rows < rows_needed(alpha):
        return
    k, exact = rank(rows, alpha), Fraction(str(alpha))
    assert Fraction(rows + 1 - k, rows + 1) <= exact
    assert k == 1 or Fraction(rows + 2 - k, rows + 1) > exact


@given(st.integers(1, 200), ALPHAS, st.sampled_from([0.5, 0.9, 0.95]))
def test_the_confident_rank_agrees_with_exact_binomials(rows: int, alpha: float, confidence: float) -> None:
    if rows < rows_needed(alpha, confidence):
        return
    k, p = rank(rows, alpha, confidence), Fraction(str(alpha))

    def tail(above: int) -> Fraction:
        return sum((comb(rows, i) * p**i * (1 - p) ** (rows - i) for i in range(above + 1)), Fraction(0))

    slack = Fraction(1, 10**9)
    assert tail(rows - k) <= 1 - Fraction(str(confidence)) + slack
    assert k == 1 or tail(rows - k + 1) > 1 - Fraction(str(confidence)) - slack


@given(st.integers(20, 200), ALPHAS)
def test_confidence_never_loosens_the_threshold(rows: int, alpha: float) -> None:
    if rows >= rows_needed(alpha, 0.95):
        assert rank(rows, alpha, 0.95) >= rank(rows, alpha)


def skewed(generator: np.random.Generator, size: int) -> np.ndarray:
    return generator.beta(0.4, 3.0, size)


def tied(generator: np.random.Generator, size: int) -> np.ndarray:
    return np.round(generator.beta(2.0, 5.0, size), 1)


@pytest.mark.parametrize("draw", [skewed, tied])
@pytest.mark.parametrize(("rows", "alpha"), [(19, 0.05), (60, 0.05), (150, 0.1)])
def test_over_many_draws_false_alarms_stay_within_the_promise(draw: Draw, rows: int, alpha: float) -> None:
    generator = np.random.default_rng(8)
    rates = [
        float((draw(generator, 400) > threshold(draw(generator, rows).tolist(), alpha)).mean()) for _ in range(600)
    ]
    assert np.mean(rates) <= alpha + 2 * np.std(rates) / np.sqrt(len(rates))
    if draw is skewed:
        assert np.mean(rates) >= alpha - 1 / (rows + 1) - 0.005, "tight where no two scores are equal"


def test_with_confidence_hardly_any_draw_breaks_the_promise() -> None:
    generator = np.random.default_rng(16)
    cuts = [threshold(generator.uniform(size=100).tolist(), 0.05, 0.9) for _ in range(1000)]
    broken = np.mean([1 - cut > 0.05 for cut in cuts])
    assert broken <= 0.1 + 2 * np.sqrt(0.09 / 1000)
    plain = [threshold(generator.uniform(size=100).tolist(), 0.05) for _ in range(1000)]
    assert np.mean([1 - cut > 0.05 for cut in plain]) > 0.3, "the plain promise holds on average only"
