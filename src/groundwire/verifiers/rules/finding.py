"""What a rule found out about a claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Side = Literal["yes", "no", "open"]
"""`open`: the evidence was read to the end and decides it neither way."""


@dataclass(frozen=True, slots=True)
class RuleResult:
    """`weight` is how far it moves the estimate: to yes, to no, or, where the matter is `open`, to unsure."""

    side: Side
    weight: float
    start: int
    end: int
    reason: str

    @property
    def denies(self) -> bool:
        return self.side == "no"
