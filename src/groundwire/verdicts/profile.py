"""A profile is the named set of choices that turns numbers into a verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace

from groundwire.config import Config

SCRUBBED = "[EVIDENCE REMOVED]"
REDACTED = "[REDACTED]"
MIN_CHARS, MAX_CLAIMS = 15, 10
"""What the profile `rag` looks at: claims of so many characters, and so many of them."""


@dataclass(frozen=True, slots=True)
class Profile:
    """`threshold_bits` is the gap a claim may have; `min_chars` and `max_claims` bound what is looked at.

    `min_support` is the p1 below which a claim is not entailed however small its gap: a claim that is half
    believed without any evidence needs few bits, and must not pass for want of a need.
    `risk_threshold`, where set, alone decides whether a response is flagged: when its risk exceeds it.
    """

    name: str
    threshold_bits: float
    target: float
    marker: str = SCRUBBED
    min_chars: int = 0
    max_claims: int = 2000
    critical_bits: float = 2.0
    min_support: float = 0.5
    risk_threshold: float | None = None

    def floor(self, confidence: float) -> float:
        """The least p1 for a claim of this confidence: who claims less needs less."""
        return self.min_support * min(1.0, confidence / self.target) if self.target else 0.0


def profile_for(
    config: Config,
    backend_threshold_bits: float,
    min_support: float = 0.5,
    backend_risk_threshold: float | None = None,
) -> Profile:
    """The configured profile; `default` takes the operating point calibrated for the backend in use."""
    own = config.threshold_bits
    calibrated = backend_threshold_bits if own is None else own
    base = Profile(
        config.profile,
        calibrated,
        config.target,
        max_claims=config.limits.max_claims,
        critical_bits=config.verification.gap_threshold_bits,
        min_support=min_support,
        risk_threshold=config.risk_threshold,
    )
    if config.profile == "default" and own is None and config.risk_threshold is None:
        return replace(base, risk_threshold=backend_risk_threshold)
    if config.profile == "strict":
        return replace(base, threshold_bits=0.0 if own is None else own)
    if config.profile == "rag":
        return replace(base, marker=REDACTED, min_chars=MIN_CHARS, max_claims=MAX_CLAIMS)
    return base
