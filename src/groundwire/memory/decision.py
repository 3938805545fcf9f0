"""Decide what happens to a fact: stored as verified, unverified or pending, or rejected. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass

from groundwire.config import MemoryGateConfig
from groundwire.errors import BackendError, BackendTimeout, RateLimited
from groundwire.types import ClaimVerification, Estimate, FactStatus, Record, Status
from groundwire.verifiers.wrappers import as_error

UNCHECKED_FACTOR = 0.5
"""Multiplies the confidence of a fact that could not be checked."""
_UNCHECKED = "could not be checked: "


@dataclass(frozen=True, slots=True)
class Decision:
    """The status to store a fact with, or None to reject it.

    `reason` is set unless the fact was verified; `retry_after` is the wait in seconds a backend asked for.
    """

    status: FactStatus | None
    confidence: float
    reason: str = ""
    verdict: ClaimVerification | None = None
    retry_after: float | None = None

    @property
    def rejected(self) -> bool:
        return self.status is None

    @property
    def gap_bits(self) -> float | None:
        return self.verdict.budget_gap if self.verdict else None

    @property
    def record(self) -> Record | None:
        """The two probabilities and the observed bits, if they were measured."""
        found = self.verdict
        if found is None or found.p0 is None or found.p1 is None or found.observed_bits is None:
            return None
        return Record(found.p0, found.p1, found.observed_bits, found.method)


def verification_error(verdict: ClaimVerification) -> BackendError | None:
    """Return the error by which a claim was left unchecked; None if it was checked."""
    if verdict.status is not Status.UNCHECKED:
        return None
    return as_error(Estimate.failed(verdict.reason.removeprefix(_UNCHECKED)))


def decide(found: ClaimVerification | BackendError, stated: float, rules: MemoryGateConfig) -> Decision:
    """Decide by the verdict, or by the error if there is none."""
    if isinstance(found, BackendError):
        return decide_unchecked(found, stated, rules)
    failed = verification_error(found)
    return decide_unchecked(failed, stated, rules) if failed else decide_by_verdict(found, rules)


def decide_by_verdict(verdict: ClaimVerification, rules: MemoryGateConfig) -> Decision:
    adjusted = verdict.adjusted_confidence or 0.0
    reason = rejection_reason(verdict, adjusted, rules)
    if not reason:
        return Decision(FactStatus.VERIFIED, adjusted, verdict=verdict)
    # A contradicted fact is worse than an unsupported one: no setting admits it.
    if rules.reject_unsupported or verdict.status is Status.CONTRADICTED:
        return Decision(None, adjusted, reason, verdict)
    return Decision(FactStatus.UNVERIFIED, adjusted, reason, verdict)


def rejection_reason(verdict: ClaimVerification, adjusted: float, rules: MemoryGateConfig) -> str:
    """Return why a fact does not pass; empty if it does."""
    gap = verdict.budget_gap
    missing = "" if gap is None else f"{gap:.1f} bits of evidence are missing"
    if verdict.status is Status.CONTRADICTED:
        return f"the evidence contradicts it ({missing}): {verdict.reason}"
    if gap is None:
        return verdict.reason
    if gap > rules.threshold_bits:
        return f"{missing}, {rules.threshold_bits:g} allowed: {verdict.reason}"
    if adjusted < rules.min_confidence:
        return f"adjusted confidence {adjusted:.2f} is below {rules.min_confidence:g} ({missing})"
    return ""


def decide_unchecked(error: BackendError, stated: float, rules: MemoryGateConfig) -> Decision:
    """Decide on a fact the backend failed to check: unverified with half its confidence, or rejected."""
    if isinstance(error, RateLimited):
        return Decision(FactStatus.PENDING, stated * UNCHECKED_FACTOR, str(error), retry_after=error.retry_after)
    reason = f"not checked in time: {error}" if isinstance(error, BackendTimeout) else f"not checked: {error}"
    if rules.fail_closed:
        return Decision(None, stated * UNCHECKED_FACTOR, reason)
    return Decision(FactStatus.UNVERIFIED, stated * UNCHECKED_FACTOR, reason)
