"""The three APIs the proxy understands, behind one interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from groundwire.proxy.documents import PromptDocument
from groundwire.proxy.evidence import RequestEvidence

Json = dict[str, Any]
TextKey = tuple[int, ...]
"""One text of an answer: the choice of a chat completion, or the output and content part of a response."""


def response_id(event: Json) -> str:
    """The id that an answer or one of its events carries, in any of the APIs; "" if it has none."""
    places = (event, event.get("response"), event.get("message"))
    ids = (place.get("id") for place in places if isinstance(place, dict))
    return next((found for found in ids if isinstance(found, str) and found), "")


class ApiDialect(Protocol):
    """The places of text in the JSON of an API. `chat`, `responses` and `messages` have this shape.

    An event is the JSON object of one frame of a stream.
    """

    ENDS_WITH_DONE: bool
    """Whether a stream ends with `[DONE]`."""

    def extract_evidence(self, body: Mapping[str, Any], given: Iterable[PromptDocument] = ...) -> RequestEvidence: ...

    def texts(self, body: Json) -> dict[TextKey, str]:
        """Return the texts of a complete (not streamed) answer."""

    def replace_texts(self, body: Json, texts: Mapping[TextKey, str], stopped: Mapping[TextKey, str]) -> Json:
        """Return a complete answer with other texts; `stopped` gives the reason for each that ends early."""

    def deltas(self, event: Json) -> list[tuple[TextKey, str]]:
        """Return the text that an event adds, with the text it belongs to."""

    def is_end(self, event: Json) -> bool:
        """True for an event that closes a text: nothing can be appended after it."""

    def delta_event(self, like: Json, key: TextKey, text: str) -> Json:
        """Make an event that adds text, with the ids of `like`, an event of the same text."""

    def without_text(self, event: Json, keys: Iterable[TextKey]) -> Json | None:
        """Return the event without the text it adds to these keys; None if nothing else is left."""

    def without_choices(self, event: Json, keys: Iterable[TextKey]) -> Json | None:
        """Return the event without everything about these texts; None if nothing else is left."""

    def replace_repeated(self, event: Json, texts: Mapping[TextKey, str]) -> Json:
        """Return a closing event that repeats whole texts with these texts instead."""

    def stop_events(self, like: Json, key: TextKey, text: str, reason: str) -> list[Json]:
        """Make the events that end a text early; `text` is all of it that was sent."""

    def report_event(self, last: Json, report: Json) -> Json:
        """Make the event with the report, in a shape that the official SDKs accept."""
