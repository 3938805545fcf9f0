"""Contradictions with the conversation: by value, by denial, by category, by order, by the verifier's word."""

from __future__ import annotations

import asyncio

import pytest
from tests.detecting import context_of

from groundwire.detectors.history import detect_history_contradictions
from groundwire.detectors.statements import similarity, utterances
from groundwire.types import ContradictionType, Estimate, Flag, HallucinationType, Query, Verifier

Turns = tuple[tuple[str, str], ...]
BOOKED: Turns = (
    ("user", "Hello, I need a meeting with the design team."),
    ("assistant", "Sure, I can help with that."),
    ("assistant", "I'll book the meeting for Monday."),
    ("user", "Thanks. What should I bring?"),
    ("assistant", "Please bring the drafts."),
)


def flags(text: str, turns: Turns, verifier: Verifier | None = None) -> list[Flag]:
    return asyncio.run(detect_history_contradictions(context_of(text, turns=turns, verifier=verifier)))


def test_the_meeting_that_moved_by_itself() -> None:
    text = "As I mentioned, the meeting is on Friday."
    (flag,) = flags(text, BOOKED)
    assert flag.type is HallucinationType.CONTRADICTS_PRIOR
    assert flag.contradiction is ContradictionType.INCOMPATIBLE_VALUES
    assert flag.evidence == "Earlier: 'I'll book the meeting for Monday.' (Turn 3)"
    assert flag.suggestion == "This contradicts a previous statement"
    assert flag.correction == "Monday"
    assert flag.fix is not None
    assert text[slice(*flag.fix)] == "Friday"
    assert flag.confidence == pytest.approx(0.9)
    assert text[flag.start : flag.end] == flag.content


def test_the_corrected_text_raises_no_flag() -> None:
    assert flags("As I mentioned, the meeting is on Monday.", BOOKED) == []


@pytest.mark.parametrize(
    "said", ["Actually, make it Friday.", "Let's move the meeting to Friday.", "Could we move the meeting to Friday?"]
)
def test_what_the_user_changes_is_superseded(said: str) -> None:
    assert flags("The meeting is on Friday.", (*BOOKED, ("user", said))) == []


def test_the_latest_statement_counts() -> None:
    turns = (*BOOKED, ("user", "Actually, make it Friday."))
    (flag,) = flags("The meeting is on Monday.", turns)
    assert flag.correction == "Friday"
    assert "(Turn 6)" in flag.evidence


WRONG: list[tuple[str, str, ContradictionType]] = [
    ("The ticket costs $40.", "The ticket costs $55.", ContradictionType.INCOMPATIBLE_VALUES),
    ("Your flight leaves at 10:15.", "Your flight leaves at 11:45.", ContradictionType.INCOMPATIBLE_VALUES),
    ("The order has 3 items.", "The order has 5 items.", ContradictionType.INCOMPATIBLE_VALUES),
    ("The warranty ends on March 3, 2027.", "The warranty ends on May 9, 2027.", ContradictionType.INCOMPATIBLE_VALUES),
    ("Your account manager is Anna Lee.", "Your account manager is Tom Brown.", ContradictionType.INCOMPATIBLE_VALUES),
    ("The refund was approved.", "The refund was not approved.", ContradictionType.DIRECT_NEGATION),
    ("The plan does not include roaming.", "The plan includes roaming.", ContradictionType.DIRECT_NEGATION),
    ("The store is open.", "The store is closed.", ContradictionType.LOGICAL_IMPOSSIBILITY),
    ("The project started in 2021.", "The project ended in 2019.", ContradictionType.TEMPORAL_IMPOSSIBILITY),
]  # fmt: skip
RIGHT = [
    ("The ticket costs $40.", "The ticket costs $40."),
    ("The ticket costs about $40.", "The ticket costs $42."),
    ("The basic plan costs $10.", "The premium plan costs $20."),
    (
        "The basic plan includes email support for $10 a month.",
        "The premium plan includes email support for $20 a month.",
    ),
    ("The meeting is on Monday.", "The workshop is on Friday."),
    ("The budget meeting is on Monday.", "The design meeting is on Friday."),
    ("Your flight leaves at 10:15.", "Your flight has been rescheduled to 11:45."),
    ("Your flight leaves at 10:15.", "Your flight lands at 11:45."),
    ("Is the meeting on Monday?", "The meeting is on Friday."),
    ("If it rains, the match is on Monday.", "It is a pleasure to help."),
    ("The refund was approved.", "The refund was approved last week."),
    ("I met Anna Lee in Rome.", "I met Tom Brown in Rome."),
    ("The store is open.", "The pharmacy is closed."),
    ("The server is not running.", "The server is running now."),
    ("The order has 3 items.", "The order has 5 vouchers."),
    ("The course starts in March.", "The course starts on March 5."),
    ("The project started in 2019.", "The project ended in 2021."),
    ("The hotel has 120 rooms.", "The hotel has 3 pools."),
    ("The paper was published in 2019.", "The paper was cited in 2021."),
    ("The meeting is on Monday.", "Should we move the meeting to Friday?"),
]


@pytest.mark.parametrize(("prior", "said", "kind"), WRONG)
def test_what_goes_against_an_earlier_turn(prior: str, said: str, kind: ContradictionType) -> None:
    (flag,) = flags(said, (("assistant", prior), ("user", "Thank you.")))
    assert flag.contradiction is kind
    assert flag.confidence >= 0.6
    assert f"Earlier: '{prior}' (Turn 1)" == flag.evidence


@pytest.mark.parametrize(("prior", "said"), RIGHT)
def test_what_does_not(prior: str, said: str) -> None:
    assert flags(said, (("assistant", prior), ("user", "Thank you."))) == []


def test_only_the_last_ten_turns_count() -> None:
    later: Turns = tuple(("user", f"Point {i} is noted.") for i in range(10))
    assert flags("The ticket costs $55.", (("assistant", "The ticket costs $40."), *later)) == []


def test_a_system_message_establishes_nothing() -> None:
    assert flags("The ticket costs $55.", (("system", "The ticket costs $40."),)) == []


class _Says:
    """A verifier that takes everything for denied."""

    def __init__(self, p_no: float, error: str | None = None) -> None:
        self.p_no, self.error, self.asked = p_no, error, list[Query]()

    async def estimate(self, queries: list[Query]) -> list[Estimate]:
        self.asked += queries
        made = Estimate.failed(self.error) if self.error else Estimate.point(0.1, self.p_no, "test")
        return [made for _ in queries]


PETS: Turns = (("assistant", "Pets are welcome in the garden suites."),)


def test_the_verifiers_no_counts_where_rules_are_silent() -> None:
    says = _Says(0.8)
    (flag,) = flags("Pets are banned in the garden suites.", PETS, says)  # type: ignore[arg-type]
    assert [(query.claim, query.context) for query in says.asked] == [
        ("Pets are banned in the garden suites.", PETS[0][1])
    ]
    assert flag.contradiction is ContradictionType.LOGICAL_IMPOSSIBILITY
    assert 0.55 <= flag.confidence <= 0.8


@pytest.mark.parametrize("says", [_Says(0.5), _Says(0.9, "timeout")])
def test_a_verifier_that_does_not_deny_raises_nothing(says: _Says) -> None:
    assert flags("Pets are banned in the garden suites.", PETS, says) == []  # type: ignore[arg-type]


def test_similarity_is_symmetric_and_bounded() -> None:
    texts = ["The meeting is on Monday.", "I'll book the meeting.", "Pets are welcome.", "12 of 13", "Meeting room B"]
    made = [next(iter(utterances(text))) for text in texts]
    for a in made:
        for b in made:
            assert 0.0 <= similarity(a, b) <= 1.0
            assert similarity(a, b) == similarity(b, a)


def test_nothing_said_before_nothing_to_contradict() -> None:
    assert flags("The meeting is on Friday.", ()) == []


def test_a_time_of_day_is_corrected_without_the_point_of_its_sentence() -> None:
    before = (("assistant", "The rollout meeting is on Wednesday at 10 am."),)
    said = "The rollout meeting is at 2 pm in room 4."
    (flag,) = flags(said, before)
    assert flag.fix is not None
    assert (flag.correction, said[flag.fix[0] : flag.fix[1]]) == ("10 am", "2 pm")


@pytest.mark.parametrize(
    ("said", "wrong"), [("Your name is Amir.", True), ("Your name is Oren.", False), ("My name is Ada.", False)]
)
def test_a_name_is_read_though_the_sentence_goes_on(said: str, wrong: bool) -> None:
    before = (("user", "My name is Oren and I live in Haifa."),)
    assert bool(flags(said, before)) is wrong


@pytest.mark.parametrize(
    ("prior", "related"),
    [
        ("The rent of the flat is $900.", True),
        ("The rent of the furnished flat in Lyon with two rooms is $900.", False),
    ],
)
def test_only_statements_from_a_similarity_of_seven_tenths_are_related(prior: str, related: bool) -> None:
    one, two = *utterances(prior), *utterances("The rent is $700.")
    assert (similarity(one, two) >= 0.7) is related
    assert similarity(one, two) > 0.2
    assert bool(flags("The rent is $700.", (("assistant", prior),))) is related
