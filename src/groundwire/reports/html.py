"""The report as one self-contained page."""

from __future__ import annotations

from groundwire.reports.flags import counts, flags_html, repair_html
from groundwire.reports.marks import opinion, pieces, safe
from groundwire.reports.page import page
from groundwire.types import ClaimVerification, HallucinationReport

_SKIPPED = "<h2>Not checked, since they claim nothing</h2>"
_NO_CLAIMS = "<p>No claim of the answer was checked against a source.</p>"


def to_html(report: HallucinationReport, title: str = "groundwire report") -> str:
    skipped = "\n".join(
        f'<li dir="auto">{safe(claim.text)} <small>({claim.kind.value})</small></li>'
        for claim in report.skipped
    )
    return page(
        title,
        _summary(report),
        f'<section class="answer" dir="auto" aria-label="The answer">{_answer(report)}</section>',
        "<h2>Claims</h2>",
        *([_claim(claim) for claim in report.claims] or [_NO_CLAIMS]),
        f'{_SKIPPED}<ul class="skipped">{skipped}</ul>' if skipped else "",
        flags_html(report),
        repair_html(report),
    )


def _summary(report: HallucinationReport) -> str:
    mood = "warn" if report.flagged is None else "bad" if report.flagged else "good"
    error = f"<br>{safe(report.error)}" if report.error else ""
    figures = "risk unknown" if report.risk is None else f"risk {report.risk:.2f}"
    if report.grounding_ratio is not None:
        figures += f" · grounded {report.grounding_ratio:.0%}"
    return (
        f'<p class="sum"><b class="{mood}">{" · ".join(counts(report))}</b>'
        f" · {figures} · backend {safe(report.backend)} · profile {safe(report.profile)}{error}</p>"
    )


def _answer(report: HallucinationReport) -> str:
    return "".join(
        f"<mark>{safe(piece.text)}</mark>" if piece.marked else safe(piece.text)
        for piece in pieces(report.response, report.spans)
    )


def _claim(claim: ClaimVerification) -> str:
    quotes = "".join(
        f'<blockquote dir="auto"><b>{safe(ref.source)}</b> {safe(ref.text)}</blockquote>'
        for ref in claim.evidence
    )
    cites = f" · cites {safe(', '.join(claim.citations))}" if claim.citations else ""
    kind = f" · {claim.gap_type.value.replace('_', ' ')}" if claim.gap_type else ""
    return f"""<article class="{claim.status.value}" id="{safe(claim.claim_id)}">
<p class="status">{safe(claim.claim_id)} {claim.status.value.replace("_", " ")}{kind}{cites}</p>
<p dir="auto">{safe(claim.claim_text)}</p>
{bits(claim)}{quotes}
<p><i>{safe(claim.reason)}</i></p>
{_opinion(claim)}</article>"""


def _opinion(claim: ClaimVerification) -> str:
    """What a user said of it; without that, the name under which it can be said."""
    if claim.feedback:
        return f'<p class="feedback">{safe(opinion(claim.feedback))}</p>'
    return f'<p class="key">{claim.key}</p>'


def bits(claim: ClaimVerification) -> str:
    if claim.p1 is None or claim.p0 is None:
        return ""
    return (
        f"{_scale(claim)}"
        f'<p class="bits">needs {claim.required_bits:.2f} bits · evidence brings {claim.observed_bits:+.2f}'
        f" · gap {claim.budget_gap:+.2f}</p>"
    )


def _scale(claim: ClaimVerification) -> str:
    """A line from 0 to 1 with the way from p0 to p1 on it, and the target as a mark."""
    p0, p1, target = claim.p0 or 0.0, claim.p1 or 0.0, claim.confidence
    a, b, t = (30 + 540 * p for p in (p0, p1, target))
    colour = "var(--bad)" if claim.is_flagged else "var(--good)"
    return (
        '<svg class="scale" viewBox="0 0 600 46" preserveAspectRatio="xMinYMid" role="img" '
        f'aria-label="p0 {p0:.2f}, p1 {p1:.2f}, target {target:.2f}">'
        '<line x1="30" x2="570" y1="23" y2="23" stroke="var(--line)" stroke-width="3"/>'
        f'<line x1="{a:.0f}" x2="{b:.0f}" y1="23" y2="23" stroke="{colour}" stroke-width="5"/>'
        f'<line x1="{t:.0f}" x2="{t:.0f}" y1="14" y2="32" stroke="var(--ink)" stroke-width="2"/>'
        f'<circle cx="{a:.0f}" cy="23" r="4" fill="var(--soft)"/>'
        f'<circle cx="{b:.0f}" cy="23" r="6" fill="{colour}"/>'
        f'<text x="{a:.0f}" y="43" text-anchor="middle">p0 {p0:.2f}</text>'
        f'<text x="{b:.0f}" y="10" text-anchor="middle">p1 {p1:.2f}</text></svg>'
    )
