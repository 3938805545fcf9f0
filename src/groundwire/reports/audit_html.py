"""The audit of a trace as one self-contained page."""

from __future__ import annotations

from groundwire.reports.audit import answer_line, verdict_line
from groundwire.reports.html import bits
from groundwire.reports.marks import safe
from groundwire.reports.page import page
from groundwire.types import Derived, PostHoc, StepVerdict, TraceAudit

_MOOD = {Derived.YES: "ENTAILED", Derived.NO: "CONTRADICTED", Derived.UNCHECKED: "UNCHECKED"}


def audit_page(audit: TraceAudit, title: str = "groundwire audit") -> str:
    question = (
        f'<section class="answer" dir="auto">{safe(audit.question)}</section>' if audit.question else ""
    )
    steps = (_step(step) for step in audit.steps)
    return page(title, _summary(audit), question, "<h2>Steps</h2>", *steps, _answer(audit.post_hoc))


def _summary(audit: TraceAudit) -> str:
    mood = "warn" if audit.flagged is None else "bad" if audit.flagged else "good"
    answer = f" · {answer_line(audit.post_hoc)}" if answer_line(audit.post_hoc) else ""
    error = f"<br>{safe(audit.error)}" if audit.error else ""
    return (
        f'<p class="sum"><b class="{mood}">{verdict_line(audit)}</b>{answer}'
        f" · backend {safe(audit.backend)}{error}</p>"
    )


def _step(step: StepVerdict) -> str:
    verdict = step.verdict
    notes = [
        f"{words} {safe(', '.join(names))}"
        for words, names in (
            ("cites", step.step.cites),
            ("rests on", step.premises),
            ("contradicts", step.contradicts),
            ("rests in a ring on", step.circular),
        )
        if names
    ]
    kind = f" · {verdict.gap_type.value.replace('_', ' ')}" if verdict.gap_type else ""
    told = "".join(f" · {note}" for note in notes)
    return f"""<article class="{step.status.value}" id="{safe(step.step.id)}">
<p class="status">{safe(step.step.id)} {step.status.value.replace("_", " ")}{kind}{told}</p>
<p dir="auto">{safe(step.step.text)}</p>
{bits(verdict)}{_quotes(step)}
<p><i>{safe(verdict.reason)}</i></p>
</article>"""


def _quotes(step: StepVerdict) -> str:
    return "".join(
        f'<blockquote dir="auto"><b>{safe(ref.source)}</b> {safe(ref.text)}</blockquote>'
        for ref in step.verdict.evidence
    )


def _answer(found: PostHoc) -> str:
    if found.outcome is Derived.ABSENT:
        return ""
    own = f'<blockquote dir="auto">{safe(found.derived_answer)}</blockquote>' if found.derived_answer else ""
    by = f"<p><small>derived anew by {safe(found.executor)}</small></p>" if found.executor else ""
    return f"""<h2>Answer</h2>
<article class="{_MOOD[found.outcome]}">
<p class="status">{answer_line(found)}</p>
<p dir="auto">{safe(found.answer)}</p>
{own}<p><i>{safe(found.reason)}</i></p>
{by}</article>"""
