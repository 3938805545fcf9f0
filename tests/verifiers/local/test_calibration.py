"""From the readings of windows to probabilities: what further windows may and may not change."""

from __future__ import annotations

import pytest

from groundwire.verifiers.local.calibration import CLEAR, Calibration, features, is_clear
from groundwire.verifiers.local.network import Reading
from groundwire.verifiers.local.quantities import NO_NUMBERS, NumberCheck

ENTAILED = Reading(0.97, 0.02, 0.01, ())
DENIED = Reading(0.01, 0.02, 0.97, ())
SILENT = Reading(0.02, 0.96, 0.02, ())
LEANING = Reading(0.6, 0.3, 0.1, ())


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    return Calibration.load()


def test_each_reading_alone_decides_its_own_way(calibration: Calibration) -> None:
    yes, no, unsure = (calibration.probabilities([one]) for one in (ENTAILED, DENIED, SILENT))
    assert yes.yes > 0.8
    assert no.no > max(no.yes, no.unsure)
    assert unsure.unsure > max(unsure.yes, unsure.no)


def test_a_clear_contradiction_wins_against_a_weaker_entailment(calibration: Calibration) -> None:
    found = calibration.probabilities([LEANING, DENIED])
    assert found.yes < 0.5


def test_a_lone_window_counts_as_the_narrow_and_the_wide_one() -> None:
    assert features([ENTAILED], NO_NUMBERS) == features([ENTAILED, ENTAILED], NO_NUMBERS)


def test_a_number_that_the_source_gives_otherwise_lowers_the_support(calibration: Calibration) -> None:
    absent = NumberCheck(absent=True, reason="the source says “67 metres”, not “97 metres”")
    with_number = calibration.probabilities([LEANING], absent)
    assert with_number.yes < calibration.probabilities([LEANING]).yes


def test_only_a_sure_first_window_settles_a_claim() -> None:
    assert is_clear(Reading(CLEAR, 1 - CLEAR, 0.0, ()))
    assert is_clear(DENIED)
    assert not is_clear(LEANING)
    assert not is_clear(SILENT)
