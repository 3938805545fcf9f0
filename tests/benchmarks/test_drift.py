from __future__ import annotations

from benchmarks.drift import MOST, delay


def test_a_larger_shift_is_noticed_sooner_and_no_shift_is_not() -> None:
    assert delay(0, 0.5) < delay(0, 0.25) < delay(0, 0.0) == MOST
