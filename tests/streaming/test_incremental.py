"""An answer checked while it is written: the report of the whole, and nobody waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire import _loop
from groundwire.claims.extractor import extract
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, Overloaded
from groundwire.streaming.incremental import IncrementalVerifier, StreamingClaimExtractor
from groundwire.types import Query, Source, Status
from groundwire.verifiers.fake import FakeVerifier
from groundwire.verifiers.wrappers import SafeVerifier

T = TypeVar("T")
SOURCE = Source("S0", "Atlas Mining was founded in 1998. It employs 1,240 people. Mara Lind runs it. The mine is deep.")
OTHER = Source("S1", "The flood came in 2015. It closed the mine for a year.")
ANSWER = (
    "Atlas Mining was founded in 1998. It employs 1,240 people, and Mara Lind runs it [S0]. Was it e.g. closed? "
    "The moon is made of cheese.\n\n## More\n\n- The mine is deep.\n- The flood came in 2015 [S1].\n\n"
    "| Year | What |\n|---|---|\n| 2015 | flood |\n\nDr. Lind paid 3.5 million.[9] The end came later."
)
PIECES = (
    "Atlas Mining was founded in 1998. ", "It employs 1,240 people. ", "Mara Lind runs it [S0]. ", "It was a flood.[S1] ",
    "Was it? ", "However, the mine is deep and it is wet. ", "\n\n", "\n- ", "## Title\n", "**Bold**\n", "```\ncode\n```\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n", "I think so. ", "Dr. Lind paid 3.5 million. ", "[1] ", "Sources:\n", "המכרה עמוק. ",
    "Confidence: 80%. ", "Click the button. ", "1. First. ", "> quoted text here. ", "I cannot say, but it is deep. ",
)  # fmt: skip


def engine_with(fake: FakeVerifier, **settings_: Any) -> Groundwire:
    engine = Groundwire(Config.model_validate(settings_), backend="fake")
    backend = replace(engine.backend, verifier=SafeVerifier(fake, "fake"))
    engine.context = replace(engine.context, backend=backend)
    return engine


async def stream(inc: IncrementalVerifier, text: str, size: int = 4, every: int = 3) -> None:
    for number, at in enumerate(range(0, len(text), size)):
        inc.push(text[at : at + size])
        if number % every == 0:
            await asyncio.sleep(0)


async def test_the_report_is_that_of_the_whole() -> None:
    engine = engine_with(FakeVerifier())
    inc = IncrementalVerifier(engine, [SOURCE, OTHER], question="What happened?")
    await stream(inc, ANSWER)
    report = await inc.finish()
    assert report == await engine.check(ANSWER, [SOURCE, OTHER], question="What happened?")
    assert inc.text == ANSWER


@given(st.lists(st.sampled_from(PIECES), max_size=14), st.integers(1, 40), st.integers(1, 9), st.booleans())
@settings(max_examples=60, deadline=None)
def test_whatever_the_text_and_however_it_comes(pieces: list[str], size: int, every: int, asked: bool) -> None:
    text = "".join(pieces) + "The mine is deep."
    question = "How deep is it?" if asked else ""

    async def both() -> None:
        engine = engine_with(FakeVerifier())
        inc = IncrementalVerifier(engine, [SOURCE, OTHER], question=question)
        await stream(inc, text, size, every)
        assert await inc.finish() == await engine.check(text, [SOURCE, OTHER], question=question)

    _loop.run(both())


async def test_the_embedded_verifier_says_the_same_ahead_of_time() -> None:
    async with Groundwire(Config()) as engine:
        inc = IncrementalVerifier(engine, [SOURCE, OTHER])
        await stream(inc, ANSWER)
        ahead = await inc.drain()
        report = await inc.finish()
        assert report == await engine.check(ANSWER, [SOURCE, OTHER])
    judged = {c.start: c for c in report.claims}
    assert len(ahead) >= 5
    assert all((v.p1, v.status, v.claim_id) == (judged[v.start].p1, judged[v.start].status, judged[v.start].claim_id)
               for v in ahead)  # fmt: skip


async def test_nothing_is_computed_twice() -> None:
    fake, plain = FakeVerifier(), FakeVerifier()
    inc = IncrementalVerifier(engine_with(fake), [SOURCE, OTHER])
    await stream(inc, ANSWER)
    await inc.drain()
    ahead = fake.queries
    await inc.finish()
    await engine_with(plain).check(ANSWER, [SOURCE, OTHER])
    assert ahead > 0
    assert fake.queries == plain.queries


async def test_verdicts_come_while_the_answer_is_being_written() -> None:
    inc = IncrementalVerifier(engine_with(FakeVerifier()), [SOURCE])
    inc.push("The mine is deep. ")
    assert await inc.drain() == ()
    assert inc.judged == 0
    inc.push("The moon")
    (first,) = await inc.drain()
    assert (first.status, first.start, first.end, first.claim_id) == (Status.ENTAILED, 0, 17, "c1")
    assert inc.judged == 18
    assert inc.verdicts() is inc.verdicts()


async def test_a_lagging_verifier_blocks_nobody() -> None:
    hold = asyncio.Event()
    fake = FakeVerifier(hold=hold)
    inc = IncrementalVerifier(engine_with(fake), [SOURCE])
    await stream(inc, "The mine is deep. " * 200, every=1)
    assert inc.verdicts() == ()
    assert len(fake.calls) == 1
    assert len(fake.calls[0]) <= 16
    hold.set()
    report = await inc.finish()
    assert report.verified_claims == 200


async def test_what_is_late_is_unchecked_and_what_is_known_stays() -> None:
    hold = asyncio.Event()
    hold.set()
    inc = IncrementalVerifier(engine_with(FakeVerifier(hold=hold)), [SOURCE])
    inc.push("The mine is deep. Mara Lind runs it. It ")
    assert len(await inc.drain()) == 2
    hold.clear()
    inc.push("employs 1,240 people. The moon is made of cheese.")
    report = await inc.finish(within=0.01)
    assert [c.status for c in report.claims] == [Status.ENTAILED, Status.ENTAILED, Status.UNCHECKED, Status.UNCHECKED]
    assert report.error
    assert report.flagged is None


async def test_a_verifier_that_fails_leaves_claims_unchecked() -> None:
    inc = IncrementalVerifier(engine_with(FakeVerifier(failing=[BackendDown("gone")] * 9)), [SOURCE])
    await stream(inc, "The mine is deep. Mara Lind runs it.")
    report = await inc.finish()
    assert {c.status for c in report.claims} == {Status.UNCHECKED}
    assert "gone" in (report.error or "")


async def test_a_failure_ahead_of_time_is_made_good_at_the_end() -> None:
    inc = IncrementalVerifier(engine_with(FakeVerifier(failing=[BackendDown("gone"), None])), [SOURCE])
    inc.push("The mine is deep. Mara")
    assert [v.status for v in await inc.drain()] == [Status.UNCHECKED]
    inc.push(" Lind runs it.")
    assert {c.status for c in (await inc.finish()).claims} == {Status.ENTAILED}


async def test_an_engine_with_no_room_is_a_report_without_verdicts() -> None:
    async def full(job: Callable[[], Coroutine[Any, Any, T]]) -> T:
        raise Overloaded("too much to do", retry_after=1)

    inc = IncrementalVerifier(engine_with(FakeVerifier()), [SOURCE], work=full)
    await stream(inc, "The mine is deep. Mara Lind runs it.")
    report = await inc.finish()
    assert [c.status for c in report.claims] == [Status.UNCHECKED] * 2
    assert "too much to do" in report.claims[0].reason


async def test_who_was_turned_away_comes_again_and_loses_nothing() -> None:
    turns = 0

    async def busy(job: Callable[[], Coroutine[Any, Any, T]]) -> T:
        nonlocal turns
        turns += 1
        if turns % 3:
            raise Overloaded("too much to do", retry_after=1)
        return await job()

    engine = engine_with(FakeVerifier())
    inc = IncrementalVerifier(engine, [SOURCE], work=busy)
    for sentence in ("The mine is deep. ", "Mara Lind runs it. ", "The moon is green. ", "Bread is good. ") * 3:
        inc.push(sentence)
        await inc.drain()
    places = [inc.text[v.start : v.end] for v in inc.verdicts()]
    assert places == [v.claim_text for v in inc.verdicts()]
    assert len(places) >= 6
    turns = 2
    assert await inc.finish() == await engine.check(inc.text, [SOURCE])


async def test_a_bug_while_judging_leaves_the_claims_in_the_queue() -> None:
    engine, broken = engine_with(FakeVerifier()), True

    async def work(job: Callable[[], Coroutine[Any, Any, T]]) -> T:
        found = await job()
        if broken:
            raise ZeroDivisionError
        return found

    inc = IncrementalVerifier(engine, [SOURCE], work=work)
    inc.push("The mine is deep. Mara")
    await inc.drain()
    broken = False
    inc.push(" Lind runs it. The end")
    await inc.drain()
    assert inc.text[inc.verdicts()[-1].start : inc.verdicts()[-1].end] == "Mara Lind runs it."
    assert inc.judged == inc.text.index("The end")


async def test_a_bug_in_the_work_reaches_the_report_and_not_the_stream() -> None:
    async def broken(job: Callable[[], Coroutine[Any, Any, T]]) -> T:
        raise ZeroDivisionError

    inc = IncrementalVerifier(engine_with(FakeVerifier()), [SOURCE], work=broken)
    await stream(inc, "The mine is deep. Mara Lind runs it.")
    assert "ZeroDivisionError" in ((await inc.finish()).error or "")


@pytest.mark.parametrize(("text", "sources"), [("", [SOURCE]), ("  \n", [SOURCE]), ("The mine is deep.", [])])
async def test_what_cannot_be_checked_is_said_so(text: str, sources: list[Source]) -> None:
    inc = IncrementalVerifier(engine_with(FakeVerifier()), sources)
    inc.push(text)
    report = await inc.finish()
    assert report.flagged is None
    assert "could not be checked" in (report.error or "")


async def test_an_answer_beyond_the_limit_fills_no_memory() -> None:
    inc = IncrementalVerifier(engine_with(FakeVerifier(), limits={"max_answer_chars": 1000}), [SOURCE])
    await stream(inc, "The mine is deep. " * 5000)
    report = await inc.finish()
    assert len(inc.text) <= 1000
    assert "90,000 characters" in (report.error or "")


async def test_who_leaves_stops_the_work() -> None:
    fake = FakeVerifier(hold=asyncio.Event())
    inc = IncrementalVerifier(engine_with(fake), [SOURCE])
    inc.push("The mine is deep. Mara")
    await asyncio.sleep(0)
    inc.cancel()
    inc.push(" Lind runs it. The end.")
    await inc.drain()
    assert inc.text == "The mine is deep. Mara"
    assert inc.verdicts() == ()


async def test_who_leaves_while_the_report_is_made_stops_that_too() -> None:
    fake = FakeVerifier(hold=asyncio.Event())
    inc = IncrementalVerifier(engine_with(fake), [SOURCE])
    inc.push("The mine is deep.")
    last = asyncio.ensure_future(inc.finish())
    for _ in range(20):
        await asyncio.sleep(0)
    assert fake.calls
    last.cancel()
    with pytest.raises(asyncio.CancelledError):
        await last
    await inc.drain()
    assert fake._running == 0


def test_pushing_outside_of_a_loop_leaves_all_to_the_end() -> None:
    inc = IncrementalVerifier(engine_with(FakeVerifier()), [SOURCE])
    inc.push("The mine is deep. Mara Lind runs it.")
    assert inc.verdicts() == ()
    assert _loop.run(inc.finish()).verified_claims == 2


@pytest.fixture
async def elsewhere() -> AsyncIterator[asyncio.AbstractEventLoop]:
    """A loop in a thread of its own, as the server's engine has."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


async def test_many_streams_share_an_engine_on_another_loop(elsewhere: asyncio.AbstractEventLoop) -> None:
    here = threading.get_ident()
    running: list[int] = []

    def script(query: Query) -> tuple[float, float]:
        running.append(threading.get_ident())
        return (0.98, 0.01) if "deep" in query.claim and "deep" in query.context else (0.05, 0.05)

    async def work(job: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(job(), elsewhere))

    engine = engine_with(FakeVerifier(script))
    streams = [IncrementalVerifier(engine, [SOURCE], work=work) for _ in range(40)]
    await asyncio.gather(*(stream(inc, f"Mine {n} is deep. " * 5, every=1) for n, inc in enumerate(streams)))
    reports = await asyncio.gather(*(inc.finish() for inc in streams))
    assert [r.response for r in reports] == [f"Mine {n} is deep. " * 5 for n in range(40)]
    assert all(r.verified_claims == 5 for r in reports)
    assert here not in running


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=60), st.integers(1, 60))
@settings(max_examples=80, deadline=None)
def test_claims_of_a_growing_text_stand_where_they_say(pieces: list[str], size: int) -> None:
    text = "".join(pieces)
    growing = StreamingClaimExtractor(lambda tail: extract(tail, known_sources=["S0", "S1"]))
    found = [c for at in range(0, len(text), size) for c in growing.feed(text[at : at + size])]
    assert [c.start for c in found] == sorted({c.start for c in found})
    assert all(0 <= c.start < c.end <= len(text) for c in found)


def test_prose_and_lists_are_read_as_the_whole_is() -> None:
    text = (ANSWER + "\n\n") * 6
    growing = StreamingClaimExtractor(lambda tail: extract(tail, known_sources=["S0", "S1"]))
    found = [c for at in range(0, len(text), 7) for c in growing.feed(text[at : at + 7])]
    whole = extract(text, known_sources=["S0", "S1"])
    assert found == whole[: len(found)]
    assert len(found) >= len(whole) - 2


def test_a_long_text_is_read_at_linear_cost() -> None:
    read = 0

    def counted(tail: str) -> list[Any]:
        nonlocal read
        read += len(tail)
        return extract(tail)

    growing, text = StreamingClaimExtractor(counted), "The mine number 7 is very deep indeed. " * 500
    for at in range(0, len(text), 200):
        growing.feed(text[at : at + 200])
    assert read < 5 * len(text)
