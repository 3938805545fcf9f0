from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.llm.fake import ScriptedGenerator
from groundwire.types import Query
from groundwire.verifiers.consistency import FLOOR, STEP, ConsistencyVerifier, merge, parse_score, scores

QUERY = Query("It is so.", "The context.")


@pytest.mark.parametrize(
    ("text", "support"),
    [
        ("0.85 because", 0.85),
        ("Score: 85%", 0.85),
        ("**Score:** 0.9", 0.9),
        ("8/10", 0.8),
        ("4 out of 5", 0.8),
        ("Rating: 0.9/1.0", 0.9),
        ("1", 1.0),
        ("0", 0.0),
        (".5", 0.5),
        ("0,85", 0.85),
        ("100 %", 1.0),
        ("Support rating: 0.7. The claim goes on.", 0.7),
        ("I'd rate this 0.9 because 3 of 5 match", 0.9),
        ("The evidence from 2020 bears it out: 0.95", 0.95),
        ("0.0 CONTRADICTED: it says 67 million", 0.0),
        ("NOT MENTIONED 0.0", 0.0),
        ("The context does not say it: 0.1", 0.1),
        ("0.9 - 3 of 5 match, not 4", 0.9),
        ("0.9 SUPPORTED: there are no contradictions", 0.9),
        ("0.8 PARTIAL: it gives the height but not the year", 0.8),
        ("0.1 the claim is false", 0.1),
    ],
)
def test_scores_in_the_wild(text: str, support: float) -> None:
    found = parse_score(text)
    assert found is not None
    assert found.support == pytest.approx(support)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes",
        "10",
        "42",
        "-0.3",
        "1.5",
        "150%",
        "11/10",
        "5/0",
        "NaN",
        "Founded in 1998.",
        "v1.2.3",
        "not 0.9",
        "I would not say 0.9",
        "Score: not 0.9",
        "It isn't 100% supported",
        "hardly 95%",
        "0.1-0.9",
        "0.1 to 0.9",
        "0.9 or 0.1",
        "1.0 CONTRADICTED",
        "0.9 NOT MENTIONED",
        "1.0 NOT SUPPORTED",
        "0.9 contradicted by the source",
        "0.9 but it is false",
        "90% chance that it is wrong",
        "0.9 not mentioned",
        "0.9, no: 0.1",
        "0.9?",
        "0.9 is too high",
        "less than 0.9",
        "up to 90%",
        "Score (1-10): 2",
        "Score (0 to 1): 0.9",
        "1. The claim says more than the context",
        "1 NO",
    ],
)
def test_what_is_no_score(text: str) -> None:
    assert parse_score(text) is None


@given(st.text(max_size=60))
def test_any_text_is_a_score_in_range_or_none(text: str) -> None:
    found = parse_score(text)
    assert found is None or 0.0 <= found.support <= 1.0


def test_the_reason_stands_without_number_and_label() -> None:
    found = parse_score("0.1 CONTRADICTED - the context says 67 million.")
    assert found is not None
    assert (found.contradicted, found.reason) == (True, "the context says 67 million")


def test_one_score_alone_is_known_to_two_tenths_and_never_certain() -> None:
    estimate = merge(scores(["1.0 SUPPORTED it says so"]), [], "m")
    assert estimate.p_yes == 1.0 - FLOOR
    assert estimate.low == pytest.approx(1.0 - FLOOR - 2 * STEP + FLOOR)
    assert (estimate.reason, estimate.speaks) == ("it says so", True)


def test_a_contradiction_is_a_no_and_silence_is_not() -> None:
    replies = ["0.0 CONTRADICTED it says 5", "0.0 NOT MENTIONED nothing about it"]
    no, silent = [merge(scores([reply]), [], "m") for reply in replies]
    assert no.p_no > 0.9
    assert silent.p_no == 0.0
    assert (no.speaks, silent.speaks) == (True, False)


def test_one_score_among_nonsense_is_none() -> None:
    assert scores(["1.0", "what?", "not 0.9", "hm"]) == []


async def test_more_scores_are_sampled_and_those_without_a_number_left_out() -> None:
    replies = ["0.4", "0.6", "what?", "0.5"]
    assert [one.support for one in scores(replies)] == [0.4, 0.6, 0.5]
    generator = ScriptedGenerator([*replies, *["UNKNOWN"] * 4])
    await ConsistencyVerifier(generator, samples=4).estimate([QUERY])
    assert generator.calls[0].temperature > 0


def test_an_endless_reply_is_no_score() -> None:
    assert parse_score("." * 20_000 + " 0.9") is None
    assert parse_score("0.9 " + "because " * 20_000) is None
