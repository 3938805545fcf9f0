from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from tests.loopback import Loopback, Request, chat
from tests.loopback import Reply as HttpReply

from groundwire.budget import wilson
from groundwire.llm.base import Completion, Endpoint
from groundwire.llm.fake import Reply, ScriptedCall, ScriptedGenerator, tokens
from groundwire.llm.openai import OpenAIGenerator
from groundwire.types import Query
from groundwire.verifiers.logprob import LogprobAnswer, LogprobOrSampling, sample, tally

QUERIES = [Query("a", "c"), Query("b", "c"), Query("c", "d")]


@pytest.mark.spec("SPEC-08.14")
def test_shares_with_a_wilson_interval() -> None:
    estimate = tally([LogprobAnswer.YES] * 7 + [LogprobAnswer.NO] * 2 + [LogprobAnswer.UNSURE], "m")
    assert estimate is not None
    assert (estimate.p_yes, estimate.p_no, estimate.p_unsure) == (0.7, 0.2, 0.1)
    assert (estimate.low, estimate.high) == wilson(7, 10)


def test_a_sample_that_is_no_answer_widens_the_interval() -> None:
    estimate = tally([LogprobAnswer.YES] * 4 + [LogprobAnswer.NO] * 4 + [None, None], "m")
    assert estimate is not None
    assert estimate.p_yes == 0.5
    assert estimate.low == wilson(4, 10)[0]
    assert estimate.high == wilson(6, 10)[1]


@given(st.lists(st.sampled_from([*LogprobAnswer, None]), max_size=30))
def test_any_samples_give_a_sound_estimate_or_none(answers: list[LogprobAnswer | None]) -> None:
    estimate = tally(answers, "m")
    if estimate is None:
        assert not answers or sum(map(bool, answers)) < len(answers) / 2
    else:
        assert estimate.p_yes + estimate.p_no + estimate.p_unsure == pytest.approx(1.0)
        assert 0.0 <= estimate.low <= estimate.p_yes <= estimate.high <= 1.0


@pytest.mark.spec("SPEC-08.14")
async def test_samples_are_drawn_and_counted() -> None:
    generator = ScriptedGenerator(["YES", "yes", "NO", "dunno"])
    estimate = await sample(generator, Query("a", "c"), 4, "m")
    assert estimate.p_yes == pytest.approx(2 / 3)
    [call] = generator.calls
    assert (call.n, call.temperature) == (4, 1.0)


async def test_no_answer_in_any_sample_is_a_failure() -> None:
    estimate = await sample(ScriptedGenerator(lambda _: "hm"), Query("a", "c"), 3, "m")
    assert estimate.error is not None


async def test_one_answer_among_nonsense_is_a_failure() -> None:
    generator = ScriptedGenerator(["YES", "hm", "Not YES", "YES NO"])
    estimate = await sample(generator, Query("a", "c"), 4, "m")
    assert estimate.error is not None


@pytest.mark.spec("SPEC-08.14")
async def test_it_finds_out_by_itself_and_remembers() -> None:
    generator = ScriptedGenerator(lambda _: "YES")
    verifier = LogprobOrSampling(generator, samples=5)
    estimates = await verifier.estimate([Query(c, "c") for c in "abc"])
    assert {e.method for e in estimates} == {"openai/sampling(5)"}
    await verifier.estimate([Query("d", "c")])
    assert [call.top_logprobs > 0 for call in generator.calls] == [True, False, False, False, False]


async def test_it_uses_logprobs_where_there_are_some() -> None:
    generator = ScriptedGenerator(lambda _: Completion("NO", tokens(NO=0.9, YES=0.1)))
    estimates = await LogprobOrSampling(generator, label="self").estimate(QUERIES)
    assert {e.method for e in estimates} == {"self/logprob"}


async def test_a_single_answer_without_logprobs_is_sampled_too() -> None:
    def judge(call: ScriptedCall) -> Reply:
        bare = "<claim>b<" in call.prompt
        return "YES" if bare or not call.top_logprobs else Completion("NO", tokens(NO=0.9, YES=0.1))

    estimates = await LogprobOrSampling(ScriptedGenerator(judge), samples=2, concurrency=1).estimate(QUERIES[:2])
    assert [e.method for e in estimates] == ["openai/logprob", "openai/sampling(2)"]


@pytest.mark.spec("SPEC-08.13", "SPEC-08.14")
async def test_both_ways_through_the_real_sdk(loopback: Loopback) -> None:
    def server(request: Request) -> HttpReply:
        if "small" in request.body["model"]:
            return chat(*["YES", "NO"][: request.body.get("n", 1)])
        return chat("YES", top={"Yes": 0.6, " yes": 0.3, "No": 0.06, "unsure": 0.04})

    loopback.script(server)
    methods = []
    for model in ("big", "small"):
        endpoint = Endpoint("openai", f"{loopback.url}/v1", model, SecretStr("k"))
        verifier = LogprobOrSampling(OpenAIGenerator(endpoint), samples=2)
        estimates = await verifier.estimate(QUERIES)
        await verifier.aclose()
        methods.append({(e.method, round(e.p_yes, 2)) for e in estimates})
    assert methods == [{("openai/logprob", 0.9)}, {("openai/sampling(2)", 0.5)}]
