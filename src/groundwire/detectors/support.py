"""What a response may name without being asked where it has it from: its sources, its question, the
dialogue.
"""

from __future__ import annotations

import re
from functools import lru_cache

from groundwire.detectors.context import View
from groundwire.detectors.values import core
from groundwire.openie.parser import bare
from groundwire.text.names import fold, same_name


def is_mentioned(view: View, name: str) -> bool:
    """Whether a name occurs in what the response could draw on, in whole words."""
    wanted = fold(core(name) or bare(name))
    if not wanted:
        return True
    texts = _texts(view)
    return any(_occurs(wanted, text) for text in texts) or any(
        same_name(bare(name), spoken) for spoken in view.dialogue.names
    )


def _texts(view: View) -> tuple[str, ...]:
    turns = tuple(turn.text for turn in view.dialogue.turns)
    return tuple(_folded(text) for text in (*(s.text for s in view.sources), *turns, view.question) if text)


@lru_cache(maxsize=32)
def _folded(text: str) -> str:
    return fold(text)


def _occurs(wanted: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", text) is not None
