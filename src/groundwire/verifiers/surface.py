"""The claim with its figures and dates written as the evidence writes them.

$1,300,000 and $1.3 million are the same to a reader; to a small network they are different words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from groundwire.text.dates import dates
from groundwire.verifiers.memo import numbers


@dataclass(frozen=True, slots=True)
class Rewritten:
    """`edits` are (start, end, old start, old end) of what was replaced, in order."""

    text: str
    edits: tuple[tuple[int, int, int, int], ...] = ()

    def back(self, start: int, end: int) -> tuple[int, int]:
        """A range of the rewritten text as a range of the claim."""
        return self._place(start, first=True), self._place(end, first=False)

    def _place(self, at: int, *, first: bool) -> int:
        shift = 0
        for start, end, old_start, old_end in self.edits:
            if at <= start:
                break
            if at < end or (at == end and not first):
                return old_start if first else old_end
            shift = old_end - end
        return at + shift


def rewritten(claim: str, evidence: str) -> Rewritten:
    """Replace what says the same in another form; everything else stays.

    >>> rewritten("It made $1,300,000.", "It made $1.3 million in 2020.").text
    'It made $1.3 million.'
    """
    found = sorted(_replacements(claim, evidence))
    text, edits, at = "", [], 0
    for start, end, new in found:
        if start < at or claim[start:end] == new:
            continue
        text += claim[at:start]
        edits.append((len(text), len(text) + len(new), start, end))
        text += new
        at = end
    return Rewritten(text + claim[at:], tuple(edits))


_LEAD = re.compile(
    r"^(?:as |according to )?(?:the|this|its) [\w ]{1,30}?\b"
    r"(?:notes?|reads?|states?|says?|reports?|mentions?|puts it)"
    r"(?: that)?[,:]?\s*",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_ENOUGH = 4


def is_verbatim(claim: str, passages: Sequence[str]) -> bool:
    """Does a passage begin with the claim, word for word, whoever the claim says it is from?

    >>> is_verbatim('The report reads "The union accepted the offer."', ["The union accepted the offer."])
    True
    >>> is_verbatim("The union accepted the offer.", ["Nobody believes the union accepted the offer."])
    False
    """
    cores = [_folded(text) for text in {claim, _LEAD.sub("", claim)}]
    cores = [core for core in cores if len(core) >= _ENOUGH]
    return any(_folded(passage)[: len(core)] == core for passage in passages for core in cores)


@lru_cache(maxsize=4096)
def _folded(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


def _replacements(claim: str, evidence: str) -> Iterator[tuple[int, int, str]]:
    known = {(d.year, d.month, d.day): evidence[d.start : d.end] for d in dates(evidence) if d.day}
    taken = bytearray(len(claim))
    for date in dates(claim):
        taken[date.start : date.end] = b"\1" * (date.end - date.start)
        if (date.year, date.month, date.day) in known:
            yield date.start, date.end, known[date.year, date.month, date.day]
    figures = {(n.value, n.unit, n.kind): evidence[n.start : n.end] for n in reversed(numbers(evidence))}
    for number in numbers(claim):
        inside = taken.find(1, number.start, number.end) >= 0
        same = figures.get((number.value, number.unit, number.kind))
        if same is not None and not inside:
            yield number.start, number.end, same
