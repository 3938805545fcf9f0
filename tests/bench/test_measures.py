"""The measures, against values worked out by hand and against what must hold for all data."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from benchmarks.plots import precision_recall
from hypothesis import given
from hypothesis import strategies as st

from groundwire.bench.measures import (
    Flags,
    Scores,
    auroc,
    balanced_accuracy,
    calibration_error,
    f1,
    precision,
    recall,
    reliability,
    span_count,
)

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 20), st.booleans()), min_size=1, max_size=40)


def arrays(rows: list[tuple[bool, int, bool]]) -> tuple[Flags, Scores, Flags]:
    bad, score, flagged = zip(*rows, strict=True)
    return np.array(bad), np.array(score, np.float64) / 20, np.array(flagged)


def test_auroc_counts_the_pairs_in_order() -> None:
    bad = np.array([True, False, True, False, False])
    assert auroc(bad, np.array([0.9, 0.8, 0.7, 0.6, 0.1])) == pytest.approx(5 / 6)
    assert auroc(bad, np.full(5, 0.3)) == 0.5
    assert isnan(auroc(np.ones(3, bool), np.arange(3.0)))


@given(ROWS)
def test_auroc_is_the_share_of_pairs_and_ignores_the_scale(rows: list[tuple[bool, int, bool]]) -> None:
    bad, score, _ = arrays(rows)
    found = auroc(bad, score)
    pairs = [(a > b) + 0.5 * (a == b) for a in score[bad] for b in score[~bad]]
    if not pairs:
        assert isnan(found)
        return
    assert found == pytest.approx(np.mean(pairs))
    assert auroc(bad, np.exp(3 * score) - 7) == pytest.approx(found)
    assert auroc(bad, -score) == pytest.approx(1 - found)


def test_flags_by_hand() -> None:
    bad = np.array([True, True, True, False, False])
    flagged = np.array([True, True, False, True, False])
    assert (precision(bad, flagged), recall(bad, flagged)) == (2 / 3, 2 / 3)
    assert f1(bad, flagged) == pytest.approx(2 / 3)
    assert balanced_accuracy(bad, flagged) == pytest.approx((2 / 3 + 1 / 2) / 2)


@given(ROWS)
def test_f1_lies_between_precision_and_recall(rows: list[tuple[bool, int, bool]]) -> None:
    bad, _, flagged = arrays(rows)
    found = f1(bad, flagged)
    parts = (precision(bad, flagged), recall(bad, flagged))
    if bad.any() and flagged.any():
        assert min(parts) - 1e-12 <= found <= max(parts) + 1e-12
    if bad.any():
        assert f1(bad, bad) == 1.0
        assert f1(bad, np.ones_like(bad)) == pytest.approx(2 * bad.mean() / (1 + bad.mean()))
    if bad.any() and not bad.all():
        assert balanced_accuracy(bad, np.ones_like(bad)) == 0.5


def test_calibration_error_by_hand() -> None:
    risk = np.array([0.05, 0.05, 0.85, 0.85])
    bad = np.array([False, True, True, True])
    assert calibration_error(bad, risk) == pytest.approx(0.5 * 0.45 + 0.5 * 0.15)
    assert [b.rows for b in reliability(bad, risk)] == [2, 2]
    assert calibration_error(np.array([True]), np.array([1.0])) == 0.0
    assert isnan(calibration_error(np.zeros(0, bool), np.zeros(0)))


def test_a_perfect_forecaster_has_hardly_any_error_and_an_overconfident_one_much() -> None:
    generator = np.random.default_rng(4)
    risk = generator.uniform(size=40_000)
    bad = generator.uniform(size=40_000) < risk
    assert calibration_error(bad, risk) < 0.01
    assert calibration_error(bad, np.round(risk)) > 0.2


@given(ROWS)
def test_the_curve_holds_each_threshold_and_ends_with_everything(rows: list[tuple[bool, int, bool]]) -> None:
    bad, score, _ = arrays(rows)
    found, exact = precision_recall(bad, score)
    assert len(found) == len(set(score.tolist()))
    assert exact[-1] == pytest.approx(bad.mean())
    assert np.all(np.diff(found) >= 0)
    cut = np.unique(score)[::-1][0]
    if bad.any():
        assert exact[0] == pytest.approx(precision(bad, score >= cut))
        assert found[0] == pytest.approx(recall(bad, score >= cut))
        assert found[-1] == 1.0


def test_spans_count_characters_over_all_rows() -> None:
    count = span_count([([(0, 10)], [(5, 15)]), ([(0, 4), (2, 6)], []), ([], [(0, 2)])])
    assert (count.both, count.marked, count.true) == (5, 16, 12)
    assert count.f1 == pytest.approx(10 / 28)
    assert isnan(span_count([]).f1)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=5))
def test_marking_what_people_marked_is_perfect(ranges: list[tuple[int, int]]) -> None:
    count = span_count([(ranges, ranges)])
    assert isnan(count.f1) or count.f1 == 1.0
