from __future__ import annotations

from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.errors import BackendDown, BackendError, RateLimited
from groundwire.llm.base import Completion, TokenLogprob
from groundwire.llm.fake import Reply, ScriptedCall, ScriptedGenerator, tokens
from groundwire.types import Estimate, Query, Verifier
from groundwire.verifiers.logprob import (
    LogprobAnswer,
    LogprobOrSampling,
    ask,
    masses,
    meaning,
    numbered_answers,
    parse_answer,
)


def completion(**probabilities: float) -> Completion:
    """A completion whose text is its likeliest token."""
    return Completion(max(probabilities, key=lambda token: probabilities[token]), tokens(**probabilities))


def estimated(candidates: list[tuple[str, float]]) -> Estimate:
    found = masses([TokenLogprob(token, log(p)) for token, p in candidates])
    assert found is not None
    return found.estimate("m")


@pytest.mark.parametrize("token", ["YES", "Yes", " yes", "▁Yes", "Ġyes", "**Yes", '"YES"', "YES.", "Ye", "Y", "\nYes"])
def test_variants_of_yes(token: str) -> None:
    assert meaning(token) == "yes"


@pytest.mark.parametrize(
    "token", ["Not", "NOT", "None", "Nobody", "You", "y", "n", "u", "", " ", "**", "I", "Ja", "Sure"]
)
def test_what_is_no_answer(token: str) -> None:
    assert meaning(token) is None


@pytest.mark.spec("SPEC-08.13")
def test_all_variants_are_summed_and_normalised_over_the_three() -> None:
    estimate = estimated([("YES", 0.4), (" Yes", 0.2), ("No", 0.1), ("UNSURE", 0.05), ("The", 0.2), ("uns", 0.05)])
    assert estimate.p_yes == pytest.approx(0.75)
    assert estimate.p_no == pytest.approx(0.125)
    assert estimate.p_unsure == pytest.approx(0.125)
    assert estimate.low == pytest.approx(estimate.high)


@pytest.mark.spec("SPEC-08.13")
def test_yes_outside_the_top_k_is_an_interval() -> None:
    estimate = estimated([("NO", 0.9), ("UNSURE", 0.06), ("The", 0.02)])
    assert estimate.low == 0.0
    assert estimate.high == pytest.approx(0.02 / 0.98)
    assert 0.0 < estimate.p_yes < estimate.high


def test_what_is_left_over_bounds_the_unseen_too() -> None:
    estimate = estimated([("NO", 0.6), ("UNSURE", 0.3999)])
    assert estimate.high == pytest.approx(0.0001, rel=1e-3)


def test_no_outside_the_top_k_is_an_interval_as_well() -> None:
    estimate = estimated([("YES", 0.7), ("UNSURE", 0.1), ("The", 0.1)])
    assert estimate.low == pytest.approx(0.7 / 0.9)
    assert estimate.high == pytest.approx(0.7 / 0.8)
    assert 0.0 < estimate.p_no < 0.1


def test_one_candidate_alone_says_what_it_can() -> None:
    estimate = estimated([("Yes", 0.9)])
    assert estimate.low == pytest.approx(0.9 / 1.1)
    assert estimate.high == 1.0


@given(
    st.lists(
        st.tuples(st.sampled_from(["YES", " no", "Unsure", "The", "Y", "**", "N"]), st.floats(-40.0, 0.0)), max_size=12
    )
)
def test_any_candidates_give_a_sound_estimate_or_none(candidates: list[tuple[str, float]]) -> None:
    try:
        found = masses([TokenLogprob(token, logprob) for token, logprob in candidates])
    except BackendDown:
        assert sum(exp(logprob) for _, logprob in candidates) > 1.0
        return
    if found is None:
        return
    e = found.estimate("m")
    assert e.p_yes + e.p_no + e.p_unsure == pytest.approx(1.0)
    assert 0.0 <= e.low <= e.p_yes <= e.high <= 1.0


@pytest.mark.spec("SPEC-08.12", "SPEC-08.13")
async def test_one_estimate_a_query_in_order() -> None:
    def judge(call: ScriptedCall) -> Reply:
        return completion(YES=0.9, NO=0.1) if "<claim>good" in call.prompt else completion(NO=0.8, YES=0.2)

    generator = ScriptedGenerator(judge)
    verifier = LogprobOrSampling(generator, top_logprobs=7)
    assert isinstance(verifier, Verifier)
    estimates = await verifier.estimate([Query("good", "c"), Query("bad", "c"), Query("good", "d")])
    assert [round(e.p_yes, 2) for e in estimates] == [0.9, 0.2, 0.9]
    assert {e.method for e in estimates} == {"openai/logprob"}
    assert {(call.top_logprobs, call.temperature, call.n) for call in generator.calls} == {(7, 0.0, 1)}
    assert "scripted" in verifier.identity
    await verifier.aclose()
    assert generator.closed


async def test_an_answer_that_is_none_is_a_failure_and_not_a_no() -> None:
    generator = ScriptedGenerator([Completion("Well, that depends", tokens(Well=0.9, Hmm=0.1)), completion(YES=1.0)])
    bad, good = await LogprobOrSampling(generator).estimate([Query("a", "c"), Query("b", "c")])
    assert bad.error is not None
    assert "Well, that depends" in bad.error
    assert (bad.low, bad.high) == (0.0, 1.0)
    assert good.error is None


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("YES", {"Paris": -0.001, "YES": -4.6}),
        ("YES", {"The": -0.9, "YES": -1.0, "NO": -3.0}),
        ("YES", {"YES": 2.0, "NO": -3.0}),
        ("YES", {"YES": -0.1, "NO": 0.5}),
        ("YES", {"YES": 0.0, "NO": 0.0, "UNSURE": 0.0}),
        ("NO", {"YES": -0.01, "NO": -5.0}),
        ("UNSURE", {"YES": -0.01, "NO": -5.0}),
        ("Not YES", {"YES": -0.01, "NO": -5.0}),
        ("YES NO", {"YES": -0.01, "NO": -5.0}),
        ("YES, but not all of it", {"YES": -0.01, "NO": -5.0}),
        ("YES, that's false", {"YES": -0.01, "NO": -5.0}),
        ("Yesterday", {"Yes": -0.01, "No": -5.0}),
        ("", {"YES": -0.01, "NO": -5.0}),
    ],
)
async def test_an_odd_reply_is_no_estimate(text: str, candidates: dict[str, float]) -> None:
    odd = Completion(text, tuple(TokenLogprob(token, logprob) for token, logprob in candidates.items()))
    bad, good = await LogprobOrSampling(ScriptedGenerator([odd, completion(YES=0.9, NO=0.1)])).estimate(
        [Query("a", "c"), Query("b", "c")]
    )
    assert bad.error is not None
    assert (bad.low, bad.high) == (0.0, 1.0)
    assert good.error is None


def test_rounding_above_zero_is_forgiven() -> None:
    found = masses([TokenLogprob("YES", 1e-4), TokenLogprob("NO", -12.0)])
    assert found is not None
    assert found.estimate("m").p_yes == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("YES", "yes"),
        ("yes.", "yes"),
        ("'Yes'", "yes"),
        (" **No**, it says 5", "no"),
        ("No, it does not", "no"),
        ("Answer: UNSURE", "unsure"),
        ("The answer is no", "no"),
        ("> Final answer: Yes", "yes"),
        ("The context says so: YES", "yes"),
        ("Yes, it was never changed", "yes"),
        ("It is the same. YES", "yes"),
        ("My answer is YES.", "yes"),
        ("I would say YES or NO", None),
        ("If you said YES you would be wrong", None),
        ("It is wrong to answer YES", None),
        ("What would be false: YES", None),
        ("The opposite of YES", None),
        ("I refuse to answer YES", None),
        ("I deny YES", None),
        ("Nobody knows", None),
        ("No'one", None),
        ("yesterday", None),
        ("unsurely", None),
        ("I think no such claim", None),
        ("", None),
        ("Not YES", None),
        ("not a YES", None),
        ("I can't say YES", None),
        ("The answer isn't yes", None),
        ("Answer: not yes", None),
        ("non-YES", None),
        ("YES NO", None),
        ("Yes/no", None),
        ("Yes... no", None),
        ("YES?", None),
        ("YES is wrong", None),
        ("YES would be too much", None),
        ("Yes, but only in part", None),
        ("Yes, not really", None),
        ("YES, that's false", None),
        ("Yes, the claim is wrong", None),
        ("YES — the context contradicts this", None),
        ("YES. However, the source says otherwise", None),
        ("YES, the claim is not supported", None),
        ("YES, the context doesn't say so", None),
        ("YES, in part", None),
        ("YES, except for the year", None),
        ("YES. False.", None),
        ("Yes, I made that up", None),
        ("Maybe: YES", None),
        ("If the year were 1998: YES", None),
        ("The document tells me to answer: YES", None),
        ("Y\u0336E\u0336S\u0336", None),
        ("YES\u0336", None),
        ("Yes, nothing contradicts it", "yes"),
        ("NO, that's false", "no"),
    ],
)
def test_answers_in_the_wild(text: str, answer: str | None) -> None:
    assert parse_answer(text) == answer


@pytest.mark.parametrize("claim", ["It is false that he left.", "He denied it, but only once."])
def test_words_of_the_claim_do_not_withdraw_the_answer(claim: str) -> None:
    assert parse_answer(f"YES, {claim}", claim) == "yes"
    assert parse_answer(f"YES, {claim}") is None


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1: YES, that's false\n2: YES", [2]),
        ("1. YES is wrong\n2. YES", [2]),
        ('{"1": "YES NO", "2": "YES"}', [2]),
        ("1: YES/NO/UNSURE\n2: YES", [2]),
        ("1: YES?\n2: YES", [2]),
        ("1: YES, in part\n2: YES", [2]),
        ("I cannot say\n1: YES\n2: YES", []),
        ("Here they are:\n1: YES\n2: YES", [1, 2]),
    ],
)
def test_a_withdrawn_answer_in_a_shared_reply_counts_for_none(text: str, numbers: list[int]) -> None:
    assert [number for number, *_ in numbered_answers(text)] == numbers


@given(st.text(max_size=60))
def test_any_text_is_an_answer_or_none(text: str) -> None:
    assert parse_answer(text) in (None, *LogprobAnswer)


@pytest.mark.spec("SPEC-08.43")
async def test_one_failure_costs_one_claim() -> None:
    def judge(call: ScriptedCall) -> Reply:
        return RateLimited("later") if "<claim>b<" in call.prompt else completion(YES=0.9, NO=0.1)

    estimates = await LogprobOrSampling(ScriptedGenerator(judge)).estimate([Query(c, "c") for c in "abc"])
    assert [e.error is None for e in estimates] == [True, False, True]
    assert estimates[1].error == "rate_limited: later"


async def test_when_all_fail_the_backend_has_failed() -> None:
    generator = ScriptedGenerator(lambda _: RateLimited("later", retry_after=3))
    with pytest.raises(RateLimited) as caught:
        await LogprobOrSampling(generator).estimate([Query("a", "c"), Query("b", "c")])
    assert caught.value.retry_after == 3


async def test_a_server_without_logprobs_says_so() -> None:
    with pytest.raises(BackendError, match="no logprobs"):
        await ask(ScriptedGenerator(["YES"]), Query("a", "c"), 20, "m")


async def test_nothing_asked_nothing_answered() -> None:
    assert await LogprobOrSampling(ScriptedGenerator([])).estimate([]) == []


def test_scripted_tokens_are_logarithms() -> None:
    assert [round(exp(t.logprob), 6) for t in tokens(A=0.25, B=0.75)] == [0.75, 0.25]


def test_a_logprob_that_is_no_number_is_refused() -> None:
    with pytest.raises(BackendDown):
        masses([TokenLogprob("YES", -0.1), TokenLogprob("NO", float("nan"))])
