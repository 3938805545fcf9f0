"""A profile is the named set of choices that turns numbers into a verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace

from groundwire.config import Config

SCRUBBED = "[EVIDENCE REMOVED]"
REDACTED = "[REDACTED]"


@dataclass(frozen=True, slots=True)
class Profile:
    """`threshold_bits` is the gap a claim may have; `min_chars` and `max_claims` bound what is looked at."""

    name: str
    threshold_bits: float
    target: float
    marker: str = SCRUBBED
    min_chars: int = 0
    max_claims: int = 2000
    critical_bits: float = 2.0


def profile_for(config: Config, backend_threshold_bits: float) -> Profile:
    """The configured profile; `default` takes the operating point calibrated for the backend in use."""
    own = config.threshold_bits
    calibrated = backend_threshold_bits if own is None else own
    base = Profile(
        config.profile,
        calibrated,
        config.target,
        max_claims=config.limits.max_claims,
        critical_bits=config.verification.gap_threshold_bits,
    )
    if config.profile == "strict":
        return replace(base, threshold_bits=0.0 if own is None else own)
    if config.profile == "rag":
        return replace(base, marker=REDACTED, min_chars=15, max_claims=10)
    return base
