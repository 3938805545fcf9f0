"""What the modes need to know of a protocol: where its text is, and how it is put back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from groundwire.proxy.documents import Document
from groundwire.proxy.evidence import Evidence

Json = dict[str, Any]
Key = tuple[int, ...]
"""Which text of an answer: a choice of a chat completion; an output and a part of a response."""


class Spoken(Protocol):
    """`chat` and `responses` are modules of this shape. An event is the JSON of one frame of a stream."""

    def evidence(self, body: Mapping[str, Any], given: Iterable[Document] = ...) -> Evidence: ...

    def texts(self, body: Json) -> dict[Key, str]:
        """The texts of a whole answer."""

    def rewritten(self, body: Json, texts: Mapping[Key, str], stopped: Mapping[Key, str]) -> Json:
        """The whole answer with other texts; `stopped` says of which text why it ends early."""

    def deltas(self, event: Json) -> list[tuple[Key, str]]:
        """What an event adds to which text."""

    def is_ending(self, event: Json) -> bool:
        """Whether an event says that a text is over: nothing may be added to it behind."""

    def delta(self, like: Json, key: Key, text: str) -> Json:
        """An event that adds a text, in the shape of one that did."""

    def without_text(self, event: Json, keys: Iterable[Key]) -> Json | None:
        """The event without what it adds to these texts; None where nothing else is in it."""

    def without(self, event: Json, keys: Iterable[Key]) -> Json | None:
        """The event without all that is about these texts; None where nothing else is in it."""

    def closed(self, event: Json, texts: Mapping[Key, str]) -> Json:
        """An ending event that repeats texts, with these instead."""

    def stop(self, like: Json, key: Key, text: str, why: str) -> list[Json]:
        """The events that end a stream early, `text` being what was said by then."""

    def report(self, last: Json, told: Json) -> Json:
        """The event that tells what was found out, in a shape that the official SDKs let pass."""
