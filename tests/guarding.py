"""A tower, its sources and what a scripted model says of it: what the tests of the guard share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown
from groundwire.llm.fake import ScriptedCall, ScriptedGenerator
from groundwire.streaming.guard import guard
from groundwire.types import Source
from groundwire.types.stream import Context, DoneEvent, StreamEvent

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
    "The Norvale tower is 310 metres tall. The tower holds a famous collection of clocks. The tower stands in Tallinn."
)
AGAIN = "The tower was built in 1987 by Mara Okafor."


def configured(**realtime: Any) -> Groundwire:
    return Groundwire(Config().changed(realtime=realtime))


def model(answer: str, second: str | BackendDown = AGAIN) -> ScriptedGenerator:
    """Says the answer; asked once more, the second one."""
    return ScriptedGenerator(lambda call: second if _is_second(call) else answer)


def _is_second(call: ScriptedCall) -> bool:
    return "was taken out" in call.messages[-1].content


async def run(
    generator: Any, engine: Groundwire, context: Any = ABOUT, asked: str = ASKED
) -> tuple[list[StreamEvent], DoneEvent]:
    events = [event async for event in guard(generator, asked, context, engine=engine)]
    *before, done = events
    assert isinstance(done, DoneEvent)
    assert not any(isinstance(event, DoneEvent) for event in before)
    return before, done


def kinds(events: Sequence[StreamEvent]) -> list[str]:
    return list(dict.fromkeys(event.kind for event in events))


def said(events: Sequence[StreamEvent]) -> str:
    return "".join(event.text for event in events if event.kind == "token")  # type: ignore[union-attr]
