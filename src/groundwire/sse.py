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
_FRAME_END = re.compile(rb"(?>\r\n|\r|\n)(?>\r\n|\r|\n)")
_ENDS_FRAME = re.compile(_FRAME_END.pattern + rb"\Z")
_LINE_END = re.compile(rb"\r\n|\r|\n")
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


def ending_of(sent: bytes) -> bytes:
    """What must follow these last bytes of a stream so that the next event is a frame of its own.

    >>> ending_of(b"1\\n\\n"), ending_of(b"1\\r\\n"), ending_of(b"1")
    (b'', b'\\n', b'\\n\\n')
    """
    if not sent or _ENDS_FRAME.search(sent):
        return b""
    return b"\n" if sent.endswith((b"\n", b"\r")) else b"\n\n"
