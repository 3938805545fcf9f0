"""Instructions that are no request to the reader but steps of a procedure: sources carry them or do not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from groundwire.types import Claim, ClaimKind

STEPS = 3
"""As many instructions in one answer make a procedure."""

_REFERS = re.compile(
    r"\W*(?:please|kindly|feel free|let (?:me|us) know|see|refer to|contact|consult|ask|visit|call|check with"
    r"|talk to|ignore|disregard|forget|answer|respond|reply)\b",
    re.I,
)


def steps_as_claims(found: Sequence[Claim], *, asked: bool) -> list[Claim]:
    """A step says how something is done, and can be as wrong as any sentence: it is an assertion.

    An instruction is a step where it answers a question or stands among others; what sends the reader to
    somebody else ("Please contact …") never is.
    """
    orders = [c for c in found if c.kind is ClaimKind.INSTRUCTION and not _REFERS.match(c.text)]
    if not asked and len(orders) < STEPS:
        return list(found)
    steps = {claim.id for claim in orders}
    return [replace(c, kind=ClaimKind.ASSERTION) if c.id in steps else c for c in found]
