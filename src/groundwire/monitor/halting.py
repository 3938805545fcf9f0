"""When a verdict may stop a stream: the evidence says otherwise, and clearly so. Lack of support never does.

A stop costs the reader a true answer where it is wrong, so the bar is higher than for a flag. On supported
RAGTruth answers `groundwire bench streams` prints how often it is passed for nothing.
"""

from __future__ import annotations

from groundwire.types import ClaimVerification, Status


def halts(verdict: ClaimVerification, threshold: float) -> bool:
    """Whether the claim is contradicted by evidence so surely that going on makes no sense."""
    contradicted = verdict.status is Status.CONTRADICTED and verdict.is_flagged and verdict.certain
    return contradicted and verdict.p1 is not None and 1.0 - verdict.p1 >= threshold
