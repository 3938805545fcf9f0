"""Server-sent events as bytes: a parser that keeps the original bytes, and an encoder.

A frame may arrive in any number of chunks, cut anywhere, even inside a character, so nothing is decoded
before a frame is complete. The frames' `raw` and the parser's `rest` add up to the bytes that were fed in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

DONE = b"data: [DONE]"
MAX_FRAME = 32_000_000  # bytes. Inline images reach a few megabytes; a frame beyond this will not end.
_DONE_UNSPACED = b"data:[DONE]"
_FRAME_END = re.compile(rb"(?>\r\n|\r|\n)(?>\r\n|\r|\n)")
_ENDS_FRAME = re.compile(_FRAME_END.pattern + rb"\Z")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_DONE_LINE = re.compile(rb"(?:\A|(?<=[\r\n]))data: ?\[DONE\]")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseFrame:
    """One event: its bytes including the terminator, and its decoded type and data (empty if absent)."""

    raw: bytes
    event: str = ""
    data: str = ""

    @property
    def done(self) -> bool:
        return self.data.startswith("[DONE]")


class FrameTooLarge(ValueError):
    """A frame exceeds the size limit without ending."""


class SseParser:
    """Splits a byte stream into frames."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._max = max_frame

    def feed(self, chunk: bytes) -> list[SseFrame]:
        """Return the frames that this chunk completes."""
        self._buffer += chunk
        found: list[SseFrame] = []
        start = 0
        end = _FRAME_END.search(self._buffer, self._searched)
        while end:
            found.append(parse_frame(bytes(self._buffer[start : end.end()])))
            start = end.end()
            end = _FRAME_END.search(self._buffer, start)
        if start:
            del self._buffer[:start]
        # The longest terminator has 4 bytes, so one cut in the middle starts in the last 3. Everything before
        # is never searched again, which keeps a frame of many chunks linear.
        self._searched = max(0, len(self._buffer) - 3)
        if len(self._buffer) > self._max:
            raise FrameTooLarge(f"frame exceeds {self._max:,} bytes")
        return found

    @property
    def rest(self) -> bytes:
        """Bytes of the incomplete last frame."""
        return bytes(self._buffer)

    def finish(self) -> list[SseFrame]:
        """Parse what is left at the end of the stream; some servers omit the last blank line."""
        left = self.rest
        self._buffer.clear()
        self._searched = 0
        return [parse_frame(left)] if left else []


def parse_frame(raw: bytes) -> SseFrame:
    """Read the `event` and `data` fields; comments and other fields stay in `raw` only."""
    event, data = "", []
    for line in _LINE_END.split(raw.removeprefix(_BOM)):
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
        elif name == b"event":
            event = value.removeprefix(b" ").decode("utf-8", "replace")
    return SseFrame(raw, event, b"\n".join(data).decode("utf-8", "replace"))


def encode_event(data: Mapping[str, object], event: str = "") -> bytes:
    """Encode one event. The JSON is ASCII so that no intermediary can split a character."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def encode_comment(text: str) -> bytes:
    """Encode a comment, which clients ignore; it keeps an idle connection open."""
    return f": {text}\n\n".encode()


class DoneHoldback:
    """Passes a stream through but holds back the final `[DONE]`, so that an event can be inserted before it.

    All other bytes are returned immediately and unchanged; only a partial line that could become `[DONE]`
    waits for the next chunk.
    """

    def __init__(self) -> None:
        self.buffered = b""
        self.done = False
        self._at_line_start = True
        self._last_bytes = b"\n\n"

    def feed(self, chunk: bytes) -> bytes:
        """Return the bytes that can be sent now."""
        if self.done:
            self.buffered += chunk
            return b""
        # The common case, whole lines without the marker, needs no further search.
        if not self.buffered and chunk.endswith(b"\n") and b"[DONE]" not in chunk:
            self._at_line_start = True
            ready = chunk
        else:
            ready = self._split(self.buffered + chunk)
        self._last_bytes = (self._last_bytes + ready[-4:])[-4:]
        return ready

    def _split(self, text: bytes) -> bytes:
        found = _DONE_LINE.search(text)
        while found and found.start() == 0 and not self._at_line_start:
            found = _DONE_LINE.search(text, found.end())
        if found:
            self.done, self.buffered, self._at_line_start = True, text[found.start() :], True
            return text[: found.start()]
        line = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        partial = text[line:]
        starts_line = bool(line) or self._at_line_start
        like_done = DONE.startswith(partial) or _DONE_UNSPACED.startswith(partial)
        may_be_done = starts_line and bool(partial) and like_done
        self.buffered = partial if may_be_done else b""
        ready = text[:line] if may_be_done else text
        if ready:
            self._at_line_start = ready.endswith((b"\n", b"\r"))
        return ready

    def release(self) -> bytes:
        """Return everything that is buffered, at the end of the stream."""
        left, self.buffered = self.buffered, b""
        return left

    @property
    def can_insert(self) -> bool:
        """True between two lines, where an inserted event does not split one."""
        return self._at_line_start

    @property
    def separator(self) -> bytes:
        """Bytes to send before an inserted event so that it does not join the previous frame."""
        return b"" if _ENDS_FRAME.search(self._last_bytes) else b"\n"
