"""Hours, attributes and ratings of a record, read by rule."""

from __future__ import annotations

import json

import pytest

from groundwire.verifiers.passages import passages
from groundwire.verifiers.records import Findings, check, read_record

PLACE = {
    "name": "Finch & Fork",
    "hours": {
        "Monday": "17:30-23:0",
        **dict.fromkeys(("Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"), "17:0-21:0"),
        "Sunday": "9:0-14:0",
    },
    "attributes": {
        "BusinessParking": {"garage": True, "street": True, "valet": False},
        "OutdoorSeating": False,
        "WiFi": "free",
        "Music": None,
    },
    "business_stars": 4.0,
    "review_info": [{"review_stars": 5.0, "review_text": "What a great brunch, we loved the mimosas and the staff."}],
}
RECORD = read_record(passages(json.dumps(PLACE)))


def found(claim: str) -> Findings:
    return check(claim, RECORD)


@pytest.mark.parametrize(
    "claim",
    [
        "It is open Tuesday to Saturday from 5 PM to 9 PM.",
        "It opens on Monday from 5:30 pm to 11:00 pm and on Sunday from 9:00 to 14:00.",
        "Hours are 17:00-21:00 from Tuesday to Saturday and 9 am to 2 pm on Sunday.",
        "On weekdays it opens late, while on Sundays it serves from 9:00 am until 2:00 pm.",
        "It is open seven days a week.",
    ],
)
def test_right_hours_are_borne_out(claim: str) -> None:
    assert found(claim).hours_wrong == 0
    assert found(claim).hours_ok > 0


@pytest.mark.parametrize(
    "claim",
    [
        "The restaurant operates from Monday to Saturday from 17:00-21:00.",
        "It is open daily from 9 am to 2 pm.",
        "It is closed on Sundays.",
        "It is open six days a week.",
    ],
)
def test_wrong_hours_are_caught(claim: str) -> None:
    assert found(claim).hours_wrong > 0


@pytest.mark.parametrize(
    ("claim", "right", "wrong", "unknown"),
    [
        ("It offers outdoor seating.", 0, 1, 0),
        ("There is no outdoor seating.", 1, 0, 0),
        ("It has free WiFi and a parking garage.", 2, 0, 0),
        ("WiFi is not available.", 0, 1, 0),
        ("It has live music.", 0, 0, 1),
        ("It does not offer valet or outdoor seating.", 2, 0, 0),
        ("The weather is nice.", 0, 0, 0),
    ],
)
def test_attributes(claim: str, right: int, wrong: int, unknown: int) -> None:
    seen = found(claim)
    assert (seen.borne_out, seen.contradicted, seen.open) == (right, wrong, unknown)


def test_ratings_of_the_business_and_of_reviewers() -> None:
    assert found("It has a 4.0-star rating.").stars_wrong == 0
    assert found("It has a rating of 4.5 stars.").stars_wrong == 1
    assert found("One reviewer gave it 5 stars.").stars_wrong == 0


def test_the_wrong_part_is_named() -> None:
    claim = "It offers outdoor seating."
    assert [claim[a:b] for a, b in found(claim).ranges] == ["outdoor seating"]


def test_prose_has_no_record() -> None:
    assert read_record(passages("The tower is 330 metres tall. It opened in 1889.")).is_empty
