"""A stream held back claim by claim: nothing is told before it is judged, and a contradiction ends it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass, field, replace

from groundwire.proxy.flow import Flow, Part, told, with_pauses
from groundwire.proxy.protocol import Key
from groundwire.proxy.repairing import broken_off, halting, stopped
from groundwire.proxy.sse import DONE, comment
from groundwire.proxy.verifier import Outcome
from groundwire.types import ClaimVerification

TICK = 0.03
_ALIVE = 10.0


@dataclass(slots=True)
class _Holding:
    """What is held back, and how far each text has been told."""

    flow: Flow
    held: deque[Part] = field(default_factory=deque)
    heard: dict[Key, int] = field(default_factory=dict)
    told: dict[Key, int] = field(default_factory=dict)
    behind: asyncio.Task[object] | None = None
    since: float = 0.0
    ended: dict[Key, str] = field(default_factory=dict)
    """Which texts were broken off, and why."""

    def add(self, part: Part) -> None:
        self.held.append(part)
        self._expect()

    def is_safe(self, part: Part) -> bool:
        """Whether all that it says has been judged."""
        checks = self.flow.watch.checks
        return all(
            key in self.ended or (key in checks and self.told.get(key, 0) + len(text) <= checks[key].judged)
            for key, text in part.said
        )

    def let_go(self) -> bytes:
        """The first part, without what is about texts that were broken off."""
        part = self.held.popleft()
        for key, text in part.said:
            self.told[key] = self.told.get(key, 0) + len(text)
        if not self.ended or part.event is None:
            return self.flow.on(part)
        left = self.flow.spoken.without(part.event, self.ended)
        return self.flow.on(replace(part, event=left, ours=left != part.event)) if left else b""

    def _expect(self) -> None:
        """Notice from when on a verdict is waited for."""
        if self.behind is None or self.behind.done():
            checks = list(self.flow.watch.checks.values())
            self.behind = asyncio.ensure_future(asyncio.gather(*(check.drain() for check in checks)))  # type: ignore[assignment]
            self.since = asyncio.get_running_loop().time()

    @property
    def is_late(self) -> bool:
        """Whether the verifier has been at it for longer than anybody should wait."""
        waiting = self.behind is not None and not self.behind.done()
        return waiting and asyncio.get_running_loop().time() - self.since > self.flow.watch.patience

    def stops(self) -> tuple[Key, ClaimVerification] | None:
        watch = self.flow.watch
        judged = {key: check.verdicts() for key, check in watch.checks.items() if key not in self.ended}
        return halting(judged, watch.sure)

    @property
    def is_over(self) -> bool:
        """Whether every answer that was asked for has been broken off."""
        return len(self.ended) >= self.flow.watch.choices

    def close(self) -> None:
        if self.behind is not None:
            self.behind.cancel()


async def block(flow: Flow) -> AsyncGenerator[bytes, None]:
    """Statements as they are found not to be contradicted; from a contradiction on, why there is no more."""
    holding = _Holding(flow)
    try:
        async for piece in _block(flow, holding):
            yield piece
    finally:
        holding.close()


async def _block(flow: Flow, holding: _Holding) -> AsyncIterator[bytes]:
    free: bool | None = None  # whether all may pass: there is nothing to judge by, or nobody to do it in time
    silent = asyncio.get_running_loop().time()
    async for part in with_pauses(flow.parts(), TICK):
        if part is not None:
            free = not await flow.watch.ready() if part.said and free is None else free
            holding.add(part)
        if stop := holding.stops():
            for piece in _broken_off(flow, holding, *stop):
                yield piece
        if holding.is_over:
            async for piece in _closed(flow, holding):
                yield piece
            return
        free = free or holding.is_late
        while holding.held and _may_go(holding, free=bool(free)):
            yield holding.let_go()
            silent = asyncio.get_running_loop().time()
        if asyncio.get_running_loop().time() - silent > _ALIVE:
            silent += _ALIVE
            yield comment("groundwire is checking")
    async for piece in _ended(flow, holding):
        yield piece


def _may_go(holding: _Holding, *, free: bool) -> bool:
    part = holding.held[0]
    ends = part.event is not None and holding.flow.spoken.is_ending(part.event)
    return not part.frame.done and not ends and (free or holding.is_safe(part))


async def _ended(flow: Flow, holding: _Holding) -> AsyncIterator[bytes]:
    """The upstream has said all: the last statements are judged, and go or stop."""
    outcome = await flow.watch.outcome()
    for key, report in outcome.reports.items():
        stop = halting({key: report.claims}, flow.watch.sure)
        if stop and key not in holding.ended and stop[1].end > holding.told.get(key, 0):
            for piece in _broken_off(flow, holding, *stop):
                yield piece
    if holding.is_over:
        async for piece in _closed(flow, holding, outcome):
            yield piece
        return
    while holding.held and not holding.held[0].frame.done:
        yield holding.let_go()
    if flow.tell:
        yield told(flow, _with_reason(outcome, holding))
    while holding.held:
        yield holding.let_go()
    async for piece in flow.remaining():
        yield piece


def _broken_off(flow: Flow, holding: _Holding, key: Key, claim: ClaimVerification) -> Iterator[bytes]:
    """What stands before the contradiction, why there is no more, the end in the protocol's own words."""
    text, like, already = flow.text(key), flow.like(key), holding.told.get(key, 0)
    kept, instead = broken_off(text, claim, flow.watch.sure)
    words = text[already : len(kept)] + instead
    holding.ended[key] = stopped(claim)
    yield flow.made(flow.spoken.delta(like, key, words))
    for event in flow.spoken.stop(like, key, text[:already] + words, stopped(claim)):
        yield flow.made(event)


async def _closed(flow: Flow, holding: _Holding, outcome: Outcome | None = None) -> AsyncIterator[bytes]:
    """The end of a stream of which nothing more is wanted."""
    if flow.tell:
        yield told(flow, _with_reason(outcome or await flow.watch.outcome(), holding))
    if not isinstance(flow.last.get("sequence_number"), int):
        yield DONE + b"\n\n"


def _with_reason(outcome: Outcome, holding: _Holding) -> Outcome:
    return replace(outcome, blocked=next(iter(holding.ended.values()), ""))
