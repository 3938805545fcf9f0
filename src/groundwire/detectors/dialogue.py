"""The conversation before the response: what both sides claimed in it, and whom they named."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from groundwire.detectors.segments import segment
from groundwire.detectors.view import Dialogue, Established
from groundwire.types import Mention, MentionKind, Turn

MAX_TURNS = 200
"""Of a longer conversation only the latest turns are read."""
_SPEAKERS = frozenset({"user", "assistant", "human", "ai", "bot", "agent", "customer", "model"})


def dialogue(history: Sequence[Turn], now: datetime) -> Dialogue:
    """Claims count from assertive sentences only, whoever made them; system and tool messages name things,
    but establish nothing."""
    turns = tuple(history[-MAX_TURNS:])
    established: list[Established] = []
    names: dict[str, None] = {}
    for turn in turns:
        for piece in segment(turn.text, now, tuple(names)):
            if piece.assertive and turn.role.lower() in _SPEAKERS:
                established += [Established(turn, claim) for claim in piece.claims]
            for mention in filter(_is_named, piece.mentions):
                names.pop(mention.text, None)  # the latest stands last
                names[mention.text] = None
    return Dialogue(turns, tuple(established), tuple(names))


def _is_named(mention: Mention) -> bool:
    return mention.kind is not MentionKind.PRONOUN
