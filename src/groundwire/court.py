"""Who takes part in a check: the backend that is asked, the profile that judges, the reader, the notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.llm.generator import Generator
from groundwire.metrics import Metrics, log_verdict
from groundwire.policy.profile import Profile
from groundwire.types import ClaimVerification
from groundwire.verify.backends import Backend


@dataclass(frozen=True, slots=True)
class Court:
    """Who judges: a backend to ask, a profile to judge by, and someone to take notes.

    `extractor` and `mapper` are models that take the answer apart and map claims to sources; without them
    rules do.
    """

    backend: Backend
    profile: Profile
    metrics: Metrics
    log_text: bool = False
    extractor: Generator | None = None
    mapper: Generator | None = None

    def record(self, verdicts: Sequence[ClaimVerification], response_id: str, seconds: float) -> None:
        """Count and log what was decided; no text goes into the log unless asked for."""
        self.metrics.verdicts(verdicts, self.backend.name)
        for verdict in verdicts:
            log_verdict(
                verdict,
                backend=self.backend.name,
                seconds=seconds / len(verdicts),
                response_id=response_id,
                source_text=self.log_text,
            )
