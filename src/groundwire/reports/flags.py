"""What the knowledge detectors found and what was done about it: as JSON, as text and as a page."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire.reports.marks import clean, safe
from groundwire.types import Action, ActionKind, Edit, Flag, HallucinationReport, Repair

_WIDTH = 160
_NOTHING_LEFT = "(nothing is left of it)"


def detection_object(report: HallucinationReport) -> dict[str, Any]:
    """The keys a report has where the detectors were asked, and where its answer was repaired."""
    found: dict[str, Any] = {}
    if report.detection is not None:
        found["flags"] = [flag_object(flag) for flag in report.flags]
        found["detectors_skipped"] = list(report.detection.skipped)
    if report.repair is not None:
        found["repair"] = repair_object(report.repair)
    return found


def counts(report: HallucinationReport) -> list[str]:
    """How much was flagged, by whom; nobody is counted who had nothing to go by."""
    said = [f"{report.flagged_claims} of {report.total_claims} claims flagged"]
    if report.detection is None:
        return said
    found = f"{len(report.flags)} detector {'flag' if len(report.flags) == 1 else 'flags'}"
    return [*said, found] if report.claims else [found]


def flag_object(flag: Flag) -> dict[str, Any]:
    return {
        "type": flag.type.value,
        "start": flag.start,
        "end": flag.end,
        "content": flag.content,
        "confidence": round(flag.confidence, 4),
        "score": None if flag.score is None else round(flag.score, 4),
        "severity": flag.severity,
        "description": flag.type.description,
        "suggestion": flag.suggestion,
        "evidence": flag.evidence,
        "correction": flag.correction or None,
        "source": flag.source or None,
        "contradiction": flag.contradiction.value if flag.contradiction else None,
    }


def repair_object(repair: Repair) -> dict[str, Any]:
    return {
        "text": repair.text,
        "actions": [action_object(action) for action in repair.actions],
        "edits": [_edit(edit) for edit in repair.edits],
        "guidance": repair.guidance or None,
    }


def action_object(action: Action) -> dict[str, Any]:
    kept = {
        "original": action.original,
        "replacement": action.replacement,
        "annotation": action.annotation,
        "reason": action.reason,
        "source": action.source,
        "guidance": action.guidance,
    }
    given = {name: value for name, value in kept.items() if value}
    return {"type": action.kind.value, "start": action.start, "end": action.end, **given}


def _edit(edit: Edit) -> dict[str, Any]:
    return {
        "start": edit.start,
        "end": edit.end,
        "new_start": edit.new_start,
        "new_end": edit.new_end,
        "before": edit.before,
        "after": edit.after,
    }


def show_flags(report: HallucinationReport, console: Console) -> None:
    """A flag a paragraph; nothing where nobody was asked."""
    for flag in report.flags:
        console.print(
            Text(f"{flag.type.value} {flag.confidence:.2f}  ", style="bold red").append(
                _line(flag.content), style="not bold default"
            )
        )
        for words in (flag.type.description, flag.evidence, flag.suggestion):
            if words:
                console.print(Text(f"    {_line(words)}", style="dim"))
    if report.flags:
        console.print()


def show_repair(repair: Repair, diff: str, console: Console) -> None:
    """The repaired answer and what changed; or why it was not repaired."""
    whole = _instead(repair)
    for words in whole:
        console.print(Text(clean(words), style="yellow"))
    if repair.edits:
        console.print(Text("\nThe repaired answer", style="bold"))
        console.print(Text(clean(repair.text.strip() or _NOTHING_LEFT)))
        console.print()
        for line in clean(diff).splitlines():
            console.print(Text(line, style=_COLOURS.get(line[:1], "")))
    elif not whole:
        console.print(Text("There is nothing to repair.", style="green"))


_COLOURS = {"-": "red", "+": "green", "@": "dim"}


def flags_html(report: HallucinationReport) -> str:
    if report.detection is None:
        return ""
    items = "\n".join(_flag_html(flag) for flag in report.flags)
    return f"<h2>Knowledge, dialogue, time and logic</h2>\n{items or '<p>Nothing was found.</p>'}"


def _flag_html(flag: Flag) -> str:
    lines = "".join(f'<p dir="auto">{safe(words)}</p>' for words in (flag.evidence, flag.suggestion) if words)
    return f"""<article class="CONTRADICTED">
<p class="status">{flag.type.value} · confidence {flag.confidence:.2f}</p>
<p dir="auto">{safe(flag.content)}</p>
<p><i>{safe(flag.type.description)}</i></p>{lines}
</article>"""


def repair_html(report: HallucinationReport) -> str:
    """What `show_repair` says, but for the diff."""
    if report.repair is None:
        return ""
    said = "".join(f'<p dir="auto">{safe(words)}</p>' for words in _instead(report.repair))
    if not report.repair.edits:
        return f"<h2>Not repaired</h2>{said}" if said else ""
    text = report.repair.text if report.repair.text.strip() else _NOTHING_LEFT
    return f'<h2>The repaired answer</h2>{said}<section class="answer" dir="auto">{safe(text)}</section>'


def _instead(repair: Repair) -> list[str]:
    """What is asked of the model or of a person, since no edit would do."""
    whole = (a for a in repair.actions if a.kind in (ActionKind.REGENERATE, ActionKind.ESCALATE))
    return [action.guidance or action.reason for action in whole]


def _line(text: str) -> str:
    one = " ".join(clean(text).split())
    return one if len(one) <= _WIDTH else one[: _WIDTH - 1] + "…"
