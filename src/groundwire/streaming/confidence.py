"""How sure one may be of a claim, by what it rests on and how good that is.

>>> score(SourceType.FILE_CONTENT, 0.5)
0.4
"""

from __future__ import annotations

from dataclasses import dataclass

from groundwire.config.service import RealTimeConfig
from groundwire.errors import InputError
from groundwire.types import ClaimVerification, Status
from groundwire.types.realtime import Attribution, SourceType

BASE: dict[SourceType, float] = {
    SourceType.DIRECT_OBSERVATION: 0.9,
    SourceType.FILE_CONTENT: 0.8,
    SourceType.USER_STATEMENT: 0.7,
    SourceType.INFERENCE: 0.6,
    SourceType.NONE: 0.3,
}

_NOT_CHECKED = 0.5


@dataclass(frozen=True, slots=True)
class Scored:
    """A claim with its confidence; `potential_hallucination` where that lies below the threshold."""

    claim: str
    confidence: float
    potential_hallucination: bool


def score(kind: SourceType, quality: float = 1.0) -> float:
    """The base of the source's type times the quality of this very source."""
    if not 0.0 <= quality <= 1.0:
        raise InputError(f"a quality factor lies between 0 and 1, not at {quality}")
    return BASE[kind] * quality


def score_confidence(found: Attribution, config: RealTimeConfig | None = None) -> Scored:
    """A source that could not be verified counts as none."""
    threshold = (config or RealTimeConfig()).hallucination_threshold
    kind = SourceType.NONE if found.reason else found.type
    confidence = score(kind, found.quality)
    return Scored(found.claim, confidence, confidence < threshold)


def quality_of(verdict: ClaimVerification) -> float:
    """How good the evidence of a verdict is: how likely it makes the claim; half where nobody could say."""
    if verdict.status is Status.UNCHECKED:
        return _NOT_CHECKED
    return 0.0 if verdict.status is Status.CONTRADICTED else min(1.0, max(0.0, verdict.p1 or 0.0))
