"""What a rule found out about a claim."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ruling:
    """`weight` is how far it moves the estimate: towards no where it `denies` the claim, else towards yes."""

    denies: bool
    weight: float
    start: int
    end: int
    reason: str
