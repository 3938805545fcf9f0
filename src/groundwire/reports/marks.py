"""The answer cut into plain and marked pieces, and made safe to show, for whoever prints it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from groundwire.types import Feedback, Span


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    marked: bool


def pieces(text: str, spans: Sequence[Span]) -> Iterator[Piece]:
    """Spans must be sorted and free of overlaps, as a report's are.

    >>> [p.text for p in pieces("It is red.", [Span(6, 9)])]
    ['It is ', 'red', '.']
    """
    at = 0
    for span in spans:
        if span.start > at:
            yield Piece(text[at : span.start], marked=False)
        yield Piece(text[span.start : span.end], marked=True)
        at = span.end
    if at < len(text):
        yield Piece(text[at:], marked=False)


def annotated(text: str, spans: Sequence[Span], before: str = "⟦", after: str = "⟧") -> str:
    """The answer with unsupported parts in brackets, where colour is not to be had."""
    return "".join(f"{before}{p.text}{after}" if p.marked else p.text for p in pieces(text, spans))


def opinion(feedback: Feedback) -> str:
    """What a user said of the verdict, in one line."""
    said = "right" if feedback.right else "wrong"
    means = "supported" if feedback.supported else "not supported"
    marked = f"a user marked {feedback.status.value} {said} on {feedback.at:%Y-%m-%d}"
    return f"{marked}: the claim is {means}" + (f" ({feedback.note})" if feedback.note else "")


def clean(text: str) -> str:
    """Control characters of hostile text must neither steer a terminal nor turn a page's text around.

    Offsets stay as they are.
    """
    return text.translate(_VISIBLE)


def safe(text: str) -> str:
    """Text from users never becomes markup; what cannot or must not be shown becomes a replacement mark."""
    return escape(clean(text))


_BIDI_CONTROLS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_VISIBLE: dict[int, str] = {
    **dict.fromkeys((*range(32), *range(127, 160), *range(0xD800, 0xE000)), "\ufffd"),
    **dict.fromkeys(map(ord, _BIDI_CONTROLS), "\ufffd"),
    **{ord("\n"): "\n", ord("\t"): "\t", ord("\r"): " "},
}
