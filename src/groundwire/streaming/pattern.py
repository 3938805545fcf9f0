"""What a pattern is: a name, what it looks for, how risky and how sure a find is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from groundwire.streaming.state import Seen
from groundwire.types.taxonomy import Risk


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a pattern shows in a sentence. `key` tells the same find again: it is reported once a stream."""

    start: int
    end: int
    note: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """`find` looks at one sentence, `confidence` says how sure a hit is (0 to 1).

    `needs_sources`: says nothing where there are none to compare with. `in_code`: looks into code, too.
    """

    name: str
    catches: str
    misses: str
    risk: Risk
    find: Callable[[Seen], Iterable[Hit]]
    confidence: Callable[[Seen, Hit], float]
    needs_sources: bool = False
    in_code: bool = False

    def applies(self, seen: Seen) -> bool:
        return (seen.known.sourced or not self.needs_sources) and (self.in_code or not seen.past.in_code)
