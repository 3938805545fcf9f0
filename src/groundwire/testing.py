"""`assert_grounded`: a test that fails when an answer says what its sources do not carry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

if TYPE_CHECKING:
    from groundwire.api import Further
    from groundwire.engine import Sources
    from groundwire.types import ClaimVerification, Flag, HallucinationReport

__all__ = ["assert_grounded"]


def assert_grounded(
    answer: str,
    sources: Sources = (),
    *,
    question: str = "",
    max_flagged: int = 0,
    **options: Unpack[Further],
) -> HallucinationReport:
    """Fail where more than `max_flagged` claims of an answer are not carried by its sources.

    `options` are those of `groundwire.check` (target, profile, backend, config, history, kb, now). Where a
    claim could not be checked at all, that is a `BackendError` and no passed test. Returns the report.
    """
    __tracebackhide__ = True  # the failure is the caller's line, not ours
    from groundwire.api import check
    from groundwire.errors import BackendError

    report = check(answer, sources, question=question, **options)
    flagged, flags = _flagged(report)
    if len(flagged) + len(flags) > max_flagged:
        raise AssertionError("\n".join(_story(report, max_flagged)))
    if report.error:
        raise BackendError(f"not everything could be checked: {report.error}")
    return report


def _flagged(report: HallucinationReport) -> tuple[list[ClaimVerification], list[Flag]]:
    """Claims without evidence, and what the detectors found beyond them (against history or knowledge)."""
    claims = [claim for claim in report.claims if claim.is_flagged]
    beyond = [
        flag for flag in report.flags if not any(flag.start < c.end and c.start < flag.end for c in claims)
    ]
    return claims, beyond


def _story(report: HallucinationReport, allowed: int) -> Iterator[str]:
    from groundwire.report.terminal import short

    claims, flags = _flagged(report)
    of = f"{len(claims) + len(flags)} of {max(report.total_claims, len(claims) + len(flags))} claims"
    yield f"{of} not grounded (allowed: {allowed}; backend {report.backend}, profile {report.profile})"
    for claim in claims:
        yield from ("", *_about(claim))
    for flag in flags:
        yield from ("", f"  ✗ {short(flag.content)}", f"    {flag.type.value}: {short(flag.evidence)}")
    if report.error:
        yield from ("", f"  {short(report.error)}")


def _about(claim: ClaimVerification) -> Iterator[str]:
    """One claim as whoever has to mend it wants to see it."""
    from groundwire.report.terminal import number, short

    yield f"  ✗ {short(claim.claim_text)}"
    yield f"    {claim.status.value}: {short(claim.reason)}"
    if claim.budget_gap is not None:
        yield (
            f"    p0 {number(claim.p0, 2)} → p1 {number(claim.p1, 2)} · "
            f"{number(claim.required_bits, 1)} bits required, {number(claim.observed_bits, 1)} observed: "
            f"{number(claim.budget_gap, 1)} missing"
        )
    for ref in claim.evidence[:1]:
        yield f"    nearest evidence [{short(ref.source)}]: {short(ref.text)}"
