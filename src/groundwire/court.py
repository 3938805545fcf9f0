"""Who takes part in a check: the backend that is asked, the profile that judges, the reader, the notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from groundwire.config import DetectorsConfig
from groundwire.llm.generator import Generator
from groundwire.metrics import Metrics, log_verdict
from groundwire.retrieval.gather import Evidence
from groundwire.types import Case, ClaimVerification, Detection, Source
from groundwire.verdicts.profile import Profile
from groundwire.verifiers.backends import Backend


@dataclass(frozen=True, slots=True)
class Court:
    """Who judges: a backend to ask, a profile to judge by, and someone to take notes.

    `extractor` and `mapper` are models that take the answer apart and map claims to sources, `reader` one
    that finds who does what in it for the detectors; without them rules do. `prepared` are sources that were
    indexed before: who checks a growing text against them reads them once.
    """

    backend: Backend
    profile: Profile
    metrics: Metrics
    log_text: bool = False
    extractor: Generator | None = None
    mapper: Generator | None = None
    reader: Generator | None = None
    detectors: DetectorsConfig = field(default_factory=DetectorsConfig)
    prepared: Evidence | None = None

    def evidence(self, sources: Sequence[Source]) -> Evidence:
        """The sources, indexed and rendered for this backend and profile."""
        if self.prepared is not None and self.prepared.index.sources == tuple(sources):
            return self.prepared
        return Evidence(sources, self.backend.context_tokens, self.profile.marker)

    async def detect(self, case: Case) -> Detection:
        """What knowledge, dialogue, time and logic say about the response."""
        from groundwire.detectors.detector import detect  # a plain check never pays for it

        return await detect(case, self.detectors, self.backend.verifier, self.reader)

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
