from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.config import Config
from groundwire.errors import BackendDown
from groundwire.types import Estimate, Query
from groundwire.verifiers.backends import open_backend
from groundwire.verifiers.fake import FakeVerifier
from groundwire.verifiers.meaning import SAME, agreement, first_look

COUNT = "How many r's are in strawberry?"
CAPITAL = "What is the capital of France?"


@pytest.mark.spec("SPEC-16.08")
@pytest.mark.parametrize(
    ("question", "a", "b"),
    [
        (COUNT, "3", "There are three."),
        (COUNT, "3", "The r's are at 3, 8 and 9, so there are 3 r's."),
        (CAPITAL, "Paris", "Paris is the capital of France."),
        (CAPITAL, "Paris", "The capital is Paris, on the Seine."),
        ("Who wrote Hamlet?", "Shakespeare", "William Shakespeare wrote it."),
        ("When did it open?", "March 2020", "It opened in March 2020."),
        ("Is it safe?", "Yes", "It is safe."),
        ("How tall is it?", "330 m", "It is 330 metres tall."),
        ("Who?", "UNKNOWN", "Unknown."),
    ],
)
def test_words_settle_that_short_answers_are_the_same(question: str, a: str, b: str) -> None:
    for one, two in ((a, b), (b, a)):
        look = first_look(one, two, question)
        assert look is not None
        assert look >= 0.9


@pytest.mark.spec("SPEC-16.08")
@pytest.mark.parametrize(
    ("question", "a", "b"),
    [
        (COUNT, "3", "2"),
        (COUNT, "2", "The r's are at 3, 8 and 9, so there are 3 r's."),
        (CAPITAL, "Paris", "Lyon is the capital."),
        ("Is it safe?", "Yes", "No"),
        ("Is it safe?", "Yes, it is safe.", "It is not safe."),
        ("How tall is it?", "330 m", "It is 300 metres tall."),
        ("When did it open?", "March 2020", "It opened in April 2020."),
        ("Who?", "UNKNOWN", "Ada"),
        ("Who?", "", "Ada"),
    ],
)
def test_words_settle_that_short_answers_differ(question: str, a: str, b: str) -> None:
    assert first_look(a, b, question) == first_look(b, a, question) == 0.0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Nobody wanted to buy.", "Demand was weak."),
        ("the man bit the dog", "the dog bit the man"),
        ("NYC", "New York City"),
    ],
)
def test_what_words_do_not_settle_is_left_to_the_verifier(a: str, b: str) -> None:
    assert first_look(a, b) is None


async def test_the_verifier_is_asked_both_ways_in_one_call_and_in_the_frame_of_the_question() -> None:
    fake = FakeVerifier(lambda query: (0.9, 0.0) if query.claim.startswith("Why? weak") else (0.4, 0.0))
    pairs = [("weak demand", "few buyers"), ("3", "3"), ("weak demand", "few buyers")]
    found = await agreement(fake, pairs, "Why?")
    assert found == [pytest.approx(0.6), 1.0, pytest.approx(0.6)]
    ((one, two),) = fake.calls
    assert (one, two) == (
        Query("Why? weak demand", "Why? few buyers", "Why?"),
        Query("Why? few buyers", "Why? weak demand", "Why?"),
    )


async def test_a_denial_in_one_direction_is_a_denial() -> None:
    fake = FakeVerifier(lambda query: (0.9, 0.0) if "weak" in query.claim else (0.2, 0.7))
    assert await agreement(fake, [("weak demand", "few buyers")]) == [0.2]


async def test_what_could_not_be_compared_is_none_and_the_rest_stands() -> None:
    fake = FakeVerifier(lambda _: Estimate.failed("timeout"))
    assert await agreement(fake, [("weak demand", "few buyers"), ("3", "3")]) == [None, 1.0]
    down = FakeVerifier(failing=[BackendDown("gone")])
    assert await agreement(down, [("weak demand", "few buyers"), ("3", "2")]) == [None, 0.0]


@pytest.mark.spec("SPEC-16.08")
async def test_the_embedded_model_knows_a_paraphrase_from_another_answer() -> None:
    backend = open_backend(Config(), name="local")
    failed = "The build failed because a test timed out."
    same, other, off = await agreement(
        backend.verifier,
        [
            (failed, "A test timed out, so the build broke."),
            (failed, "The build passed."),
            (failed, "The release notes were written by the support team."),
        ],
    )
    assert same is not None
    assert other is not None
    assert off is not None
    assert same >= SAME > max(other, off)


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=40))
@settings(max_examples=60)
def test_any_two_texts_can_be_looked_at(a: str, b: str, question: str) -> None:
    look = first_look(a, b, question)
    assert look == first_look(b, a, question)
    assert look is None or 0.0 <= look <= 1.0
    assert first_look(a, a, question) == 1.0
