"""Assign claims to the sources that mention them, with a language model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from groundwire.errors import BackendError
from groundwire.llm.base import Generator
from groundwire.types import Source
from groundwire.verifiers.prompts import assign, source_label
from groundwire.verifiers.shared import numbered_lines

_TOKENS_A_CLAIM = 24  # one reply line: a number and a few source ids


async def map_evidence(
    generator: Generator, claims: Sequence[str], sources: Sequence[Source], *, max_chars: int = 24_000
) -> list[list[str]]:
    """Return for each claim the ids of the sources to check it against, in the order of `sources`.

    Args:
        max_chars: limit for all sources together in the prompt; longer ones are cut at their end.

    Only existing ids are returned. A claim without a usable reply gets an empty list, as do all claims if the
    model fails: the caller then assigns sources by rules.
    """
    if not claims or not sources:
        return [[] for _ in claims]
    room = max(200, max_chars // len(sources))
    shown = [replace(source, text=source.text[:room]) for source in sources]
    try:
        [reply] = await generator.complete(assign(claims, shown), max_tokens=32 + _TOKENS_A_CLAIM * len(claims))
    except BackendError:
        return [[] for _ in claims]
    return parse_mapping(reply.text, len(claims), [source.id for source in sources])


def parse_mapping(text: str, claims: int, ids: Sequence[str]) -> list[list[str]]:
    """Parse the reply into one list of known ids per claim; anything else in it is ignored.

    >>> parse_mapping("1: S0, [S2]\\n2: -\\n3: S9", 3, ["S0", "S1", "S2"])
    [['S0', 'S2'], [], []]
    """
    known = {source_label(source_id).casefold(): source_id for source_id in ids}
    found: dict[int, set[str]] = {}
    for number, listed in numbered_lines(text):
        labels = (part.strip(" \t[]()\"'`*.").casefold() for part in re.split(r"[,;]", listed))
        found.setdefault(number, set()).update(known[label] for label in labels if label in known)
    return [[i for i in ids if i in found.get(number, ())] for number in range(1, claims + 1)]
