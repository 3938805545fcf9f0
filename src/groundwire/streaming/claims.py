"""The claims of a text that grows: each is told once, as soon as another sentence has begun behind it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from groundwire.text.sentences import BlockKind, blocks
from groundwire.types import Claim

Read = Callable[[str], Sequence[Claim]]

_STOP = re.compile(r"[.!?…؟۔。！？｡।॥։\n]")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})", re.MULTILINE)
_RIPE = re.compile(r"[.!?…؟۔][\"'”’»)\]*_`]*\s+\S|[。！？｡।॥։]\S|\n\s*\S")
_KEPT = 300
_LONGEST = 3000
_ANCHORS = (BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.ITEM, BlockKind.QUOTE)
RECENT = 12


def may_complete(recent: str) -> bool:
    """Whether a sentence may have ended, and another begun, in the text that came last.

    >>> may_complete("It is so. N"), may_complete("It is so. "), may_complete("3.5")
    (True, False, False)
    """
    return bool(_RIPE.search(recent))


class Growing:
    """Reads a text piece by piece as `read` would read it whole, as far as that can be told yet.

    What a later part of the text changes (a footnote that says whom [1] means) is read without it; whoever
    needs the last word reads the whole once more. Only the open end is read again, so that the cost of a
    text is linear in its length. Before `edge` everything is complete.
    """

    def __init__(self, read: Read) -> None:
        self._read = read
        self._tail = ""
        self._at = 0
        self._told = 0
        self.edge = 0
        self._counts = {"c": 0, "s": 0}

    def feed(self, text: str) -> list[Claim]:
        """The claims that are complete now and were not before, in order, with offsets into the whole."""
        self._tail += text
        found = self._read(self._tail)
        edge = self._edge(found)
        self.edge = max(self.edge, self._at + edge)
        done = [self._placed(c) for c in found if c.end <= edge and self._at + c.start >= self._told]
        self._told = max([self._told, *(claim.end for claim in done)])
        self._let_go(found, edge)
        return done

    def _edge(self, found: Sequence[Claim]) -> int:
        """Where the sentence begins that may still go on; within an open fence nothing is a sentence yet."""
        if not found:
            return 0
        first = len(found) - 1
        while first and not _STOP.search(self._tail, found[first - 1].end - 1, found[first].start):
            first -= 1
        fences: list[int] = [match.start() for match in _FENCE.finditer(self._tail)]
        open_fence = fences[-1] if len(fences) % 2 else len(self._tail)
        return min(found[first].start, open_fence)

    def _placed(self, claim: Claim) -> Claim:
        number = int(claim.id[1:]) + self._counts[claim.id[0]]
        start, end = claim.start + self._at, claim.end + self._at
        return replace(claim, id=f"{claim.id[0]}{number}", start=start, end=end)

    def _let_go(self, found: Sequence[Claim], edge: int) -> None:
        """Forget what is behind: up to the open sentence of a paragraph, or to the line of a list's item."""
        if edge < _KEPT:
            return
        around = [block for block in blocks(self._tail) if block.kind in _ANCHORS and block.start <= edge]
        cut = 0
        if around and around[-1].kind is BlockKind.PARAGRAPH:
            cut = edge
        elif around:
            cut = self._tail.rfind("\n", 0, around[-1].start) + 1  # its bullet or hash belongs to it
        if not cut and edge >= _LONGEST:
            cut = edge
        for claim in found:
            if claim.end <= cut:
                self._counts[claim.id[0]] += 1
        self._tail = self._tail[cut:]
        self._at += cut
