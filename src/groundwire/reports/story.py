"""What is wrong with an answer, in a few plain lines: for a failed test, an evaluator, a log."""

from __future__ import annotations

from collections.abc import Iterator

from groundwire.reports.quote import speaking
from groundwire.reports.terminal import number, short
from groundwire.types import ClaimVerification, Flag, HallucinationReport


def ungrounded(report: HallucinationReport) -> tuple[list[ClaimVerification], list[Flag]]:
    """Claims without evidence, and what the detectors found beyond them (against history or knowledge)."""
    claims = [claim for claim in report.claims if claim.is_flagged]
    beyond = [
        flag for flag in report.flags if not any(flag.start < c.end and c.start < flag.end for c in claims)
    ]
    return claims, beyond


def story(report: HallucinationReport, note: str = "") -> str:
    """Each claim that is not carried, what it lacks and the nearest evidence; `note` goes with the count."""
    claims, flags = ungrounded(report)
    bad = len(claims) + len(flags)
    beside = "; ".join(filter(None, (note, f"backend {report.backend}, profile {report.profile}")))
    lines = [f"{bad} of {max(report.total_claims, bad)} claims not grounded ({beside})"]
    for claim in claims:
        lines += ["", *_about(claim)]
    for flag in flags:
        lines += ["", f"  ✗ {short(flag.content)}", f"    {flag.type.value}: {short(flag.evidence)}"]
    if report.error:
        lines += ["", f"  could not check everything: {short(report.error)}"]
    return "\n".join(lines)


def _about(claim: ClaimVerification) -> Iterator[str]:
    """One claim as whoever has to mend it wants to see it."""
    yield f"  ✗ {short(claim.claim_text)}"
    yield f"    {claim.status.value}: {short(claim.reason)}"
    if claim.budget_gap is not None:
        yield (
            f"    p0 {number(claim.p0, 2)} → p1 {number(claim.p1, 2)} · "
            f"{number(claim.required_bits, 1)} bits required, {number(claim.observed_bits, 1)} observed: "
            f"{number(claim.budget_gap, 1)} missing"
        )
    ref = speaking(claim)
    if ref is not None:
        yield f"    nearest evidence [{short(ref.source)}]: {short(ref.text)}"
