"""How results look in a notebook: small tables with their style inside, since notebooks drop style sheets.

Loading this module gives the results their `_repr_html_`. Text of users never becomes markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from groundwire.reports.marks import opinion, pieces, safe
from groundwire.reports.quote import speaking
from groundwire.types import (
    ClaimVerification,
    Derived,
    Detection,
    Flag,
    HallucinationReport,
    Span,
    Status,
    StepVerdict,
    TraceAudit,
)
from groundwire.types.shown import as_html

_GOOD, _BAD, _WARN = "#2e9e62", "#d8463c", "#b88400"
_COLOUR = {
    Status.ENTAILED: _GOOD,
    Status.CONTRADICTED: _BAD,
    Status.NOT_IN_CONTEXT: _BAD,
    Status.UNVERIFIABLE: _WARN,
    Status.UNCHECKED: _WARN,
}
_CELL = "text-align:left;vertical-align:top;padding:.25em .75em .25em 0"
_NUMBER = f"{_CELL};text-align:right;font-variant-numeric:tabular-nums"
_FIGURES = ("p1", "p0", "need", "seen", "gap", "confidence")
_SOFT = "opacity:.7"
_MARK = f"background:rgba(216,70,60,.18);color:inherit;border-bottom:2px solid {_BAD}"
_MOST = 2000
"""Characters of one text: a notebook keeps what it shows."""


@as_html.register
def report_html(report: HallucinationReport) -> str:
    what = f"{report.flagged_claims} of {report.total_claims} claims flagged"
    colour = _WARN if report.flagged is None else _BAD if report.flagged else _GOOD
    risk = "unknown" if report.risk is None else f"{report.risk:.2f}"
    facts = f"risk {risk} · backend {safe(report.backend)} · profile {safe(report.profile)}"
    error = f'<div style="color:{_WARN}">{_short(report.error)}</div>' if report.error else ""
    return _box(
        f'<div dir="auto" style="white-space:pre-wrap">{_marked(report.response, report.spans)}</div>',
        _claims(report.claims) if report.claims else "",
        _flags(report.flags) if report.flags else "",
        f'<div><b style="color:{colour}">{what}</b> <span style="{_SOFT}">· {facts}</span></div>{error}',
    )


@as_html.register
def claim_html(claim: ClaimVerification) -> str:
    return _box(_claims([claim]))


@as_html.register
def audit_html(audit: TraceAudit) -> str:
    rows = (_row(_step(step)) for step in audit.steps)
    error = f'<div style="color:{_WARN}">{_short(audit.error)}</div>' if audit.error else ""
    return _box(
        f"<div><b>{_short(audit.question)}</b></div>" if audit.question else "",
        _table(("step", "status", "gap", "what it says, and why"), rows),
        _post_hoc(audit),
        f'<div style="{_SOFT}">backend {safe(audit.backend)}</div>{error}',
    )


@as_html.register
def detection_html(detection: Detection) -> str:
    looked = f"{detection.claims_checked} claims and {detection.entities_verified} entities looked at"
    beside = f" · not asked: {safe(', '.join(detection.skipped))}" if detection.skipped else ""
    errors = "".join(f'<div style="color:{_WARN}">{_short(words)}</div>' for words in detection.errors)
    found = _flags(detection.flags) if detection.flags else f'<div style="color:{_GOOD}">nothing found</div>'
    return _box(found, f'<div style="{_SOFT}">{looked}{beside}</div>{errors}')


def _claims(claims: Sequence[ClaimVerification]) -> str:
    heads = ("", "status", "p1", "p0", "need", "seen", "gap", "cites", "claim, evidence, reason")
    return _table(heads, (_row(_claim(claim)) for claim in claims))


def _claim(claim: ClaimVerification) -> list[str]:
    bits = (claim.required_bits, claim.observed_bits, claim.budget_gap)
    numbers = [_number(claim.p1, 2), _number(claim.p0, 2), *(_number(value, 1) for value in bits)]
    return [
        _cell(safe(claim.claim_id)),
        _status(claim.status),
        *numbers,
        _cell(_short(", ".join(claim.citations)) or "–"),
        _cell(_story(claim)),
    ]


def _story(claim: ClaimVerification) -> str:
    lines = [_short(claim.claim_text)]
    lines += [
        f'<span style="{_SOFT}">{_short(ref.source)}: “{_short(ref.text)}”</span>'
        for ref in (speaking(claim),)
        if ref is not None
    ]
    lines.append(f'<i style="{_SOFT}">{_short(claim.reason)}</i>')
    if claim.feedback:
        lines.append(f'<span style="color:{_WARN}">{_short(opinion(claim.feedback))}</span>')
    return "<br>".join(lines)


def _step(step: StepVerdict) -> list[str]:
    lines = [_short(step.step.text), f'<i style="{_SOFT}">{_short(step.verdict.reason)}</i>']
    for names, words in ((step.contradicts, "contradicts"), (step.circular, "rests in a ring on")):
        if names:
            lines.append(f'<span style="color:{_BAD}">{words} {_short(", ".join(names))}</span>')
    gap = _number(step.verdict.budget_gap, 1)
    return [_cell(safe(step.step.id)), _status(step.status), gap, _cell("<br>".join(lines))]


def _post_hoc(audit: TraceAudit) -> str:
    found = audit.post_hoc
    if found.outcome is Derived.ABSENT:
        return ""
    colour = {Derived.YES: _GOOD, Derived.NO: _BAD}.get(found.outcome, _WARN)
    derived = f" · from the steps alone: {_short(found.derived_answer)}" if found.derived_answer else ""
    return (
        f'<div><b style="color:{colour}">{found.outcome.value}</b> answer: {_short(found.answer)}{derived}'
        f' <i style="{_SOFT}">{_short(found.reason)}</i></div>'
    )


def _flags(flags: Iterable[Flag]) -> str:
    return _table(("type", "confidence", "what, why, what to do"), (_row(_flag(flag)) for flag in flags))


def _flag(flag: Flag) -> list[str]:
    lines = [_short(flag.content)]
    why = (flag.type.description, flag.evidence, flag.suggestion)
    lines += [f'<span style="{_SOFT}">{_short(words)}</span>' for words in why if words]
    kind = _cell(f'<span style="color:{_BAD}">{flag.type.value}</span>')
    return [kind, _number(flag.confidence, 2), _cell("<br>".join(lines))]


def _marked(text: str, spans: Sequence[Span]) -> str:
    shown = "".join(
        f'<mark style="{_MARK}">{safe(piece.text)}</mark>' if piece.marked else safe(piece.text)
        for piece in pieces(text[:_MOST], [span for span in spans if span.end <= _MOST])
    )
    return shown + ("…" if len(text) > _MOST else "")


def _short(text: str) -> str:
    one = " ".join(text[:_MOST].split())
    return safe(one) + ("…" if len(text) > _MOST else "")


def _status(status: Status) -> str:
    return _cell(f'<span style="color:{_COLOUR[status]}">{status.value}</span>')


def _number(value: float | None, digits: int) -> str:
    shown = "–" if value is None else f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")
    return f'<td style="{_NUMBER}">{shown}</td>'


def _cell(inside: str) -> str:
    return f'<td dir="auto" style="{_CELL}">{inside}</td>'


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _table(heads: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f'<th style="{_NUMBER if name in _FIGURES else _CELL}">{name}</th>' for name in heads)
    body = "".join(rows)
    style = "border-collapse:collapse;margin:.5em 0"
    return f'<table style="{style}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _box(*parts: str) -> str:
    return f'<div style="max-width:70em">{"".join(parts)}</div>'
