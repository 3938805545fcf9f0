"""Weekly hours are compared day by day, in any notation."""

from __future__ import annotations

import json

import pytest

from groundwire.types import Query
from groundwire.verifiers.rules import RULES, detect

HOURS = next(rule for rule in RULES if rule.name == "hours")
RECORD = json.dumps(
    {
        "name": "Finch & Fork",
        "hours": {
            "Tuesday": "17:0-21:0",
            "Wednesday": "17:0-21:0",
            "Thursday": "17:0-21:0",
            "Friday": "17:0-22:30",
            "Saturday": "9:0-22:30",
            "Sunday": "9:0-14:0",
        },
    }
)
PROSE = "The museum is open daily from 10:00 to 18:00. It was built in 1931."


def label(claim: str, context: str = RECORD) -> str | None:
    result = detect(HOURS, Query(claim, context))
    return result.label if result else None


@pytest.mark.parametrize(
    "claim",
    [
        "It is open Tuesday through Thursday from 5 PM to 9 PM.",
        "Open from 17:00 to 21:00 Tuesday-Thursday, and from 9 a.m. to 2 p.m. on Sunday.",
        "Finch & Fork operates Tue-Thu 5:00 PM – 9:00 PM, Friday until 10:30 PM, and is closed on Mondays.",
        "The restaurant opens at 9 AM on Saturdays and Sundays.",
    ],
)
def test_hours_in_another_notation_are_supported(claim: str) -> None:
    assert label(claim) == "supported"


@pytest.mark.parametrize(
    "claim",
    [
        "It is open Tuesday through Friday from 5 PM to 9 PM.",  # until 22:30 on Friday
        "It is open on Mondays from 5 PM to 9 PM.",  # the record leaves Monday out
        "It is open on Sundays from 9 PM to 2 AM.",
        "It is closed on Sundays.",
        "It is open on Sundays from 9 AM to 2 PM and offers free helicopter rides.",  # more than hours
        "It was founded on a Monday.",
        "It is popular.",
    ],
)
def test_other_hours_and_other_statements_are_left_to_the_network(claim: str) -> None:
    assert label(claim) is None


def test_hours_of_prose() -> None:
    assert label("The museum is open from 10 AM to 6 PM on Mondays.", PROSE) == "supported"
    assert label("On Thursdays the museum closes at 8 PM.", PROSE) is None


def test_two_records_with_different_hours_settle_nothing() -> None:
    other = RECORD.replace("17:0-21:0", "8:0-12:0")
    assert label("It is open on Sundays from 9 AM to 2 PM.", f"[{RECORD}, {other}]") is None
