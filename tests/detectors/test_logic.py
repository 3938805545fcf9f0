"""Logical inconsistencies: examples of each kind, and similar sentences that are consistent."""

from __future__ import annotations

import asyncio

import pytest
from tests.detecting import context_of

from groundwire.detectors.logic import detect_logical_inconsistencies
from groundwire.detectors.registry import detect
from groundwire.types import Case, Flag, HallucinationType


def flags(text: str) -> list[Flag]:
    return asyncio.run(detect_logical_inconsistencies(context_of(text)))


WRONG = [
    ("The system is both running and not running.", 0.95),
    ("The server is up and not up.", 0.95),
    ("The API supports streaming. The API does not support streaming.", 0.95),
    ("The system is running. It took a while to build. The system is not running.", 0.95),
    ("The price is $50. The price is $60.", 0.85),
    ("Acme was founded in 1990. Acme was founded in 1995.", 0.85),
    ("The capital of Freedonia is Sylvania City. The capital of Freedonia is Marx Town.", 0.85),
    ("The bridge is 300 metres long. The bridge is 450 metres long.", 0.85),
    ("The meeting is on Friday. The meeting is on Monday.", 0.85),
    ("The park opens in May. The park opens in June.", 0.85),
    ("The festival takes place in May. The festival takes place in August.", 0.85),
    ("The meeting is in May. The meeting is in June.", 0.85),
    ("The deadline is May 5. The deadline is June 5.", 0.85),
    ("The shop closes at 5 pm. The shop closes at 6 pm.", 0.85),
    ("The shop closes at 17:00. The shop closes at 6 pm.", 0.85),
    ("The meeting is at 5 pm. The meeting is at 6 pm.", 0.85),
    ("The dog is called Rex. It barks a lot. The dog is called Max.", 0.85),
    ("The dog's name is Rex. The dog's name is Max.", 0.85),
    ("The name of the ship is Alma. The name of the ship is Brise.", 0.85),
    ("John is alive. John is dead.", 0.80),
    ("John is both alive and dead.", 0.80),
    ("All items were shipped, except for the 3 that weren't.", 0.85),
    ("Everyone attended, apart from those who did not.", 0.85),
    ("All items were shipped. None of the items were shipped.", 0.85),
    ("All items were shipped. Three items were not shipped.", 0.85),
    ("All tests passed. Two tests failed.", 0.85),
    ("All employees attended. Some employees did not attend.", 0.85),
    ("No users were affected. Some users were affected.", 0.85),
    ("None of the pumps worked, and one pump worked all night.", 0.85),
    ("The gate is never locked and it is locked on Mondays.", 0.95),
    ("She is married and a bachelor.", 0.80),
    ("The total is 30: 12 from Rome and 20 from Oslo.", 0.85),
    ("In the poll, 3 of 2 people agreed.", 0.85),
    ("Five out of the three tests passed.", 0.85),
    ("There are 10 items: 4 red and 5 blue.", 0.85),
    ("The box holds 20 pens, consisting of 12 blue pens and 9 red pens.", 0.85),
    ("The car is red. The car is blue.", 0.80),
    ("The valve is open. The valve is closed.", 0.80),
    ("The river is deep. Many people swim here. The river is shallow.", 0.80),
    ("All tests pass. No tests pass.", 0.85),
    ("The tests pass. The tests do not pass.", 0.95),
    ("All invoices were paid. Some invoices were not paid.", 0.85),
    ("All passengers survived. Three passengers died.", 0.85),
    ("None of the samples were contaminated. Two of the samples were contaminated.", 0.85),
    ("Acme has 40 employees. It was founded in 1990. Acme has 50 employees.", 0.85),
    ("Acme has 40 employees. It has 50 employees.", 0.85),
    ("There are 12 players in the squad. There are 15 players in the squad.", 0.85),
    ("Each bedroom has 2 beds. Each bedroom has 3 beds.", 0.85),
    ("The recipe needs 3 eggs. Mix well. The recipe needs 5 eggs.", 0.85),
]
RIGHT = [
    "The system is running, and the backup is not running.",
    "All items except three were shipped.",
    "All items were shipped, except three.",
    "All items were shipped except the fragile ones, which were held back.",
    "The store was open on Monday. The store was closed on Tuesday.",
    "On Monday it was open, on Tuesday it was closed.",
    "The museum is open. The museum is closed on Mondays.",
    "If the pump is on, the light is on. If the pump is off, the light is off.",
    "Is the system running or not running?",
    'He said "the system is both running and not running".',
    "The system was running. Now the system is not running.",
    "The system is running. The system is no longer running at night.",
    "Some users like it. Some users do not like it.",
    "The price is $50 for adults. The price is $30 for children.",
    "The team won in 1990. The team won in 1995.",
    "The API supports streaming. The API does not support batching.",
    "The firm has offices in Paris. The firm has offices in Rome.",
    "The park opens in May. The park closes in June.",
    "The park may open in May. The park opens in June.",
    "In Norway, the season opens in May. In Spain, the season opens in March.",
    "The shop opens in Paris. The shop opens in Rome.",
    "The festival takes place in May. The festival also takes place in June.",
    "The festival takes place in Rome. The festival takes place in May.",
    "The Olympics were held in 1996. The Olympics were held in 2000.",
    "The shop closes at 5 pm. The shop closes at 17:00.",
    "On Sundays, the shop closes at 5 pm. On Mondays, the shop closes at 6 pm.",
    "The kiosk is at 5 Main Street. The kiosk is at 6 Main Street.",
    "The dog is called Rex. The cat is called Max.",
    "Her dog is called Rex. His dog is called Max.",
    "The course starts in September. The course starts in January.",
    "The market is held in May. The market is held in October.",
    "In summer: the park closes at 9 pm. In winter: the park closes at 5 pm.",
    "Option A: The price is $50. Option B: The price is $60.",
    "- Monday: The shop opens at 9 am.\n- Sunday: The shop opens at 10 am.",
    "# Summer\n\nThe park closes at 9 pm.\n\n# Winter\n\nThe park closes at 5 pm.",
    "**Summer**\nThe park closes at 9 pm.\n\n**Winter**\nThe park closes at 5 pm.",
    "The dog is called Rex. The dog is also called Max.",
    "The river is called Donau in German. The river is called Duna in Hungarian.",
    "The company was named Best Employer. The company was named Top Startup.",
    "The city was called Bombay. The city is called Mumbai.",
    "Acme was founded in 1990. Borealis was founded in 1995.",
    "All tests passed. Two reviewers failed.",
    "All tests passed. Two tests passed quickly.",
    "None of the pumps worked, and one valve worked all night.",
    "The gate is never locked, the shed is painted and it is locked on Mondays.",
    "The gate is never locked. The shed is locked on Mondays.",
    "She is alive. She is dead tired.",
    "He is married. He is single-minded.",
    "The total is 32: 12 from Rome and 20 from Oslo.",
    "Some tests passed. Some tests failed.",
    "Two of the three tests passed.",
    "She read chapter 5 of 3 John.",
    "It scored 5 out of 5.",
    "There are 10 items: 4 red and 6 blue.",
    "We sold 12 pens, including 4 red and 5 blue.",
    "The number of users is 10. The number of servers is 12.",
    "The firm employs 10 people in Rome and 5 in Paris.",
    "The population is about 5 million. The population is 5.2 million.",
    "A user is active. A user is inactive.",
    "Both running and not running jobs are listed.",
    "4 of 12 October sessions were full.",
    "The colour is red. The colour is bright.",
    "The red car is fast. The blue car is fast.",
    "The flag is red and white.",
    "The front door is green. The back door is white.",
    "His shirt is blue. Her shirt is red.",
    "The river is deep near the dam. The river is shallow near the village.",
    "Every branch is open on Saturday. No branch is open on Sunday.",
    "All passengers survived. Three crew members died.",
    "Acme has 40 employees in Berlin. Acme has 50 employees in Paris.",
    "In 2019 Acme had 40 employees. In 2020 Acme had 50 employees.",
    "Acme has 40 employees. Acme has 50 customers.",
    "Acme has 40 employees. Acme has about 40 employees.",
    "Room 4 is open. Room 5 is open.",
    "Version 2 has 3 modes. Version 3 has 5 modes.",
    "The team scored 3 goals. The team scored 5 goals.",
    "It is in the list (passage 3, point 1). It is there twice (passage 3, point 2).",
    "The tablet weighs 450 grams without the case. The tablet weighs 520 grams with the case.",
]


@pytest.mark.parametrize(("text", "confidence"), WRONG)
def test_contradictory_statements_are_flagged(text: str, confidence: float) -> None:
    found = flags(text)
    assert [flag.confidence for flag in found[:1]] == [confidence]
    assert {flag.type for flag in found} == {HallucinationType.LOGICAL_INCONSISTENCY}
    assert all(text[flag.start : flag.end] == flag.content for flag in found)


@pytest.mark.parametrize("text", RIGHT)
def test_compatible_statements_are_not_flagged(text: str) -> None:
    assert flags(text) == []


@pytest.mark.parametrize(
    "answer",
    [
        "The car is red. The car is blue.",
        "All tests pass. No tests pass.",
        "The company has 40 employees. It was founded in 1990. The company has 50 employees.",
    ],
)
def test_an_answer_that_contradicts_itself_is_reported_with_both_sentences(answer: str) -> None:
    [flag] = asyncio.run(detect(Case(answer, ()))).flags
    assert flag.type is HallucinationType.LOGICAL_INCONSISTENCY
    assert flag.content == answer
    assert " vs " in flag.evidence
