"""Profiles: named sets of thresholds that turn estimates into verdicts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from groundwire.config import Config

SCRUBBED = "[EVIDENCE REMOVED]"  # replaces evidence in the context of p0
REDACTED = "[REDACTED]"  # the same in the profile `rag`
MIN_CHARS, MAX_CLAIMS = 15, 10
"""Profile `rag`: minimum characters of a claim, and maximum number of claims; conventions of the chatbot."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The thresholds of a check.

    `threshold_bits`: largest budget gap of an accepted claim. `target`: confidence that a claim must reach.
    `min_chars`, `max_claims`: limits of the claims that are verified. `critical_bits`: budget gap above which
    a flagged claim is critical. `min_support`: p1 below which a claim is not entailed, however small its gap
    (a claim that is likely without evidence needs few bits, but must not pass for that reason alone).
    `risk_threshold`: if set, a response is flagged exactly if its risk exceeds it. `faithful`: what the
    verifier believes without the sources is supported only if a source says it.
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
    faithful: bool = True

    def floor(self, confidence: float) -> float:
        """The minimum p1 of a claim with this confidence; a hedged claim needs less."""
        return self.min_support * min(1.0, confidence / self.target) if self.target else 0.0


def profile_for(
    config: Config, backend_threshold_bits: float, min_support: float = 0.5, backend_risk_threshold: float | None = None
) -> Profile:
    """The configured profile.

    Args:
        backend_threshold_bits: the backend's calibrated threshold, used unless the configuration has its own.
        min_support: the backend's minimum p1.
        backend_risk_threshold: the backend's calibrated threshold of the response's risk, used by the profile
            `default` unless the configuration sets a threshold.
    """
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
        faithful=config.faithful,
    )
    if config.profile == "default" and own is None and config.risk_threshold is None:
        return replace(base, risk_threshold=backend_risk_threshold)
    if config.profile == "strict":
        return replace(base, threshold_bits=0.0 if own is None else own)
    if config.profile == "rag":
        return replace(base, marker=REDACTED, min_chars=MIN_CHARS, max_claims=MAX_CLAIMS)
    return base
