"""What becomes of a fact: kept, kept with doubt, put off or refused. Pure rules over what was found out."""

from __future__ import annotations

from dataclasses import dataclass

from groundwire.config import MemoryGateConfig
from groundwire.errors import BackendError, BackendTimeout, RateLimited
from groundwire.types import ClaimVerification, Estimate, FactStatus, Record, Status
from groundwire.verifiers.failure import as_error

DOUBT = 0.5
"""What a fact's confidence is multiplied by when nobody could check it."""
_UNCHECKED = "could not be checked: "


@dataclass(frozen=True, slots=True)
class Decision:
    """`status` None: refused. `reason` says why, wherever the fact was not simply verified.

    `retry_after` is how long a backend asked to be left alone.
    """

    status: FactStatus | None
    confidence: float
    reason: str = ""
    verdict: ClaimVerification | None = None
    retry_after: float | None = None

    @property
    def refused(self) -> bool:
        return self.status is None

    @property
    def gap_bits(self) -> float | None:
        return self.verdict.budget_gap if self.verdict else None

    @property
    def record(self) -> Record | None:
        """The two probabilities and the bits of evidence between them."""
        found = self.verdict
        if found is None or found.p0 is None or found.p1 is None or found.observed_bits is None:
            return None
        return Record(found.p0, found.p1, found.observed_bits, found.method)


def failure_of(verdict: ClaimVerification) -> BackendError | None:
    """Why a claim was not checked, as the error it was; None where it was."""
    if verdict.status is not Status.UNCHECKED:
        return None
    return as_error(Estimate.failed(verdict.reason.removeprefix(_UNCHECKED)))


def decide(found: ClaimVerification | BackendError, stated: float, rules: MemoryGateConfig) -> Decision:
    """By the verdict where there is one, else by why there is none."""
    if isinstance(found, BackendError):
        return undecided(found, stated, rules)
    failed = failure_of(found)
    return undecided(failed, stated, rules) if failed else by_verdict(found, rules)


def by_verdict(verdict: ClaimVerification, rules: MemoryGateConfig) -> Decision:
    adjusted = verdict.adjusted_confidence or 0.0
    reason = shortfall(verdict, adjusted, rules)
    if not reason:
        return Decision(FactStatus.VERIFIED, adjusted, verdict=verdict)
    # What the evidence denies is not merely unsupported: no setting lets it in.
    if rules.reject_unsupported or verdict.status is Status.CONTRADICTED:
        return Decision(None, adjusted, reason, verdict)
    return Decision(FactStatus.UNVERIFIED, adjusted, reason, verdict)


def shortfall(verdict: ClaimVerification, adjusted: float, rules: MemoryGateConfig) -> str:
    """What keeps a fact out, in words; empty where nothing does."""
    gap = verdict.budget_gap
    missing = "" if gap is None else f"{gap:.1f} bits of evidence are missing"
    if verdict.status is Status.CONTRADICTED:
        return f"the evidence contradicts it ({missing}): {verdict.reason}"
    if gap is None:
        return verdict.reason
    if gap > rules.threshold_bits:
        return f"{missing}, {rules.threshold_bits:g} may be: {verdict.reason}"
    if adjusted < rules.min_confidence:
        return f"its confidence would be {adjusted:.2f}, less than {rules.min_confidence:g} ({missing})"
    return ""


def undecided(error: BackendError, stated: float, rules: MemoryGateConfig) -> Decision:
    """Nobody could check it. Never lost, never fully believed; or refused, where that was asked for."""
    if isinstance(error, RateLimited):
        return Decision(FactStatus.PENDING, stated * DOUBT, str(error), retry_after=error.retry_after)
    reason = f"not checked in time: {error}" if isinstance(error, BackendTimeout) else f"not checked: {error}"
    if rules.fail_closed:
        return Decision(None, stated * DOUBT, reason)
    return Decision(FactStatus.UNVERIFIED, stated * DOUBT, reason)
