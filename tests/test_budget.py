from __future__ import annotations

from math import isfinite, log, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.budget import Budget, adjusted_confidence, budget, clip, kl_bits, observed_bits, required_bits, wilson

share = st.floats(0.0, 1.0, allow_nan=False)
inner = st.floats(0.001, 0.999)


@pytest.mark.spec("SPEC-08.06")
@given(inner, inner)
def test_kl_is_the_bernoulli_divergence_in_bits(p: float, q: float) -> None:
    nats = p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))
    assert kl_bits(p, q) == pytest.approx(nats / log(2), abs=1e-9)


@given(share, share)
def test_kl_is_never_negative_and_zero_only_for_equals(p: float, q: float) -> None:
    assert kl_bits(p, q) >= 0.0
    assert kl_bits(p, p) == 0.0
    if abs(clip(p) - clip(q)) > 1e-4:
        assert kl_bits(p, q) > 0.0


@pytest.mark.spec("SPEC-08.04", "SPEC-16.37")
@given(share, share, share)
def test_no_probability_yields_nan_or_infinity(p1: float, p0: float, target: float) -> None:
    found = budget(p1, p0, target)
    assert all(isfinite(x) for x in (found.required_bits, found.observed_bits, found.gap_bits))
    assert found.gap_bits == found.required_bits - found.observed_bits


@given(share, share, share, inner)
def test_the_gap_falls_as_p1_rises(low: float, high: float, p0: float, target: float) -> None:
    low, high = sorted((low, high))
    assert budget(high, p0, target).gap_bits <= budget(low, p0, target).gap_bits + 1e-9


@pytest.mark.spec("SPEC-08.05")
@given(share, share, st.floats(0.5, 0.999))
def test_a_contradicted_claim_never_passes(p1: float, p0: float, target: float) -> None:
    """Evidence that lowers the probability of a claim that needs support leaves a gap."""
    if clip(p1) < clip(p0) < target:
        assert budget(p1, p0, target).exceeds(0.0)


def test_the_unsigned_reading_would_have_passed_this_one() -> None:
    found = budget(0.02, 0.60, 0.95)
    assert kl_bits(0.02, 0.60) > found.required_bits
    assert found.observed_bits == -kl_bits(0.02, 0.60)
    assert found.gap_bits > 0


@given(share, share, share)
def test_a_prior_at_the_target_needs_nothing(p1: float, p0: float, target: float) -> None:
    if p0 >= target:
        assert required_bits(p0, target) == 0.0
        if p1 >= p0:
            assert budget(p1, p0, target).gap_bits <= 0.0


@given(share, share, share, share, share)
def test_intervals_contain_every_gap_within_them(a: float, b: float, c: float, d: float, target: float) -> None:
    (p1_low, p1_high), (p0_low, p0_high) = sorted((a, b)), sorted((c, d))
    p1, p0 = (p1_low + p1_high) / 2, (p0_low + p0_high) / 2
    found = budget(p1, p0, target, (p1_low, p1_high), (p0_low, p0_high))
    for i in range(5):
        for j in range(5):
            q1 = p1_low + (p1_high - p1_low) * i / 4
            q0 = p0_low + (p0_high - p0_low) * j / 4
            gap = required_bits(q0, target) - observed_bits(q1, q0)
            assert found.gap_low - 1e-6 <= gap <= found.gap_high + 1e-6


def test_certain_says_whether_the_whole_interval_agrees() -> None:
    assert Budget(4, 3, 1, 0.5, 1.5).certain(0.0)
    assert not Budget(4, 3, 1, -0.5, 1.5).certain(0.0)
    assert Budget(4, 3, 1, -0.5, 1.5).certain(2.0)


@given(st.integers(0, 200), st.integers(0, 200))
def test_wilson_contains_the_share_and_stays_a_probability(a: int, b: int) -> None:
    low, high = wilson(min(a, b), max(a, b))
    assert 0.0 <= low <= high <= 1.0
    if max(a, b):
        assert low <= min(a, b) / max(a, b) <= high


@given(st.integers(0, 20), st.integers(1, 20), st.integers(2, 50))
def test_more_samples_make_a_narrower_interval(successes: int, trials: int, times: int) -> None:
    successes = min(successes, trials)
    low, high = wilson(successes, trials)
    low_more, high_more = wilson(successes * times, trials * times)
    assert high_more - low_more < high - low


def test_wilson_against_the_textbook() -> None:
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.spec("SPEC-08.17")
@given(share, share, share)
def test_adjusted_confidence_is_bounded_by_what_was_stated(stated: float, p1: float, p0: float) -> None:
    found = adjusted_confidence(stated, budget(p1, p0, 0.95))
    assert 0.0 <= found <= stated
    assert adjusted_confidence(stated, budget(p1, p0, 0.95), contradicted=True) == 0.0


@pytest.mark.spec("SPEC-08.17")
def test_adjusted_confidence_by_hand() -> None:
    half = Budget(4.0, 2.0, 2.0, 2.0, 2.0)
    assert adjusted_confidence(0.9, half) == 0.5
    assert adjusted_confidence(0.3, half) == 0.3
    assert adjusted_confidence(0.9, Budget(0.0, -1.0, 1.0, 1.0, 1.0)) == 0.9


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        kl_bits(bad, 0.5)


def test_the_worked_example_of_the_design() -> None:
    found = budget(0.02, 0.05, 0.95)
    by_hand = 0.95 * log2(0.95 / 0.05) + 0.05 * log2(0.05 / 0.95)
    assert found.required_bits == pytest.approx(by_hand)
    assert found.observed_bits == pytest.approx(-0.0174, abs=1e-3)


@pytest.mark.parametrize("successes", [-1, 5])
def test_more_successes_than_trials_are_an_error(successes: int) -> None:
    with pytest.raises(ValueError, match="successes in 4 trials"):
        wilson(successes, 4)
