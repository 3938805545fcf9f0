"""The guard at its ends: models that fail, readers who leave, verifiers that hang, and a real model."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any

import pytest
from tests.guarding import ABOUT, AGAIN, ASKED, SUPPORTED, UNSUPPORTED, WRONG, configured, model, run, said

from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown
from groundwire.llm import Completion, Message, OnText
from groundwire.llm.base import Endpoint
from groundwire.llm.fake import ScriptedGenerator
from groundwire.llm.openai import OpenAIGenerator
from groundwire.streaming import guard as finish
from groundwire.streaming import protocol, session
from groundwire.streaming.guard import guard
from groundwire.types import Risk, Status
from groundwire.types.stream import DoneEvent


@pytest.fixture(scope="module")
def plain() -> Groundwire:
    return Groundwire(Config())


async def test_what_takes_long_is_done_beside_the_loop(plain: Groundwire, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []

    def noticed(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            threads.append(threading.current_thread())
            return real(*given)

        return call

    for module, name in ((session, "messages_for"), (finish, "coherence_of"), (protocol, "coherence_of")):
        monkeypatch.setattr(module, name, noticed(getattr(module, name)))
    await run(model(WRONG), plain)
    assert len(threads) == 3
    assert threading.current_thread() not in threads


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
async def test_who_stops_reading_stops_the_model_and_leaves_nothing_behind(plain: Groundwire, events: int) -> None:
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


async def test_a_verifier_that_hangs_neither_stops_nor_passes_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_weak_points_are_logged_without_their_words(plain: Groundwire, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="groundwire.streaming"):
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
async def test_each_level_with_a_real_model(smollm: str, name: str, levels: dict[str, Any], action: str) -> None:
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
