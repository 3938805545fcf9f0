"""`guard(generator, request, context)`: an answer written under watch, as one stream of events.

Before: is there anything to answer from? During: tokens as they come, warnings, verdicts on finished claims,
a stop where evidence says otherwise. After: coherence, the report, and what the protocol makes of it all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from groundwire.engine import Groundwire, Sources
from groundwire.errors import GroundwireError
from groundwire.llm import Generator, Message
from groundwire.llm.tokens import tokens
from groundwire.streaming.finish import Written, finished
from groundwire.streaming.generation import GenerationMonitor
from groundwire.streaming.incremental import Incremental, Work, here
from groundwire.streaming.protocol import assess, stops
from groundwire.streaming.rewrite import limits
from groundwire.streaming.session import Desk, lacks, open_desk
from groundwire.types import ClaimVerification, Risk
from groundwire.types.realtime import (
    Context,
    DoneEvent,
    InterruptedEvent,
    KnowledgeCheck,
    StreamEvent,
    StreamWarning,
    TokenEvent,
    VerdictEvent,
    WarningEvent,
)

_log = logging.getLogger(__name__)


async def guard(
    generator: Generator,
    request: str | Sequence[Message],
    context: Context | Sources = (),
    *,
    engine: Groundwire | None = None,
    work: Work = here,
) -> AsyncGenerator[StreamEvent]:
    """Every event of one guarded answer; the last is a `DoneEvent`, also where the model fails.

    `request` is a question, which is put to the model with the sources, or the messages as they shall be
    sent. `context` is what the answer may rest on, or its sources alone. Without an `engine` one is opened,
    and closed at the end. `work` is where the engine's jobs run. Whoever stops reading stops the model and
    leaves nothing running.
    """
    if engine is None:
        async with (
            Groundwire() as own,
            aclosing(guard(generator, request, context, engine=own, work=work)) as events,
        ):
            async for event in events:
                yield event
        return
    desk = await asyncio.to_thread(open_desk, generator, request, context, engine, work)  # may read at length
    knowledge = await desk.knowledge()
    if lacks(knowledge, desk.context):
        yield DoneEvent(limits(desk.request, knowledge=knowledge), Risk.CRITICAL, knowledge, action="discard")
        return
    watched = _Watched(desk)
    try:
        async with aclosing(watched.events()) as during:
            async for event in during:
                yield event
        async with aclosing(finished(watched.written(knowledge))) as after:
            async for event in after:
                yield event
    finally:
        await watched.close()


class _Watched:
    """A model's text on its way: what was said, what was found, and whether it had to be stopped."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._config = desk.engine.config.realtime
        self._judge = Incremental(
            desk.engine, desk.context.sources, question=desk.request, work=desk.work, **desk.beside
        )
        self._monitor = GenerationMonitor(
            sources=desk.context.sources, judge=self._judge, config=self._config, request=desk.request
        )
        self._parts: list[str] = []
        self._length = 0
        self._told: set[tuple[int, int]] = set()
        self._known: tuple[ClaimVerification, ...] = ()
        self._patient = True
        self.interrupted = False
        self.error = ""

    async def events(self) -> AsyncGenerator[StreamEvent]:
        await asyncio.to_thread(self._monitor.prepare)  # long sources are read aside, not at the first token
        stream = tokens(self._desk.generator, self._desk.messages, max_tokens=self._config.max_tokens)
        try:
            async with aclosing(stream) as pieces:
                async for piece in pieces:
                    yield TokenEvent(piece)
                    for warning in self._heard(piece):
                        yield WarningEvent(warning)
                    await self._hold()
                    for verdict in self._news():
                        yield VerdictEvent(verdict)
                    if stop := self._stop():
                        yield stop
                        return
        except GroundwireError as error:
            self.error = str(error)
            _log.warning("the model failed after %d characters: %s", self._length, type(error).__name__)
        for warning in self._monitor.close():
            yield WarningEvent(warning)
        if self._patient:
            await self._caught_up()
        for verdict in self._news():
            yield VerdictEvent(verdict)

    def _heard(self, piece: str) -> tuple[StreamWarning, ...]:
        self._parts.append(piece)
        self._length += len(piece)
        return self._monitor.update(piece)

    async def _hold(self) -> None:
        """Let the verifier catch up, so that a stop comes before much more is said; not on one that hangs."""
        if self._patient and self._length - self._judge.judged > self._config.ahead_chars:
            await self._caught_up()

    async def _caught_up(self) -> None:
        try:
            async with asyncio.timeout(self._config.hold_timeout):
                await self._judge.drain()
        except TimeoutError:
            self._patient = False

    def _news(self) -> list[ClaimVerification]:
        found = self._judge.verdicts()
        if found is self._known:
            return []
        fresh = [v for v in found if (v.start, v.end) not in self._told]
        self._told |= {(v.start, v.end) for v in fresh}
        self._known = found
        return fresh

    def _stop(self) -> InterruptedEvent | None:
        """Only where the monitor asks for it and the protocol breaks off at this risk."""
        if not self._monitor.should_interrupt():
            return None
        found = assess(
            self._judge.verdicts(), self._monitor.warnings, threshold=self._config.interrupt_threshold
        )
        if not stops(found.risk, self._config):
            return None
        self.interrupted = True
        return InterruptedEvent(self._length, found.reason, found.risk)

    def written(self, knowledge: KnowledgeCheck | None) -> Written:
        return Written(
            desk=self._desk,
            judge=self._judge,
            text="".join(self._parts),
            warnings=self._monitor.warnings,
            knowledge=knowledge,
            interrupted=self.interrupted,
            error=self.error,
        )

    async def close(self) -> None:
        self._judge.cancel()
        await self._judge.drain()
