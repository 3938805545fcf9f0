"""Wrong attributes: the entity is known, so is the attribute, and its value is another.

Catches values that differ as numbers, dates, times, names or text, and denials of what is so. Misses
attributes that may hold several values (a further one contradicts none), states of the past,
and what the rules read no triple from. Cost: no lookups of its own.
"""

from __future__ import annotations

from groundwire.detectors.disagree import disagreements
from groundwire.detectors.view import View
from groundwire.types import Flag, HallucinationType

BASE = 0.9


async def detect_wrong_attributes(view: View) -> list[Flag]:
    kind = HallucinationType.WRONG_ATTRIBUTE
    return disagreements(view, of_facts=False, kind=kind, base=BASE)
