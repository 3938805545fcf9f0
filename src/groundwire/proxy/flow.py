"""A stream on its way: cut into parts with their texts, and written on, as it came wherever it can be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from groundwire.proxy.protocol import Json, Key, Spoken
from groundwire.proxy.sse import Frame, Parser, TooLarge, write
from groundwire.proxy.upstream import Broken
from groundwire.proxy.verifier import Outcome, Watch


@dataclass(frozen=True, slots=True)
class Part:
    """A frame, the event in it where it is one, and what that adds to which text. `ours`: made here."""

    frame: Frame
    event: Json | None = None
    said: list[tuple[Key, str]] = field(default_factory=list)
    ours: bool = False


@dataclass(slots=True)
class Flow:
    """The upstream's bytes, who verifies them, and what has been seen of them."""

    chunks: AsyncIterator[bytes]
    spoken: Spoken
    watch: Watch
    tell: bool = True
    last: Json = field(default_factory=dict)
    said: dict[Key, list[str]] = field(default_factory=dict)
    likes: dict[Key, Json] = field(default_factory=dict)
    broken: Broken | None = None
    begun: Json = field(default_factory=dict)
    _rest: bytes = b""
    _shifted: bool = False
    _number: int = -1

    async def parts(self) -> AsyncIterator[Part]:
        """Frame by frame up to the [DONE], the verifier hearing each text. An upstream that breaks off ends
        it too.
        """
        parser = Parser()
        try:
            async for chunk in self.chunks:
                frames = parser.feed(chunk)
                for frame in frames:
                    yield self._read(frame)
                if any(frame.done for frame in frames):
                    self._rest = parser.rest
                    return
        except (Broken, TooLarge) as error:
            self.broken = error if isinstance(error, Broken) else Broken(str(error))
            return
        for frame in parser.finish():
            yield self._read(frame)

    async def remaining(self) -> AsyncIterator[bytes]:
        """What comes behind the end: nobody reads it, and it is not ours to drop."""
        if self.broken is not None:
            raise self.broken
        yield self._rest
        async for chunk in self.chunks:
            yield chunk

    def _read(self, frame: Frame) -> Part:
        event = event_of(frame)
        if event is None:
            return Part(frame)
        self.last = event
        if isinstance(event.get("response"), dict):
            self.begun = event["response"]
        said = self.spoken.deltas(event)
        for key, text in said:
            self.said.setdefault(key, []).append(text)
            self.likes[key] = event
            self.watch.push(key, text)
        return Part(frame, event, said)

    def text(self, key: Key) -> str:
        """All that was said of it by now."""
        return "".join(self.said[key])

    def like(self, key: Key) -> Json:
        """The last event of a text, with what the stream began with: enough to make another one."""
        return {**self.likes[key], "response": self.begun}

    def on(self, part: Part) -> bytes:
        """A part as it came; with its number set right where something was put in or left out before."""
        event = part.event
        if event is not None and (part.ours or self._shifted):
            return self.made(event)
        if event is None or not isinstance(event.get("sequence_number"), int):
            return part.frame.raw
        self._number = event["sequence_number"]
        return part.frame.raw

    def made(self, event: Json) -> bytes:
        """An event of ours, numbered where the protocol numbers."""
        if isinstance(event.get("sequence_number"), int):
            self._shifted = True
            self._number += 1
            event = {**event, "sequence_number": self._number}
        self.last = event
        return write(event, str(event.get("type") or ""))


def told(flow: Flow, outcome: Outcome) -> bytes:
    """The event with the report."""
    event = flow.spoken.report(flow.last, outcome.told)
    return write(event, str(event.get("type") or ""))


def event_of(frame: Frame) -> Json | None:
    if not frame.data.startswith("{"):
        return None
    try:
        found = json.loads(frame.data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


async def with_pauses(parts: AsyncIterator[Part], seconds: float) -> AsyncIterator[Part | None]:
    """The same, with None wherever nothing came for so long."""
    coming: asyncio.Task[Part] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(parts))
            await asyncio.wait({coming}, timeout=seconds)
            if not coming.done():
                yield None
                continue
            try:
                part = coming.result()
            except StopAsyncIteration:
                return
            coming = None
            yield part
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.wait({coming})
