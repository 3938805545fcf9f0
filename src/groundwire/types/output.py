"""What became of verifying an answer on its way to the user."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from groundwire.types.report import HallucinationReport


class OutputStatus(StrEnum):
    VERIFIED = "verified"
    PENDING = "pending"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """An answer is never held back: this is what is known of it, and what its author may be told.

    `reason` says why it was skipped, or what it is waited for. `flagged` is None while nobody knows.
    `feedback` is a message for the agent that wrote the answer, where some of it is not carried.
    """

    id: str
    status: OutputStatus
    reason: str = ""
    flagged: bool | None = None
    flagged_claims: tuple[str, ...] = ()
    feedback: str = ""
    report: HallucinationReport | None = None
