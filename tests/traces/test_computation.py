"""Equations, dates, clock times and derived numbers are computed, never guessed."""

from __future__ import annotations

from string import ascii_lowercase

import pytest
from tests.growth import assert_linear

from groundwire.traces.computation import (
    check_arithmetic,
    check_calendar,
    computed,
    derivable,
    is_given,
    without_lead_in,
)


@pytest.mark.parametrize(
    ("steps", "holds"),
    [
        (["X = 5", "Y = X + 3", "So Y = 8."], True),
        (["X = 5", "Y = X + 3", "So Y = 9."], False),
        (["2x + 3 = 11", "2x = 8", "x = 4"], True),
        (["2x + 3 = 11", "2x = 9"], False),
        (["Let a be 3.", "b is 4.", "a + b = 7"], True),
        (["Let a be 3.", "b is 4.", "3(a + b) = 22"], False),
        (["x = 3", "Now x = 4."], True),
    ],
)
def test_simple_algebra_is_computed_over_several_steps(steps: list[str], holds: bool) -> None:
    last = computed([], steps)[-1]
    assert last is not None
    assert last.holds is holds


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("45 minutes after 2:30 pm is 3:15 pm.", "45 minutes after 2:30 pm is 3:05 pm."),
        ("30 minutes before 8:10 am is 7:40 am.", "30 minutes before 8:10 am is 7:50 am."),
        ("From 9:15 to 11:00 is 1 hour 45 minutes.", "From 9:15 to 11:00 is 1 hour 30 minutes."),
        ("3 hours after 22:50 is 1:50.", "3 hours after 22:50 is 2:50."),
        ("10 days after March 28, 2024 is April 7, 2024.", "10 days after March 28, 2024 is April 8, 2024."),
        ("Two weeks before May 15 is May 1.", "Two weeks before May 15 is May 2."),
        ("March 13, 2024 is a Wednesday.", "March 13, 2024 is a Friday."),
        ("3 days after Tuesday is Friday.", "3 days after Tuesday is Saturday."),
    ],
)
def test_dates_and_clock_times_are_computed(right: str, wrong: str) -> None:
    assert [found.holds for found in check_calendar(right)] == [True]
    assert [found.holds for found in check_calendar(wrong)] == [False]


@pytest.mark.parametrize(("time", "holds"), [("11:40", True), ("11:20", False)])
def test_a_time_may_follow_from_the_steps_before(time: str, holds: bool) -> None:
    before = ["The train leaves at 9:40.", "The ride takes 2 hours."]
    assert [found.holds for found in check_calendar(f"So it arrives at {time}.", before)] == [holds]


@pytest.mark.parametrize(
    "text", ["The vote was on March 13, 2024.", "It opens at 9:40.", "He has x apples and 3 pears.", "if a = b"]
)
def test_nothing_is_concluded_from_what_computes_nothing(text: str) -> None:
    assert [found for found in computed([], [text]) if found is not None] == []


def test_amounts_that_only_grow_are_not_multiplied() -> None:
    told = ["Tom has 3 apples.", "He buys 2 more."]
    assert derivable(5, told, "So he has 5 apples.")
    assert not derivable(6, told, "So he has 6 apples.")
    assert derivable(60, ["A coat costs 80 euros, reduced by 25%."], "So it costs 60 euros.")


@pytest.mark.parametrize("lead", ["So ", "Therefore: ", "Given: ", "So, as a result, ", "Step 3: thus "])
def test_lead_ins_are_read_over(lead: str) -> None:
    assert without_lead_in(f"{lead}the box has 7 balls.") == "the box has 7 balls."


def test_what_is_given_is_told_by_its_lead_in() -> None:
    assert is_given("Given: the box has 5 balls.")
    assert is_given("Let x be 5.")
    assert not is_given("So the box has 5 balls.")
    assert not is_given("Let me check the box.")


@pytest.mark.parametrize("piece", ["9", "(", "x+", "x + ", "9,999", "^ 9", "x  +  ", "9= 9 "])
def test_long_expressions_are_read_in_linear_time(piece: str) -> None:
    assert_linear(lambda text: computed([], [text]), lambda length: (piece * length)[:length], 2000)


@pytest.mark.parametrize(
    ("before", "right", "wrong"),
    [
        ("A train leaves at 14:35 and travels 2 h 40 min.", "It arrives at 17:15.", "It arrives at 15:15."),
        ("The meeting is on 27 February 2023.", "Three days later is 2 March.", "Three days later is 1 March."),
        ("The alarm rang at 6:50.", "25 minutes later it was 7:15.", "25 minutes later it was 7:05."),
    ],
)
def test_short_hours_and_later_are_computed_from_the_step_before(before: str, right: str, wrong: str) -> None:
    assert [found.holds for found in check_calendar(right, [before])] == [True]
    assert [found.holds for found in check_calendar(wrong, [before])] == [False]


@pytest.mark.parametrize(
    ("steps", "wrong"),
    [
        (["5 m = 500 cm", "3 m = 300 cm"], "3 m = 30 cm"),
        (["30 °C is 86 °F.", "20 °C is 68 °F."], "40 °C is 100 °F."),
        (["2 h = 120 min", "4 h = 240 min"], "4 h = 200 min"),
    ],
)
def test_a_unit_of_one_letter_is_converted_and_is_no_variable(steps: list[str], wrong: str) -> None:
    assert computed([], steps) == [None, None]
    assert [found.holds for step in [*steps, wrong] for found in check_arithmetic(step)] == [True, True, False]


@pytest.mark.parametrize("repeated", ["", " x = x + 1."])
def test_many_variables_are_read_in_linear_time(repeated: str) -> None:
    def equations(length: int) -> str:
        return " ".join(f"{ascii_lowercase[n % 26]}{n // 26 % 100} = {n}.{repeated}" for n in range(length // 16))

    assert_linear(lambda text: computed([], [text]), equations, 5000)


def test_a_long_chain_is_not_read_from_within() -> None:
    chain = " + ".join(["x"] * 60)
    for text in (chain, chain.replace(" + ", "+ "), chain.replace(" + ", "  +  ")):
        assert computed(["x = 1"], [f"So {text} = 60."]) == [None]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The distance is 3 km, that is 3,500 m.", "3 km is not 3,500 m"),
        ("The box weighs 2 kg (2,500 g).", "2 kg is not 2,500 g"),
        ("The film runs for 1.5 hours, which is 100 minutes.", "1.5 hours is not 100 minutes"),
    ],
)
def test_an_amount_given_again_in_another_unit_is_converted(text: str, reason: str) -> None:
    (found,) = check_arithmetic(text)
    assert (found.holds, found.reason) == (False, reason)


@pytest.mark.parametrize(
    "text", ["The distance is 3 km, that is 3,000 m.", "The trail is 5 km (3 miles) long.", "It weighs 2 kg (2,000 g)."]
)
def test_a_right_conversion_of_an_amount_is_no_finding(text: str) -> None:
    assert all(found.holds for found in check_arithmetic(text))


def test_other_amounts_in_brackets_are_no_conversion() -> None:
    assert not list(check_arithmetic("The walk of 5 km (1 km of it uphill) takes an hour."))


@pytest.mark.parametrize(
    ("price", "step", "holds"),
    [
        (15, "A discount of 25% applies.", True),
        (16, "A discount of 25% applies.", False),
        (25, "A tax of 25% is added.", True),
        (15, "A tax of 25% is added.", False),
    ],
)
def test_a_discount_is_taken_off_and_a_tax_put_on(price: float, step: str, holds: bool) -> None:
    assert derivable(price, ["The price is $20.", step], f"So the final price is ${price}.") is holds
