"""From the readings of windows to probabilities: what further windows may and may not change."""

from __future__ import annotations

import pytest

from groundwire.verifiers.local.calibration import CLEAR, Calibration, Readings, features
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
    yes, no, unsure = (calibration.probabilities(Readings((one,))) for one in (ENTAILED, DENIED, SILENT))
    assert yes.yes > 0.8
    assert no.no > max(no.yes, no.unsure)
    assert unsure.unsure > max(unsure.yes, unsure.no)


def test_a_clear_contradiction_wins_against_a_weaker_entailment(calibration: Calibration) -> None:
    found = calibration.probabilities(Readings((LEANING,), DENIED))
    assert found.yes < 0.5


def test_where_the_clauses_settle_a_claim_they_count_as_the_whole() -> None:
    assert features(Readings((ENTAILED,)), NO_NUMBERS) == features(Readings((ENTAILED,), ENTAILED), NO_NUMBERS)


@pytest.mark.parametrize("wrong", [DENIED, SILENT])
def test_a_claim_is_as_good_as_its_worst_clause(calibration: Calibration, wrong: Reading) -> None:
    right = calibration.probabilities(Readings((ENTAILED, ENTAILED), LEANING))
    found = calibration.probabilities(Readings((ENTAILED, wrong), LEANING))
    assert found.yes < 0.5 < right.yes


def test_a_number_that_the_source_gives_otherwise_lowers_the_support(calibration: Calibration) -> None:
    absent = NumberCheck(absent=True, reason="the source says “67 metres”, not “97 metres”")
    with_number = calibration.probabilities(Readings((LEANING,)), absent)
    assert with_number.yes < calibration.probabilities(Readings((LEANING,))).yes


def test_only_entailed_clauses_settle_a_claim() -> None:
    assert Readings((ENTAILED, Reading(CLEAR, 1 - CLEAR, 0.0, ()))).is_clear
    assert not Readings((ENTAILED, LEANING)).is_clear
    assert not Readings((ENTAILED, DENIED)).is_clear
    assert not Readings((DENIED,)).is_clear
    assert not Readings((SILENT,)).is_clear
