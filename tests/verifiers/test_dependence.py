from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.config import Config
from groundwire.errors import BackendError, InputError
from groundwire.llm import open_generator
from groundwire.llm.fake import Reply, ScriptedCall, ScriptedGenerator
from groundwire.types import Estimate
from groundwire.verifiers.dependence import Dependence, Inquiry, dependence, from_counts
from groundwire.verifiers.fake import FakeVerifier

TOWER = Inquiry("How tall is the tower?", "The tower is 330 m tall.", "It is 330 metres tall.")


def tower(without: str) -> ScriptedGenerator:
    def reply(call: ScriptedCall) -> Reply:
        return "330 metres" if "<context>" in call.messages[1].content else without

    return ScriptedGenerator(reply)


@pytest.mark.spec("SPEC-16.04")
async def test_an_answer_that_changes_depends_on_the_evidence() -> None:
    found = await dependence(tower("300 metres"), FakeVerifier(), TOWER, samples=8)
    assert (found.value, found.p1, found.p0, found.samples) == (1.0, 1.0, 0.0, 8)
    assert 0.5 < found.low < found.high == 1.0
    assert 0.0 < found.bits_low < found.bits < found.bits_high
    assert set(found.without_evidence) == {"300 metres"}


@pytest.mark.spec("SPEC-16.04")
@pytest.mark.parametrize("said", ["330 m", "UNKNOWN"])
async def test_an_answer_that_stays_does_not(said: str) -> None:
    model = ScriptedGenerator(lambda _: said)
    found = await dependence(model, FakeVerifier(), Inquiry(TOWER.question, "Bananas are yellow."), samples=6)
    assert (found.value, found.low, found.bits) == (0.0, 0.0, 0.0)
    assert found.high > 0.0


@pytest.mark.spec("SPEC-16.04")
async def test_evidence_that_speaks_against_the_answer_counts_against_it() -> None:
    inquiry = Inquiry(TOWER.question, TOWER.evidence, "300 m")
    found = await dependence(tower("300 metres"), FakeVerifier(), inquiry, samples=8)
    assert found.value == 1.0
    assert found.bits_low < found.bits < found.bits_high < 0.0


async def test_both_kinds_are_sampled_and_the_model_s_own_answer_is_not() -> None:
    model = tower("300 metres")
    await dependence(model, FakeVerifier(), Inquiry(TOWER.question, TOWER.evidence), samples=3)
    assert [(call.n, call.temperature) for call in model.calls] == [(1, 0.0), (3, 1.0), (3, 1.0)]


async def test_what_cannot_be_compared_is_no_dependence_of_zero() -> None:
    fake = FakeVerifier(lambda _: Estimate.failed("timeout"))
    model = ScriptedGenerator(lambda call: "few buyers came along")
    inquiry = Inquiry("Why?", "Demand was weak.", "because of weak demand")
    with pytest.raises(BackendError, match="could not be compared"):
        await dependence(model, fake, inquiry)


@pytest.mark.parametrize(("question", "samples"), [(" ", 5), ("Why?", 0), ("Why?", 1000)])
async def test_nothing_to_ask_is_refused(question: str, samples: int) -> None:
    with pytest.raises(InputError):
        await dependence(tower(""), FakeVerifier(), Inquiry(question, "e"), samples=samples)


counts = st.integers(1, 20).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.spec("SPEC-16.37")
@given(counts, counts, st.integers(2, 8))
@settings(max_examples=100)
def test_more_samples_of_the_same_shares_narrow_the_interval(
    carried: tuple[int, int], bare: tuple[int, int], times: int
) -> None:
    few = from_counts(carried, bare)
    many = from_counts((carried[0] * times, carried[1] * times), (bare[0] * times, bare[1] * times))
    for one in (few, many):
        assert 0.0 <= one.low <= one.value <= one.high <= 1.0
        assert one.bits_low <= one.bits <= one.bits_high
    assert width(many) <= width(few)
    assert many.value == pytest.approx(few.value)


def width(found: Dependence) -> float:
    return found.high - found.low


@pytest.mark.llm
@pytest.mark.spec("SPEC-16.04", "SPEC-16.10")
async def test_a_real_model_reads_what_it_could_not_know(smollm: str) -> None:
    config = Config.model_validate({"openai": {"base_url": smollm}})
    model = open_generator(config, "openai", "smollm")
    try:
        code = Inquiry("What is the code word?", "The code word is Zanzibar.", "Zanzibar")
        found = await dependence(model, FakeVerifier(), code, samples=10)
    finally:
        await model.aclose()
    assert found.p1 > found.p0
    assert found.bits > 0
