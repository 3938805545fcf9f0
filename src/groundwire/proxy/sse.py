"""Server-sent events on bytes: cut into frames that keep their bytes, and written.

A frame may come in any number of pieces, cut anywhere, even within a character: nothing is decoded before it
is whole. What was fed in is what the frames' `raw` and the `rest` add up to, byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

DONE = b"data: [DONE]"
MAX_FRAME = 32_000_000
_TIGHT = b"data:[DONE]"
_END = re.compile(rb"(?>\r\n|\r|\n)(?>\r\n|\r|\n)")
_AT_END = re.compile(_END.pattern + rb"\Z")
_LINE = re.compile(rb"\r\n|\r|\n")
_DONE_LINE = re.compile(rb"(?:\A|(?<=[\r\n]))data: ?\[DONE\]")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as it came: its bytes, with what ends it; its type and its data, where it has some."""

    raw: bytes
    event: str = ""
    data: str = ""

    @property
    def done(self) -> bool:
        return self.data.startswith("[DONE]")


class TooLarge(ValueError):
    """A frame without an end: whoever only listens stops listening, and the stream goes on."""


class Parser:
    """Bytes in, frames out."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self._buffer = bytearray()
        self._seen = 0
        self._max = max_frame

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that this piece completes."""
        self._buffer += chunk
        found: list[Frame] = []
        start = 0
        end = _END.search(self._buffer, self._seen)
        while end:
            found.append(parse(bytes(self._buffer[start : end.end()])))
            start = end.end()
            end = _END.search(self._buffer, start)
        if start:
            del self._buffer[:start]
        self._seen = max(
            0, len(self._buffer) - 3
        )  # an end may be cut in the middle, and no byte is read twice
        if len(self._buffer) > self._max:
            raise TooLarge(f"a frame of more than {self._max:,} bytes")
        return found

    @property
    def rest(self) -> bytes:
        """What came of a frame that has not ended."""
        return bytes(self._buffer)

    def finish(self) -> list[Frame]:
        """What is left when the stream has ended: servers are forgiven a missing blank line at the end."""
        left = self.rest
        self._buffer.clear()
        self._seen = 0
        return [parse(left)] if left else []


def parse(raw: bytes) -> Frame:
    """One frame's fields. Comments and unknown fields are in its bytes alone."""
    event, data = "", []
    for line in _LINE.split(raw.removeprefix(_BOM)):
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
        elif name == b"event":
            event = value.removeprefix(b" ").decode("utf-8", "replace")
    return Frame(raw, event, b"\n".join(data).decode("utf-8", "replace"))


def write(data: Mapping[str, object], event: str = "") -> bytes:
    """An event of our own. Its data is ASCII, so that no proxy behind us can break a character."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def comment(words: str) -> bytes:
    """What keeps a connection open and is read by nobody."""
    return f": {words}\n\n".encode()


class Tail:
    """Holds back the `[DONE]` that ends a stream, so that something can be said before it.

    Everything else goes on at once, as the very bytes that came; only a line cut within its first characters
    waits for the next piece.
    """

    def __init__(self) -> None:
        self.held = b""
        self.done = False
        self._fresh = True  # what comes next begins a line
        self._end = b"\n\n"

    def feed(self, chunk: bytes) -> bytes:
        """What may go on now."""
        if self.done:
            self.held += chunk
            return b""
        if not self.held and chunk.endswith(b"\n") and b"[DONE]" not in chunk:
            self._fresh = True
            going = chunk
        else:
            going = self._cut(self.held + chunk)
        self._end = (self._end + going[-4:])[-4:]
        return going

    def _cut(self, text: bytes) -> bytes:
        found = _DONE_LINE.search(text)
        while found and found.start() == 0 and not self._fresh:
            found = _DONE_LINE.search(text, found.end())
        if found:
            self.done, self.held, self._fresh = True, text[found.start() :], True
            return text[: found.start()]
        line = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        begun = text[line:]
        may_be = (line or self._fresh) and begun and (DONE.startswith(begun) or _TIGHT.startswith(begun))
        self.held = begun if may_be else b""
        going = text[:line] if may_be else text
        if going:
            self._fresh = going.endswith((b"\n", b"\r"))
        return going

    def release(self) -> bytes:
        """All that is held, for the end of the stream."""
        left, self.held = self.held, b""
        return left

    @property
    def between(self) -> bool:
        """Whether an event of ours would stand between two lines, and not inside one."""
        return self._fresh

    @property
    def gap(self) -> bytes:
        """What has to stand before an event of ours, so that it does not become part of the one before."""
        return b"" if _AT_END.search(self._end) else b"\n"
