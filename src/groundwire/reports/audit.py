"""The audit of a trace as JSON and on a terminal."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groundwire.reports.json import DIGITS, claim_object
from groundwire.reports.terminal import STYLE, TABLE_WIDTH, number, short
from groundwire.types import Derived, PostHoc, StepVerdict, TraceAudit

_OUTCOME_STYLE = {
    Derived.YES: "green",
    Derived.NO: "bold red",
    Derived.UNCHECKED: "yellow",
    Derived.ABSENT: "dim",
}
_WORDS = {
    Derived.YES: "follows from the steps",
    Derived.NO: "does not follow from the steps",
    Derived.UNCHECKED: "could not be derived anew",
    Derived.ABSENT: "no answer given",
}


def audit_object(audit: TraceAudit) -> dict[str, Any]:
    return {
        "flagged": audit.flagged,
        "question": audit.question,
        "backend": audit.backend,
        "steps": [_step_object(step) for step in audit.steps],
        "post_hoc": _post_hoc_object(audit.post_hoc),
        "error": audit.error,
    }


def _step_object(step: StepVerdict) -> dict[str, Any]:
    return {
        **claim_object(step.verdict),
        "id": step.step.id,
        "cites": list(step.step.cites),
        "premises": list(step.premises),
        "contradicts": list(step.contradicts),
        "circular": list(step.circular),
    }


def _post_hoc_object(found: PostHoc) -> dict[str, Any]:
    return {
        "outcome": found.outcome.value,
        "answer": found.answer,
        "derived_answer": found.derived_answer,
        "executor": found.executor,
        "agreement": None if found.agreement is None else round(found.agreement, DIGITS),
        "reason": found.reason,
    }


def audit_json(audit: TraceAudit) -> str:
    return json.dumps(audit_object(audit), ensure_ascii=False, indent=2)


def flagged_steps(audit: TraceAudit) -> int:
    return sum(is_bad(step) for step in audit.steps)


def is_bad(step: StepVerdict) -> bool:
    return bool(step.verdict.is_flagged or step.contradicts or step.circular)


def verdict_line(audit: TraceAudit) -> str:
    return f"{flagged_steps(audit)} of {len(audit.steps)} steps flagged"


def answer_line(found: PostHoc) -> str:
    """What became of the answer, in one line; empty where there was none."""
    return "" if found.outcome is Derived.ABSENT else f"the answer {_WORDS[found.outcome]}"


def show_audit(audit: TraceAudit, console: Console) -> None:
    """A row a step, then the answer and who derived it anew, then the sum of it."""
    if audit.question:
        console.print(Text(short(audit.question), style="bold"))
        console.print()
    console.print(_table(audit) if console.width >= TABLE_WIDTH else Group(*(_block(s) for s in audit.steps)))
    if audit.post_hoc.outcome is not Derived.ABSENT:
        console.print(_answer(audit.post_hoc))
        console.print()
    console.print(_sum(audit))


def _table(audit: TraceAudit) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold", expand=False)
    for name in ("step", "status"):
        table.add_column(name, no_wrap=True)
    for name in ("p1", "gap"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("rests on", overflow="fold", max_width=18)
    table.add_column("what it says, and why", overflow="fold", ratio=1)
    for step in audit.steps:
        gap = Text(number(step.verdict.budget_gap, 1), style="red" if is_bad(step) else "green")
        table.add_row(
            short(step.step.id),
            Text(step.status.value, style=STYLE[step.status]),
            number(step.verdict.p1, 2),
            gap,
            Text(_rests(step) or "–"),
            Padding(Group(*_story(step)), (0, 0, 1, 0)),
        )
    return table


def _block(step: StepVerdict) -> RenderableType:
    """What a table's row says, for a narrow terminal."""
    head = Text(f"{short(step.step.id)}  ").append(step.status.value, style=STYLE[step.status])
    if _rests(step):
        head.append(f"  rests on {_rests(step)}")
    return Group(head, Padding(Group(*_story(step)), (0, 0, 1, 4)))


def _rests(step: StepVerdict) -> str:
    return short(", ".join(dict.fromkeys((*step.step.cites, *step.premises))))


def _story(step: StepVerdict) -> list[RenderableType]:
    lines: list[RenderableType] = [Text(short(step.step.text))]
    lines.append(Text(short(step.verdict.reason), style="red" if step.verdict.is_flagged else "dim"))
    if step.contradicts and "contradicts" not in step.verdict.reason:
        lines.append(Text(short(f"contradicts {', '.join(step.contradicts)}"), style="red"))
    return lines


def _answer(found: PostHoc) -> Text:
    text = Text(f"answer: {short(found.answer)}\n")
    text.append(answer_line(found), style=_OUTCOME_STYLE[found.outcome])
    text.append(f": {short(found.reason)}")
    if found.executor:
        own = f", which arrived at: {short(found.derived_answer)}" if found.derived_answer else ""
        text.append(f"\nderived anew by {short(found.executor)}{own}", style="dim")
    return text


def _sum(audit: TraceAudit) -> Text:
    style = "bold green" if audit.flagged is False else "bold red" if audit.flagged else "bold yellow"
    text = Text(verdict_line(audit), style=style)
    if audit.post_hoc.outcome is Derived.NO:
        text.append(f" · {answer_line(audit.post_hoc)}", style="bold red")
    text.append(f" · backend {audit.backend}", style="dim")
    if audit.error:
        text.append(f"\n{short(audit.error)}", style="yellow")
    return text
