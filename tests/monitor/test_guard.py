"""`guard`: the whole way of an answer, with a scripted model and with a real one."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any

import pytest
from tests.knowledge import MemoryKnowledge

from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, InputError
from groundwire.llm import Completion, Message, OnText
from groundwire.llm.endpoint import Endpoint
from groundwire.llm.fake import Call, ScriptedGenerator
from groundwire.llm.openai import OpenAIGenerator
from groundwire.monitor import desk, finish, reformulate
from groundwire.monitor.guard import guard
from groundwire.monitor.knowledge import verify_knowledge
from groundwire.types import Risk, Source, Status, Turn
from groundwire.types.realtime import Context, DoneEvent, InterruptedEvent, StreamEvent

SOURCES = (
    Source(
        "S0",
        "The Norvale tower is 310 metres tall. It was built in 1987 by Mara Okafor. The tower stands in Tallinn. "
        "Its restaurant seats 120 guests.",
    ),
    Source("S1", "Entry to the tower costs 14 euros. The tower opens at 9 am."),
)
ABOUT = Context(SOURCES)
ASKED = "Tell me about the Norvale tower."
SUPPORTED = "The Norvale tower is 310 metres tall. It was built in 1987 by Mara Okafor. Entry costs 14 euros."
WRONG = (
    "The Norvale tower is 310 metres tall. The tower was built in 1952 by Mara Okafor. The tower stands in "
    "Tallinn. Its restaurant seats 120 guests. Entry to the tower costs 14 euros."
)
UNSUPPORTED = (
    "The Norvale tower is 310 metres tall. The tower holds a famous collection of clocks. "
    "The tower stands in Tallinn."
)
AGAIN = "The tower was built in 1987 by Mara Okafor."


@pytest.fixture(scope="module")
def plain() -> Groundwire:
    return Groundwire(Config())


def configured(**realtime: Any) -> Groundwire:
    return Groundwire(Config().changed(realtime=realtime))


def model(answer: str, second: str | BackendDown = AGAIN) -> ScriptedGenerator:
    """Says the answer; asked once more, the second one."""
    return ScriptedGenerator(lambda call: second if _is_second(call) else answer)


def _is_second(call: Call) -> bool:
    return "was taken out" in call.messages[-1].content


async def run(
    generator: Any, engine: Groundwire, context: Any = ABOUT, asked: str = ASKED
) -> tuple[list[StreamEvent], DoneEvent]:
    events = [event async for event in guard(generator, asked, context, engine=engine)]
    *before, done = events
    assert isinstance(done, DoneEvent)
    assert not any(isinstance(event, DoneEvent) for event in before)
    return before, done


async def test_what_takes_long_is_done_beside_the_loop(
    plain: Groundwire, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def noticed(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            threads.append(threading.current_thread())
            return real(*given)

        return call

    for module, name in ((desk, "messages_for"), (finish, "coherence_of"), (reformulate, "coherence_of")):
        monkeypatch.setattr(module, name, noticed(getattr(module, name)))
    await run(model(WRONG), plain)
    assert len(threads) == 3
    assert threading.current_thread() not in threads


def kinds(events: Sequence[StreamEvent]) -> list[str]:
    return list(dict.fromkeys(event.kind for event in events))


def said(events: Sequence[StreamEvent]) -> str:
    return "".join(event.text for event in events if event.kind == "token")  # type: ignore[union-attr]


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
    expected = (
        "I believe, but cannot confirm from the sources, that the tower holds a famous collection of clocks."
    )
    assert expected in done.text
    assert [point.kind for point in done.weak_points] == ["unsupported"]


async def test_medium_can_be_marked_instead() -> None:
    engine = configured(medium="mark", low="none")
    _, done = await run(model(UNSUPPORTED), engine)
    assert done.text == UNSUPPORTED.replace("clocks.", "clocks (unverified).")
    await engine.aclose()


async def test_high_a_contradiction_interrupts_within_one_claim_and_is_written_again(
    plain: Groundwire,
) -> None:
    generator = model(WRONG)
    events, done = await run(generator, plain)
    (stop,) = [event for event in events if isinstance(event, InterruptedEvent)]
    assert said(events) == WRONG[: stop.at]
    assert WRONG.index("The tower stands") < stop.at < WRONG.index("Its restaurant")
    assert (stop.risk, stop.reason) == (Risk.HIGH, "evidence says 1987")
    assert kinds(events)[-2:] == ["interrupted", "reformulated"]
    assert (
        done.text
        == "The Norvale tower is 310 metres tall [S0]. The tower was built in 1987 by Mara Okafor [S0]."
    )
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

    kb = MemoryKnowledge(
        [Entity("fr", "France", "country", attributes=(Attribute("capital", Value("Paris")),))]
    )
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


class Flaky:
    """A model that says its words with a breath between them, and then may fail; `stopped` when it is over."""

    name = "flaky"

    def __init__(self, text: str, error: BackendDown | None = None) -> None:
        self.text, self.error = text, error
        self.stopped = asyncio.Event()

    async def complete(self, messages: Sequence[Message], **_: object) -> list[Completion]:
        return [Completion(self.text)]

    async def stream(self, messages: Sequence[Message], on_text: OnText, **_: object) -> Completion:
        try:
            for word in self.text.split(" "):
                wait = on_text(f"{word} ")
                if wait is not None:
                    await wait
                await asyncio.sleep(0)
            if self.error:
                raise self.error
            return Completion(self.text)
        finally:
            self.stopped.set()

    async def aclose(self) -> None: ...


async def test_a_model_that_fails_half_way_ends_with_what_it_said(plain: Groundwire) -> None:
    _, done = await run(Flaky(SUPPORTED, BackendDown("the server went away")), plain)
    assert done.error == "the server went away"
    assert done.generated.strip() == SUPPORTED
    assert done.report is not None
    assert len(done.report.claims) == 3


async def test_a_model_that_never_says_anything_ends_with_its_error(plain: Groundwire) -> None:
    events, done = await run(ScriptedGenerator([BackendDown("no")]), plain)
    assert (events, done.text, done.error) == ([], "", "no")


class Plain:
    """A model that cannot stream."""

    name = "plain"

    async def complete(self, messages: Sequence[Message], **_: object) -> list[Completion]:
        return [Completion(AGAIN if "was taken out" in messages[-1].content else WRONG)]

    async def aclose(self) -> None: ...


async def test_who_cannot_stream_is_guarded_too(plain: Groundwire) -> None:
    events, done = await run(Plain(), plain)
    assert said(events) == WRONG
    assert (done.risk, done.action) == (Risk.HIGH, "reformulate")
    assert "1952" not in done.text


def left_over(before: set[asyncio.Task[Any]]) -> list[str]:
    """What runs now and did not before; the engine's own pool of batches lives as long as the engine."""
    names = [getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks() - before]
    return [name for name in names if not name.startswith("Pooled.")]


@pytest.mark.parametrize("events", [1, 9, 30])
async def test_who_stops_reading_stops_the_model_and_leaves_nothing_behind(
    plain: Groundwire, events: int
) -> None:
    before = asyncio.all_tasks()
    flaky = Flaky(f"{SUPPORTED} {UNSUPPORTED} " * 50)
    stream = guard(flaky, ASKED, ABOUT, engine=plain)
    for _ in range(events):
        await anext(stream)
    await stream.aclose()
    assert flaky.stopped.is_set()
    assert left_over(before) == []


async def test_who_is_cancelled_while_reading_leaves_nothing_behind(plain: Groundwire) -> None:
    before = asyncio.all_tasks()
    flaky, heard = Flaky(f"{SUPPORTED} " * 50), asyncio.Event()

    async def read() -> None:
        async with aclosing(guard(flaky, ASKED, ABOUT, engine=plain)) as events:
            async for event in events:
                if event.kind == "verdict":
                    heard.set()

    reader = asyncio.create_task(read())
    await heard.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert flaky.stopped.is_set()
    assert left_over(before) == []


async def test_a_verifier_that_hangs_neither_stops_nor_passes_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = configured(hold_timeout=0.05, report_timeout=0.05, check_knowledge=False)

    async def hang(self: object, queries: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(type(engine.backend.verifier), "estimate", hang)
    events, done = await run(model(WRONG), engine)
    assert said(events) == WRONG
    assert done.report is not None
    assert {claim.status for claim in done.report.claims} == {Status.UNCHECKED}
    assert "(not checked)" in done.text
    assert done.risk is not Risk.HIGH
    await engine.aclose()


async def test_weak_points_are_logged_without_their_words(
    plain: Groundwire, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="groundwire.monitor"):
        await run(model(UNSUPPORTED), plain)
    (line,) = [record.getMessage() for record in caplog.records if "weak point" in record.getMessage()]
    assert '"kind": "unsupported"' in line
    assert "clocks" not in line


async def test_without_an_engine_one_is_opened() -> None:
    events = [event async for event in guard(model(SUPPORTED), ASKED, ABOUT)]
    assert isinstance(events[-1], DoneEvent)
    assert events[-1].risk is Risk.LOW


LEVELS: list[tuple[str, dict[str, Any], str]] = [
    ("mark", {"low": "mark", "medium": "mark", "high": "mark", "critical": "mark"}, "mark"),
    ("rephrase", {"low": "rephrase", "medium": "rephrase", "high": "rephrase", "critical": "rephrase"}, "rephrase"),
    ("default", {}, ""),
    ("discard", {"low": "discard", "medium": "discard", "high": "discard", "critical": "discard"}, "discard"),
]  # fmt: skip


@pytest.mark.llm
@pytest.mark.parametrize(("name", "levels", "action"), LEVELS)
async def test_each_level_with_a_real_model(
    smollm: str, name: str, levels: dict[str, Any], action: str
) -> None:
    engine = configured(check_knowledge=False, max_tokens=48, **levels)
    generator = OpenAIGenerator(Endpoint("llm", smollm, "SmolLM2-135M-Instruct", timeout=60.0))
    try:
        events, done = await run(generator, engine, asked="When was the Norvale tower built, and by whom?")
    finally:
        await generator.aclose()
        await engine.aclose()
    assert said(events) == done.generated
    assert done.error == ""
    assert done.report is not None
    assert not action or done.action == action
    if name == "discard":
        assert done.text.startswith("I cannot answer this reliably")
    if done.action in ("mark", "rephrase"):
        assert len(done.text) >= len(done.generated)
