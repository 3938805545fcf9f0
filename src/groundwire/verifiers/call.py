"""The two calls of a plain backend interface, over the one protocol."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.types import Query, Verifier
from groundwire.verifiers.wrappers import as_error, matched


async def estimate_probability(verifier: Verifier, claim: str, context: str) -> float:
    """P(claim | context). Raises the `BackendError` behind a failed estimate."""
    return (await batch_estimate(verifier, [claim], context))[0]


async def batch_estimate(verifier: Verifier, claims: Sequence[str], context: str) -> list[float]:
    """P(claim | context) for each claim, all in one call."""
    estimates = matched(await verifier.estimate([Query(claim, context) for claim in claims]), len(claims))
    for estimate in estimates:
        if estimate.error is not None:
            raise as_error(estimate)
    return [estimate.p_yes for estimate in estimates]
