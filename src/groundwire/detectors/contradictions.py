"""Contradictions of known facts: a fact of the store with the same subject and predicate says otherwise.

Catches single-valued facts with another object, in any role, from either end, and denials. Misses facts of
predicates that may hold with several objects. A fact's own confidence scales the flag's. Cost: no lookups
of its own.
"""

from __future__ import annotations

from groundwire.detectors.disagree import disagreements
from groundwire.detectors.view import View
from groundwire.types import Flag, HallucinationType

BASE = 0.95


async def detect_kb_contradictions(view: View) -> list[Flag]:
    kind = HallucinationType.CONTRADICTS_FACT
    return disagreements(view, of_facts=True, kind=kind, base=BASE)
