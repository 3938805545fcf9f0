"""`guard`: the whole way of an answer, with a scripted model and with a real one."""

from __future__ import annotations

import pytest
from tests.guarding import (
    ABOUT,
    AGAIN,
    ASKED,
    SOURCES,
    SUPPORTED,
    UNSUPPORTED,
    WRONG,
    configured,
    kinds,
    model,
    run,
    said,
)
from tests.knowledge import MemoryKnowledge

from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, InputError
from groundwire.llm import Message
from groundwire.streaming.guard import guard
from groundwire.streaming.session import verify_knowledge
from groundwire.types import Risk, Status, Turn
from groundwire.types.stream import Context, DoneEvent, InterruptedEvent


@pytest.fixture(scope="module")
def plain() -> Groundwire:
    return Groundwire(Config())


async def test_low_a_supported_answer_gets_its_sources(plain: Groundwire) -> None:
    events, done = await run(model(SUPPORTED), plain)
    assert said(events) == SUPPORTED == done.generated
    assert kinds(events) == ["token", "verdict"]
    assert (done.risk, done.action, done.weak_points, done.error) == (Risk.LOW, "mark", (), "")
    assert done.text == (
        "The Norvale tower is 310 metres tall [S0]. It was built in 1987 by Mara Okafor [S0]. "
        "Entry costs 14 euros [S1]."
    )
    assert done.report is not None
    assert [claim.status for claim in done.report.claims] == [Status.ENTAILED] * 3
    assert {attribution.source for attribution in done.attributions} == {"S0", "S1"}
    assert done.knowledge is not None
    assert done.knowledge.verified


async def test_low_can_be_left_alone() -> None:
    engine = configured(low="none")
    _, done = await run(model(SUPPORTED), engine)
    assert done.text == SUPPORTED
    await engine.aclose()


async def test_medium_an_unsupported_sentence_is_rephrased_and_never_interrupts(plain: Groundwire) -> None:
    events, done = await run(model(UNSUPPORTED), plain)
    assert said(events) == UNSUPPORTED
    assert "interrupted" not in kinds(events)
    assert (done.risk, done.action) == (Risk.MEDIUM, "rephrase")
    expected = "I believe, but cannot confirm from the sources, that the tower holds a famous collection of clocks."
    assert expected in done.text
    assert [point.kind for point in done.weak_points] == ["unsupported"]


async def test_medium_can_be_marked_instead() -> None:
    engine = configured(medium="mark", low="none")
    _, done = await run(model(UNSUPPORTED), engine)
    assert done.text == UNSUPPORTED.replace("clocks.", "clocks (unverified).")
    await engine.aclose()


async def test_high_a_contradiction_interrupts_within_one_claim_and_is_written_again(plain: Groundwire) -> None:
    generator = model(WRONG)
    events, done = await run(generator, plain)
    (stop,) = [event for event in events if isinstance(event, InterruptedEvent)]
    assert said(events) == WRONG[: stop.at]
    assert WRONG.index("The tower stands") < stop.at < WRONG.index("Its restaurant")
    assert (stop.risk, stop.reason) == (Risk.HIGH, "evidence says 1987")
    assert kinds(events)[-2:] == ["interrupted", "reformulated"]
    assert done.text == "The Norvale tower is 310 metres tall [S0]. The tower was built in 1987 by Mara Okafor [S0]."
    assert done.report is not None
    assert done.report.response == f"The Norvale tower is 310 metres tall. {AGAIN}"
    assert not done.report.flagged
    told = generator.calls[-1].messages
    assert told[-2].content == "The Norvale tower is 310 metres tall."
    assert "evidence says 1987" in told[-1].content


@pytest.mark.parametrize("second", [BackendDown("gone"), "", "The tower was built in 1952 by Mara Okafor."])
async def test_high_where_the_model_cannot_do_better_the_rule_does(
    plain: Groundwire, second: str | BackendDown
) -> None:
    _, done = await run(model(WRONG, second), plain)
    assert done.action == "reformulate"
    assert done.text == (
        "The Norvale tower is 310 metres tall [S0].\n\n"
        "I cannot confirm from the sources what I was about to say here. The sources say: “It was built in 1987 "
        "by Mara Okafor.” [S0] I cannot say more about this from the sources."
    )
    assert "1952" not in done.text
    assert done.report is not None
    assert all(claim.status is not Status.CONTRADICTED for claim in done.report.claims)


async def test_high_can_run_to_the_end_and_be_rephrased() -> None:
    engine = configured(high="rephrase", low="none")
    events, done = await run(model(WRONG), engine)
    assert said(events) == WRONG
    assert "I am not sure, since the sources seem to say otherwise" in done.text
    await engine.aclose()


async def test_critical_is_discarded_with_a_statement_of_limits() -> None:
    engine = configured(high="mark", critical="discard")
    text = "The tower was built in 1952 by Mara Okafor. The tower stands in Osaka. Entry to the tower costs 99 euros."
    events, done = await run(model(text), engine)
    assert (done.risk, done.action) == (Risk.CRITICAL, "discard")
    assert "reformulated" in kinds(events)
    assert done.text.startswith("I cannot answer this reliably from the sources I have.")
    assert "“It was built in 1987 by Mara Okafor.” [S0]" in done.text
    assert "Please give me a source" in done.text
    assert "Osaka" not in done.text
    assert done.generated == text[: len(done.generated)]
    await engine.aclose()


@pytest.mark.parametrize(
    ("answer", "risk", "action", "stopped"),
    [
        ("The Norvale tower is 310 metres tall.", Risk.LOW, "mark", False),
        ("The tower holds a famous collection of clocks.", Risk.MEDIUM, "rephrase", False),
        ("The Norvale tower is 310 metres tall [S9]. The tower is tall.", Risk.HIGH, "reformulate", True),
        ("The tower is tall [S7], [S8] (https://norvale.example/x). The tower is old.", Risk.CRITICAL, "discard", True),
    ],
)
async def test_each_risk_level_is_reached_with_default_settings(
    answer: str, risk: Risk, action: str, stopped: bool
) -> None:
    async with Groundwire(Config(), backend="fake") as engine:
        events, done = await run(model(answer), engine)
    assert (done.risk, done.action) == (risk, action)
    assert ("interrupted" in kinds(events)) == stopped
    assert not any(mark in done.text for mark in ("S7", "S8", "S9", "https:"))


async def test_a_second_attempt_with_an_invented_reference_is_not_taken() -> None:
    async with Groundwire(Config(), backend="fake") as engine:
        again = "The tower is 310 metres tall, see https://norvale.example/x."
        _, done = await run(model("The Norvale tower is tall [S9]. The tower is old.", again), engine)
    assert done.action == "reformulate"
    assert "https:" not in done.text


async def test_a_false_premise_is_answered_with_limits_and_no_model_is_asked() -> None:
    generator = model(SUPPORTED)
    async with Groundwire(Config(), backend="fake") as engine:
        events, done = await run(generator, engine, asked="Why did the tower collapse?")
    assert (events, generator.calls, done.action) == ([], [], "discard")
    assert "the tower collapse" in done.text


async def test_what_is_not_known_is_said_before_the_model_is_asked(plain: Groundwire) -> None:
    generator = model(SUPPORTED)
    events, done = await run(generator, plain, asked="How many moons does Jupiter have?")
    assert (events, generator.calls) == ([], [])
    assert (done.risk, done.action) == (Risk.CRITICAL, "discard")
    assert "I have no source for" in done.text
    assert done.knowledge is not None
    assert not done.knowledge.verified


@pytest.mark.parametrize(
    "asked", ["How many people fit into the restaurant of the tower?", "Is a visit to the tower expensive?"]
)
async def test_a_question_in_other_words_than_the_sources_is_asked(plain: Groundwire, asked: str) -> None:
    assert not verify_knowledge(asked, ABOUT).verified
    _, done = await run(model(SUPPORTED), plain, asked=asked)
    assert done.generated == SUPPORTED


@pytest.mark.parametrize(
    "asked", ["Summarise this.", "Explain the text in simple words.", "Thanks!", "מתי נבנה המגדל?"]
)
async def test_what_is_asked_of_the_sources_themselves_is_no_gap(plain: Groundwire, asked: str) -> None:
    _, done = await run(model(SUPPORTED), plain, asked=asked)
    assert done.generated == SUPPORTED


async def test_knowledge_need_not_be_checked() -> None:
    engine = configured(check_knowledge=False)
    _, done = await run(model(SUPPORTED), engine, asked="How many moons does Jupiter have?")
    assert done.generated == SUPPORTED
    assert done.knowledge is None
    await engine.aclose()


async def test_earlier_statements_are_held_against_the_answer(plain: Groundwire) -> None:
    history = (Turn(1, "user", "My visit is on Monday."), Turn(2, "assistant", "Noted."))
    context = Context(SOURCES, history)
    _, done = await run(model(f"{SUPPORTED} Your visit is on Friday."), plain, context)
    assert done.coherence is not None
    assert not done.coherence.coherent
    assert any(point.prior == "My visit is on Monday." for point in done.weak_points)


async def test_a_knowledge_base_alone_is_something_to_go_by(plain: Groundwire) -> None:
    from groundwire.types import Attribute, Entity, Value

    kb = MemoryKnowledge([Entity("fr", "France", "country", attributes=(Attribute("capital", Value("Paris")),))])
    text = "The capital of France is Lyon."
    _, done = await run(model(text, "?"), plain, Context(kb=kb), "What is the capital of France?")
    assert done.risk is Risk.HIGH
    assert "Lyon" not in done.text


async def test_what_there_is_nothing_to_hold_against_is_not_checked() -> None:
    engine = configured(check_knowledge=False)
    _, done = await run(model("Acme has 40 employees. Its office is in Berlin."), engine, Context())
    assert done.text == "Acme has 40 employees (not checked). Its office is in Berlin (not checked)."
    assert done.report is not None
    assert done.report.flagged is None
    assert {claim.status for claim in done.report.claims} == {Status.UNCHECKED}
    await engine.aclose()


async def test_a_second_answer_must_not_contradict_the_conversation_either(plain: Groundwire) -> None:
    context = Context(SOURCES, (Turn(1, "user", "My visit is on Monday."),))
    _, done = await run(model(WRONG, "Your visit is on Friday."), plain, context)
    assert done.action == "reformulate"
    assert "Friday" not in done.text


async def test_messages_are_sent_as_they_are(plain: Groundwire) -> None:
    generator = model(SUPPORTED)
    messages = [Message("system", "Be brief."), Message("user", ASKED)]
    events = [event async for event in guard(generator, messages, {"S0": SOURCES[0].text}, engine=plain)]
    assert generator.calls[0].messages == tuple(messages)
    assert isinstance(events[-1], DoneEvent)


async def test_an_empty_request_is_refused(plain: Groundwire) -> None:
    with pytest.raises(InputError, match="request is empty"):
        await anext(guard(model(""), "  ", ABOUT, engine=plain))


async def test_an_empty_answer_ends(plain: Groundwire) -> None:
    events, done = await run(model("  "), plain)
    assert kinds(events) == ["token"]
    assert (done.text.strip(), done.report) == ("", None)


HEBREW = "גובה המגדל הוא 310 מטרים. המגדל נבנה בשנת 1987. המגדל נמצא בתל אביב."


async def test_hebrew_is_guarded_in_hebrew(plain: Groundwire) -> None:
    asked = "מהו גובה המגדל ומתי נבנה?"
    weak = HEBREW.replace("המגדל נבנה בשנת 1987", "במגדל יש אוסף שעונים מפורסם")
    _, done = await run(model(weak), plain, HEBREW, asked)
    assert "אני סבור, אך איני יכול לאשר מן המקורות, שבמגדל יש אוסף שעונים מפורסם." in done.text
    wrong = HEBREW.replace("1987", "1952")
    events, done = await run(model(wrong, ""), plain, HEBREW, asked)
    assert "interrupted" in kinds(events)
    assert "”המגדל נבנה בשנת 1987.“ [S0]" in done.text
    assert "1952" not in done.text
