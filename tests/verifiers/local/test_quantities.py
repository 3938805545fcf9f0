"""Numbers of a claim that the evidence states, gives otherwise, or yields by calculation."""

from __future__ import annotations

import pytest

from groundwire.verifiers.local.quantities import NO_NUMBERS, check_numbers


@pytest.mark.parametrize(
    ("claim", "evidence", "calculation"),
    [
        ("They sold 42 tickets.", "They sold 30 tickets on Monday and 12 tickets on Tuesday.", "30 + 12 = 42"),
        ("It took 15 minutes longer.", "The bus takes 40 minutes, the train 25 minutes.", "40 minutes − 25 minutes"),
        ("Some 50 % was spent.", "Of 800 euros, 400 euros were spent.", "400 euros / 800 euros"),
        ("Revenue grew by 25 %.", "Revenue was 80 million in 2020 and 100 million in 2021.", "against"),
        ("Together they cost 60 euros.", "The bolt is 10 euros, the nut 20 euros, the bar 30 euros.", "+"),
    ],
)
def test_a_derived_value_shows_its_calculation(claim: str, evidence: str, calculation: str) -> None:
    found = check_numbers(claim, evidence)
    assert found.derived
    assert not found.absent
    assert calculation in found.reason


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The tower is 330 m tall.", "The tower has a height of 330 metres."),
        ("It opened in 1889.", "The opening was on 31 March 1889."),
        ("One of them is red.", "There is a red one."),
        ("Version 2.4.1 fixes it.", "Fixed in 2.4.1."),
    ],
)
def test_a_stated_number_is_neither_derived_nor_absent(claim: str, evidence: str) -> None:
    assert check_numbers(claim, evidence) == NO_NUMBERS


def test_another_value_in_the_same_unit_is_named() -> None:
    found = check_numbers("The tower is 97 metres tall.", "The tower has a height of 67 metres.")
    assert found.replaced
    assert found.reason == "the source says “67 metres”, not “97 metres”"


def test_a_number_without_a_rival_is_only_absent() -> None:
    found = check_numbers("It has 12 rooms.", "The house stands by the river.")
    assert found.absent
    assert not found.replaced


def test_long_evidence_is_combined_in_bounded_time() -> None:
    evidence = " ".join(f"Pump {n} weighs {n * 1.37:.2f} kg." for n in range(2000))
    check_numbers("All pumps together weigh 98765.4321 kg.", evidence)
