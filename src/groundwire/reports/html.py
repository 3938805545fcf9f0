"""Reports, batches and audits as self-contained HTML: whole pages, and the tables that notebooks show.

Everything is rendered by the Jinja2 templates in `templates/`. Autoescaping keeps untrusted text from
becoming markup, and every printed value is sanitized. Importing this module registers the notebook views.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any

from groundwire.reports.answer import AnswerBlock, answer_blocks
from groundwire.reports.plaintext import (
    answer_line,
    feedback_line,
    flag_counts,
    format_number,
    headline,
    nearest_evidence,
    percent,
    reason_line,
    repair_guidance,
    repaired_text,
    report_facts,
    split_at_spans,
    steps_line,
)
from groundwire.text.controls import sanitize
from groundwire.types import ClaimVerification, Derived, Detection, HallucinationReport, Status, TraceAudit
from groundwire.types.report import as_html

if TYPE_CHECKING:
    from jinja2 import Environment

_NOTEBOOK_CHARS = 2000
"""Characters shown of one text: notebooks store their output, and a source may have megabytes."""
_NOTEBOOK_FIGURES = ("support", "confidence")
_MARKS = {"CONTRADICTED": "✕", "NOT_IN_CONTEXT": "○", "UNVERIFIABLE": "~", "UNCHECKED": "?", "ENTAILED": "✓"}
_ANSWER_CLASS = {Derived.YES: "ENTAILED", Derived.NO: "CONTRADICTED", Derived.UNCHECKED: "UNCHECKED"}


def to_html(report: HallucinationReport, title: str = "groundwire report") -> str:
    """A report as one page without scripts, other files or other hosts."""
    return _render(
        "report.html",
        title=title,
        report=report,
        blocks=answer_blocks(report.response, report.claims, report.spans),
        guidance=repair_guidance(report.repair) if report.repair else [],
        repaired=answer_blocks(repaired_text(report.repair), (), ()) if report.repair else (),
    )


def batch_row(report: HallucinationReport, number: int, group: str = "") -> str:
    """One response of a batch: a row of the table on the page, with the report inside."""
    blocks = list(answer_blocks(report.response, report.claims, report.spans))
    return _render(
        "batch_row.html", report=report, blocks=blocks, at=f"r{number}-", number=number, group=group
    )


def batch_page(
    title: str, summary: str, groups: Sequence[Sequence[str]], rows: Iterable[str]
) -> Iterator[str]:
    """The page of a batch, part by part: a table to sort and to filter. `rows` come from `batch_row`.

    Args:
        summary: the counts and the outcome of the gate, in one line.
        groups: the cells of the counts by group, the heads first; empty if the batch is not grouped.
    """
    script = files("groundwire.reports").joinpath("templates", "batch.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(f"\n{script}".encode()).digest()).decode()
    page = _environment().get_template("batch.html")
    yield from page.generate(
        title=title, summary=summary, groups=groups, rows=rows, script=script, digest=digest
    )


def audit_page(audit: TraceAudit, title: str = "groundwire audit") -> str:
    return _render(
        "audit.html",
        title=title,
        audit=audit,
        steps_line=steps_line(audit),
        answer_line=answer_line(audit.post_hoc),
        answer_class=_ANSWER_CLASS.get(audit.post_hoc.outcome, ""),
    )


# ---- notebooks


@as_html.register
def _report_view(report: HallucinationReport) -> str:
    text = report.response[:_NOTEBOOK_CHARS] + ("…" if len(report.response) > _NOTEBOOK_CHARS else "")
    spans = [span for span in report.spans if span.end <= _NOTEBOOK_CHARS]
    return _render(
        "notebook.html",
        kind="report",
        result=report,
        pieces=split_at_spans(text, spans),
        counts=flag_counts(report),
    )


@as_html.register
def _claim_view(claim: ClaimVerification) -> str:
    return _render("notebook.html", kind="claim", result=claim)


@as_html.register
def _audit_view(audit: TraceAudit) -> str:
    has_answer = audit.post_hoc.outcome is not Derived.ABSENT
    return _render("notebook.html", kind="audit", result=audit, has_answer=has_answer)


@as_html.register
def _detection_view(detection: Detection) -> str:
    return _render("notebook.html", kind="detection", result=detection)


# ---- templates


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    # Imported on first use: the engine loads this module, and most checks never render HTML.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("groundwire.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_sanitize_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cut": _cut, "fixed": _fixed, "number": format_number, "percent": percent}
    environment.filters |= {"bullet": _bullet, "families": _families}
    environment.globals |= {
        "feedback_line": feedback_line,
        "headline": headline,
        "nearest_evidence": nearest_evidence,
        "reason_line": reason_line,
        "report_facts": report_facts,
        "mood": _mood,
        "marks": _MARKS,
        "statuses": [Status(name) for name in _MARKS],
        "figures": _NOTEBOOK_FIGURES,
    }
    return environment


def _sanitize_value(value: Any) -> Any:
    # The output of macros has __html__ and was sanitized when it was rendered.
    return sanitize(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _mood(flagged: bool | None) -> str:
    """The CSS class of a verdict; None means that it could not be checked."""
    return "warn" if flagged is None else "bad" if flagged else "good"


def _fixed(value: float, digits: int = 0) -> str:
    return f"{value:.{digits}f}"


def _cut(text: str) -> str:
    """Text on one line, of bounded length."""
    return " ".join(text[:_NOTEBOOK_CHARS].split()) + ("…" if len(text) > _NOTEBOOK_CHARS else "")


def _bullet(marker: str) -> str:
    """The sign before a list item: its number or letter, or a dot."""
    return marker if any(map(str.isalnum, marker)) else "•"


def _families(blocks: Iterable[AnswerBlock]) -> Iterator[tuple[str, list[AnswerBlock]]]:
    """Blocks in runs: the items of a list and the rows of a table belong together."""
    for family, members in groupby(
        blocks, key=lambda block: "row" if block.tag in ("th", "td") else block.tag
    ):
        yield family, list(members)
