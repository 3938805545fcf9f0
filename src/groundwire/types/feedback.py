"""What a person said of a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from groundwire.types.claims import Status


@dataclass(frozen=True, slots=True)
class Feedback:
    """An opinion on the verdict that a claim had then: `right`, or not.

    What lasts beyond that verdict is whether the claim is `supported`: a flag that was wrong says it is.
    """

    right: bool
    status: Status
    flagged: bool
    at: datetime
    note: str = ""

    @property
    def supported(self) -> bool:
        return self.right != self.flagged
