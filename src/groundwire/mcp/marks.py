"""Citation marks as callers of Strawberry write them, made into the ones everybody reads: [S0]."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from groundwire._optional import load
from groundwire.errors import InputError

if TYPE_CHECKING:
    from re import Match

_BARE = re.compile(r"\[(\d{1,6})\]")
_SECONDS = 0.5


def remarked(answer: str, pattern: str | None, ids: Sequence[str]) -> str:
    """The answer with what `pattern` finds written as [id], and [12] as [S12] where that is a source's name.

    >>> remarked("It is red (ref S0), and old [1].", r"\\(ref (?P<id>\\w+)\\)", ["S0", "S1"])
    'It is red [S0], and old [S1].'
    """
    known = set(ids)

    def named(found: Match[str]) -> str:
        number = found[1]
        return f"[S{number}]" if number not in known and f"S{number}" in known else found[0]

    return _BARE.sub(named, _found(answer, pattern) if pattern else answer)


def _found(answer: str, pattern: str) -> str:
    # A pattern from outside may take forever; this engine can be told how long it has.
    engine: Any = load("regex", feature="citation_regex", extra="mcp")
    try:
        compiled = engine.compile(pattern)
        if "id" not in compiled.groupindex:
            raise InputError("citation_regex has no group named id", hint=r"write \[(?P<id>\w+)\]")
        written: str = compiled.sub(lambda found: f"[{found['id']}]", answer, timeout=_SECONDS)
    except engine.error as error:
        raise InputError(f"citation_regex is no regular expression: {error}") from None
    except TimeoutError:
        raise InputError(f"citation_regex takes longer than {_SECONDS:g} s on this answer") from None
    return written
