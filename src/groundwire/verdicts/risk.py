"""How risky a claim and a response are, and the dial that sets where a risk becomes a flag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import pow, prod

from groundwire.types import ClaimVerification, GapType, Status


def claim_risk(verdict: ClaimVerification) -> float:
    """How likely the claim is unsupported. Claims without an estimate and vague ones have no risk."""
    if verdict.gap_type is GapType.PHANTOM_CITATION:
        return 1.0
    if verdict.p1 is None or verdict.status is Status.UNVERIFIABLE:
        return 0.0
    return 1.0 - verdict.p1


WORST = 3
"""Claims that decide a response's risk. On held-out answers 2 to 6 made no difference."""


def with_odds(p_yes: float, claims: int) -> float:
    """P(supported) of a claim in a response of so many claims.

    A claim's own P(yes) takes it to be as likely right as wrong before any evidence. A whole response is taken to be
    as likely right as wrong whatever its length, so each claim of a long one is more likely right than one alone.

    >>> [round(with_odds(0.5, claims), 2) for claims in (1, 2, 8)]
    [0.5, 0.71, 0.92]
    """
    share = pow(0.5, 1 / max(1, claims))
    odds = share / (1.0 - share)
    return odds * p_yes / (1.0 + (odds - 1.0) * p_yes)


def response_risk(claims: Sequence[ClaimVerification]) -> float:
    """How likely one of the riskiest claims is unsupported, each taken by itself.

    Only the worst few count: many claims that are each a little doubtful do not make a wrong answer.
    """
    count = sum(claim.p1 is not None for claim in claims)
    worst = sorted((claim_risk(c) for c in claims), reverse=True)[:WORST]
    return 1.0 - prod(with_odds(1.0 - risk, count) for risk in worst)


def apply_response_threshold(verdicts: Sequence[ClaimVerification], threshold: float | None) -> list[ClaimVerification]:
    """The flags as a `risk_threshold` sets them: there are some exactly where the response's risk exceeds it.

    The risk does not depend on the dial: that is what lets a threshold chosen on labelled rows keep its
    promise on new ones. Which claims are flagged stays with the judgement; if none, then the riskiest.
    """
    if threshold is None:
        return list(verdicts)
    if response_risk(verdicts) <= threshold:
        return [_cleared(v, threshold) if v.is_flagged else v for v in verdicts]
    if any(v.is_flagged for v in verdicts):
        return list(verdicts)
    worst = max(verdicts, key=claim_risk)
    return [_doubted(v, threshold) if v is worst else v for v in verdicts]


def _cleared(verdict: ClaimVerification, threshold: float) -> ClaimVerification:
    reason = f"{verdict.reason} (not flagged: the answer's risk is within the risk_threshold of {threshold:g})"
    return replace(verdict, is_flagged=False, reason=reason, spans=())


def _doubted(verdict: ClaimVerification, threshold: float) -> ClaimVerification:
    return replace(
        verdict,
        status=Status.NOT_IN_CONTEXT,
        gap_type=GapType.PARTIAL_SUPPORT,
        is_flagged=True,
        reason=f"the least supported claim of an answer whose risk is over the risk_threshold of {threshold:g}",
    )
