from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from tests.loopback import Loopback, Request, claude
from tests.loopback import Reply as HttpReply

from groundwire.config import AnthropicConfig, Config
from groundwire.errors import BackendDown
from groundwire.llm.fake import Reply, ScriptedCall, ScriptedGenerator
from groundwire.types import Query
from groundwire.verifiers.backends import OPENERS
from groundwire.verifiers.consistency import ConsistencyVerifier, Score, merge, restated_score

CLAIM = "The tower is 330 metres tall."


def replies(score: str, restated: str) -> ScriptedGenerator:
    def reply(call: ScriptedCall) -> Reply:
        return score if "Rate support" in call.prompt else restated

    return ScriptedGenerator(reply)


def test_what_a_restatement_says() -> None:
    same, changed, silent = (
        restated_score(CLAIM, text)
        for text in ("The tower is 330 metres tall.", "The tower is 300 metres tall.", "UNKNOWN.")
    )
    assert same is not None
    assert changed is not None
    assert silent is not None
    assert (same.support, same.contradicted) == (1.0, False)
    assert changed.contradicted
    assert "300 metres" in changed.reason
    assert (silent.support, silent.absent, silent.contradicted) == (0.0, True, False)
    for text in ("  ", "I cannot help with that.", "Sure! Here you are:"):
        assert restated_score(CLAIM, text) is None


@pytest.mark.parametrize("text", ["unknown", "The context does not mention a tower.", "Not mentioned."])
def test_silence_in_other_words(text: str) -> None:
    found = restated_score(CLAIM, text)
    assert found is not None
    assert found.absent


def test_a_light_rewording_bears_the_claim_out() -> None:
    found = restated_score(CLAIM, "The tower stands 330 metres tall.")
    assert found is not None
    assert found.support > 0.8
    assert not found.contradicted


async def test_both_agree_that_it_is_so() -> None:
    [e] = await ConsistencyVerifier(replies("1.0 SUPPORTED", CLAIM)).estimate([Query(CLAIM, "c")])
    assert e.p_yes > 0.95
    assert e.method == "haiku/direct+consistency(1)"
    assert (e.low, e.high) == (e.p_yes, e.p_yes)


async def test_both_agree_that_it_is_not_so() -> None:
    generator = replies("0.0 CONTRADICTED it is 300 m", "The tower is 300 metres tall.")
    [e] = await ConsistencyVerifier(generator).estimate([Query(CLAIM, "c")])
    assert e.p_yes < 0.15
    assert e.p_no > 0.8
    assert e.reason == "the context says: The tower is 300 metres tall."


async def test_disagreement_is_the_interval() -> None:
    [e] = await ConsistencyVerifier(replies("0.9 SUPPORTED", "UNKNOWN")).estimate([Query(CLAIM, "c")])
    assert e.p_yes == pytest.approx(0.45)
    assert e.low <= 0.01 + 1e-9
    assert e.high == pytest.approx(0.9)
    assert e.speaks is True


async def test_silence_of_the_context_is_no_contradiction() -> None:
    [e] = await ConsistencyVerifier(replies("0.0 NOT MENTIONED", "UNKNOWN")).estimate([Query(CLAIM, "c")])
    assert e.p_no == 0.0
    assert e.speaks is False


async def test_one_opinion_alone_is_less_certain() -> None:
    [e] = await ConsistencyVerifier(replies("no idea", CLAIM)).estimate([Query(CLAIM, "c")])
    assert e.error is None
    assert e.high - e.low > 0.15
    [none] = await ConsistencyVerifier(replies("no idea", "")).estimate([Query(CLAIM, "c")])
    assert none.error is not None


async def test_more_samples_are_asked_for_and_averaged() -> None:
    generator = ScriptedGenerator(["0.8", "0.6", CLAIM, CLAIM])
    [e] = await ConsistencyVerifier(generator, samples=2).estimate([Query(CLAIM, "c")])
    assert e.p_yes == pytest.approx((0.7 + 1.0) / 2)
    assert e.low < 0.7


async def test_a_failure_of_either_question_is_a_failure() -> None:
    generator = ScriptedGenerator(["1.0", BackendDown("gone"), "1.0", CLAIM])
    first, second = await ConsistencyVerifier(generator).estimate([Query(CLAIM, "c")] * 2)
    assert first.error == "error: gone"
    assert second.error is None


@given(
    st.lists(st.builds(Score, st.floats(0, 1), st.booleans(), st.booleans(), st.just("")), max_size=4),
    st.lists(st.builds(Score, st.floats(0, 1), st.booleans(), st.booleans(), st.just("")), max_size=4),
)
def test_any_opinions_give_a_sound_estimate(direct: list[Score], restated: list[Score]) -> None:
    if not direct and not restated:
        return
    e = merge(direct, restated, "m")
    assert e.p_yes + e.p_no + e.p_unsure == pytest.approx(1.0)
    assert 0.0 <= e.low <= e.p_yes <= e.high <= 1.0
    assert e.p_no >= 0.0


@pytest.mark.spec("SPEC-16.10", "SPEC-08.27")
async def test_haiku_through_the_real_sdk(loopback: Loopback) -> None:
    def server(request: Request) -> HttpReply:
        asked = request.body["messages"][0]["content"][-1]["text"]
        with_evidence = "330" in request.body["messages"][0]["content"][0]["text"]
        if "Rate support" in asked:
            return claude("1.0 SUPPORTED" if with_evidence else "0.0 NOT MENTIONED")
        return claude(CLAIM if with_evidence else "UNKNOWN")

    loopback.script(server)
    config = Config(anthropic=AnthropicConfig(base_url=loopback.url, api_key=SecretStr("k")))
    backend = OPENERS["haiku"](config)
    p1, p0 = await backend.verifier.estimate([Query(CLAIM, "It is 330 m tall."), Query(CLAIM, "[EVIDENCE REMOVED]")])
    assert backend.close is not None
    await backend.close()
    assert p1.p_yes > 0.95
    assert p0.p_yes < 0.05
    assert {request.body["model"] for request in loopback.requests} == {"claude-haiku-4-5"}
