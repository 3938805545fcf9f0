"""An upstream's event stream: split into parts with their texts, and re-encoded only where it changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from groundwire.proxy.dialects import ApiDialect, Json, TextKey
from groundwire.proxy.sse import FrameTooLarge, SseFrame, SseParser, encode_event
from groundwire.proxy.upstream import UpstreamDisconnected
from groundwire.proxy.verifier import StreamVerifier, VerificationOutcome, parse_object


@dataclass(frozen=True, slots=True)
class StreamPart:
    """A frame, its event if it has one, and the text the event adds. `changed`: the event is ours."""

    frame: SseFrame
    event: Json | None = None
    deltas: list[tuple[TextKey, str]] = field(default_factory=list)
    changed: bool = False


@dataclass(slots=True)
class UpstreamStream:
    """The chunks of an upstream, the verifier that reads along, and the state needed to make events."""

    chunks: AsyncIterator[bytes]
    dialect: ApiDialect
    verifier: StreamVerifier
    send_report: bool = True
    last_event: Json = field(default_factory=dict)
    text_by_choice: dict[TextKey, list[str]] = field(default_factory=dict)
    last_event_by_choice: dict[TextKey, Json] = field(default_factory=dict)
    error: UpstreamDisconnected | None = None
    response_meta: Json = field(default_factory=dict)
    _after_done: bytes = b""
    _renumber: bool = False
    _number: int = -1

    async def parts(self) -> AsyncIterator[StreamPart]:
        """Yield parts up to `[DONE]`. A failing upstream ends the iteration and sets `error`."""
        parser = SseParser()
        try:
            async for chunk in self.chunks:
                frames = parser.feed(chunk)
                for frame in frames:
                    yield self._read(frame)
                if any(frame.done for frame in frames):
                    self._after_done = parser.rest
                    return
        except (UpstreamDisconnected, FrameTooLarge) as error:
            self.error = error if isinstance(error, UpstreamDisconnected) else UpstreamDisconnected(str(error))
            return
        for frame in parser.finish():
            yield self._read(frame)

    async def remaining(self) -> AsyncIterator[bytes]:
        """Yield what follows `[DONE]` unchanged, or raise the error that ended the stream."""
        if self.error is not None:
            raise self.error
        yield self._after_done
        async for chunk in self.chunks:
            yield chunk

    def _read(self, frame: SseFrame) -> StreamPart:
        event = parse_object(frame.data) if frame.data.startswith("{") else None
        if event is None:
            return StreamPart(frame)
        self.last_event = event
        if isinstance(event.get("response"), dict):
            self.response_meta = event["response"]
        deltas = self.verifier.feed_event(event)
        for key, text in deltas:
            self.text_by_choice.setdefault(key, []).append(text)
            self.last_event_by_choice[key] = event
        return StreamPart(frame, event, deltas)

    def is_end(self, part: StreamPart) -> bool:
        """True if a part closes a text. Anthropic's blocks of thoughts and tool calls close the same way."""
        event = part.event
        if event is None or not self.dialect.is_end(event):
            return False
        texts = [last.get("index") for last in self.last_event_by_choice.values()]
        return event.get("type") != "content_block_stop" or event.get("index") in texts

    def text(self, key: TextKey) -> str:
        """Return a text as far as it has arrived."""
        return "".join(self.text_by_choice[key])

    def template(self, key: TextKey) -> Json:
        """Return the last event of a text with the response's metadata: enough to make another event."""
        return {**self.last_event_by_choice[key], "response": self.response_meta}

    def encode(self, part: StreamPart) -> bytes:
        """Return a part as bytes: the original ones unless it changed or must be renumbered."""
        event = part.event
        if event is not None and (part.changed or self._renumber):
            return self.encode_new(event)
        if event is not None and isinstance(event.get("sequence_number"), int):
            self._number = event["sequence_number"]
        return part.frame.raw

    def encode_new(self, event: Json) -> bytes:
        """Encode an event of ours. From here on events are renumbered if the API numbers them."""
        if isinstance(event.get("sequence_number"), int):
            self._renumber = True
            self._number += 1
            event = {**event, "sequence_number": self._number}
        self.last_event = event
        return encode_event(event, str(event.get("type") or ""))

    def encode_report(self, outcome: VerificationOutcome) -> bytes:
        event = self.dialect.report_event(self.last_event, outcome.report_object)
        return encode_event(event, str(event.get("type") or ""))


async def with_ticks(parts: AsyncIterator[StreamPart], seconds: float) -> AsyncIterator[StreamPart | None]:
    """Yield the parts, and None whenever none arrives for that many seconds."""
    pending: asyncio.Task[StreamPart] | None = None
    try:
        while True:
            pending = pending or asyncio.ensure_future(anext(parts))
            await asyncio.wait({pending}, timeout=seconds)
            if not pending.done():
                yield None
                continue
            try:
                part = pending.result()
            except StopAsyncIteration:
                return
            pending = None
            yield part
    finally:
        if pending is not None:
            pending.cancel()
            await asyncio.wait({pending})
