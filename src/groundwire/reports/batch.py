"""Batch results for build systems and people: counts by group, JUnit XML, Markdown and an HTML page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from groundwire.reports.plaintext import shorten
from groundwire.text.controls import sanitize
from groundwire.types import Status

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML forbids even when they are escaped."""


def clean_xml(text: str) -> str:
    """
    >>> clean_xml("red\\x1b[31m \\ud800")
    'red�[31m �'
    """
    return _FORBIDDEN.sub("\ufffd", text)


def junit_case(verdict: Mapping[str, Any], suite: str) -> str:
    """One response: passed, failed with its unsupported claims, or an error if it could not be checked."""
    inside = ""
    if verdict["flagged"] is None:
        inside = _element("error", verdict["error"] or "could not be checked", "unchecked", "")
    elif verdict["flagged"]:
        bad = list(unsupported(verdict))
        inside = _element("failure", bad[0] if bad else "flagged", "ungrounded", "\n".join(bad))
    name, where = quoteattr(clean_xml(str(verdict["id"]))), quoteattr(clean_xml(suite))
    return f"    <testcase name={name} classname={where}>{inside}</testcase>\n"


def _element(kind: str, message: str, why: str, text: str) -> str:
    shown = escape(clean_xml(text))
    return f"<{kind} message={quoteattr(clean_xml(message))} type={quoteattr(why)}>{shown}</{kind}>"


def unsupported(verdict: Mapping[str, Any]) -> Iterator[str]:
    """One line per flagged claim or detector flag."""
    for claim in verdict.get("claims", ()):
        if claim["flagged"]:
            yield f"{Status(claim['status']).words}: {claim['text']} ({claim['reason']})"
    for flag in verdict.get("flags", ()):
        yield f"{flag['type']}: {flag['content']}"


def junit_document(suite: str, counts: Mapping[str, int], cases: Iterable[str]) -> Iterator[str]:
    """The whole file, piece by piece. `counts` has the keys tests, failures and errors."""
    figures = " ".join(f'{key}="{counts[key]}"' for key in ("tests", "failures", "errors"))
    name = quoteattr(clean_xml(suite))
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuites name="groundwire" {figures}>\n  <testsuite name={name} {figures}>\n'
    yield from cases
    yield "  </testsuite>\n</testsuites>\n"


LISTED_ROWS = 20
"""Rows listed per section: a pull request comment is read, not searched."""
_SPECIAL = re.compile(r"[\\`*_{}\[\]#|~@]|:(?=//)|(?<=\bwww)\.", re.I)


@dataclass(slots=True)
class BatchSummary:
    """Counts of a batch. `worst` are flagged responses, the riskiest first."""

    rows: int = 0
    flagged: int = 0
    failed: int = 0
    claims: int = 0
    flagged_claims: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    worst: Sequence[Mapping[str, Any]] = ()
    errors: Sequence[Mapping[str, Any]] = ()
    groups: dict[str, BatchSummary] = field(default_factory=dict)

    def add(self, verdict: Mapping[str, Any], group: str | None = None) -> None:
        """Count a report; also for its group, if the batch is grouped."""
        bad = [claim for claim in verdict["claims"] if claim["flagged"]]
        self.rows += 1
        self.flagged += verdict["flagged"] is True
        self.failed += verdict["flagged"] is None
        self.claims += len(verdict["claims"])
        self.flagged_claims += len(bad)
        self.statuses.update(claim["gap_type"] or claim["status"].lower() for claim in bad)
        if group is not None:
            self.groups.setdefault(group, BatchSummary()).add(verdict)

    def describe(self) -> str:
        return f"{self.rows} rows: {self.flagged} flagged, {self.failed} could not be checked"


def percent(share: float) -> str:
    """
    >>> percent(0.075), percent(0.1), percent(1 / 3)
    ('7.5 %', '10 %', '33.3 %')
    """
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def batch_markdown(name: str, figures: BatchSummary, gate: str = "") -> str:
    """The page. `gate` says whether the batch passed its gate, if it has one."""
    share = f" ({percent(figures.flagged / figures.rows)})" if figures.rows else ""
    parts = [
        f"## groundwire: {figures.flagged} of {figures.rows} responses flagged{share}",
        f"{plain(gate)}" if gate else "",
        f"{plain(name)}: {figures.claims} claims, {figures.flagged_claims} not supported by their sources.",
        _table(("what", "how many"), [(plain(kind), str(n)) for kind, n in _counts(figures)]),
        _by_group(figures),
        _listed("Flagged, riskiest first", figures.worst, figures.flagged, _because),
        _listed("Could not be checked", figures.errors, figures.failed, lambda row: row["error"] or ""),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


_GROUP_HEADS = ("group", "responses", "flagged", "share", "flagged claims", "claims", "could not be checked")


def group_table(figures: BatchSummary) -> list[tuple[str, ...]]:
    """The counts of every group as cells, the heads first; empty if the batch is not grouped."""
    if not figures.groups:
        return []
    rows = [
        (name, g.rows, g.flagged, percent(g.flagged / g.rows), g.flagged_claims, g.claims, g.failed)
        for name, g in sorted(figures.groups.items())
    ]
    return [_GROUP_HEADS, *(tuple(map(str, row)) for row in rows)]


def _by_group(figures: BatchSummary) -> str:
    cells = [tuple(map(plain, row)) for row in group_table(figures)]
    return f"### By group\n\n{_table(cells[0], cells[1:])}" if cells else ""


def _counts(figures: BatchSummary) -> list[tuple[str, int]]:
    fine = figures.rows - figures.flagged - figures.failed
    whole = [("grounded", fine), ("flagged", figures.flagged), ("could not be checked", figures.failed)]
    return [*whole, *((f"claims: {status}", n) for status, n in figures.statuses.most_common())]


def _listed(title: str, rows: Sequence[Mapping[str, Any]], total: int, why: Any) -> str:
    if not rows:
        return ""
    lines = [(plain(str(row["id"])), _risk(row), plain(why(row))) for row in rows[:LISTED_ROWS]]
    more = f"\n\n… and {total - len(lines)} more." if total > len(lines) else ""
    return f"### {title}\n\n{_table(('id', 'risk', 'why'), lines)}{more}"


def _risk(row: Mapping[str, Any]) -> str:
    return "–" if row.get("risk") is None else f"{row['risk']:.2f}"


def _because(row: Mapping[str, Any]) -> str:
    bad = [c for c in row["claims"] if c["flagged"]]
    reasons = [f"“{c['text']}” {Status(c['status']).words}: {c['reason']}" for c in bad]
    reasons += [f"{flag['type']}: {flag['content']}" for flag in row.get("flags", ())]
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return f"{shorten(reasons[0])}{more}" if reasons else "the risk of the response as a whole"


def plain(text: str) -> str:
    """Untrusted text on one line, escaped so that it holds no markup, HTML, link or mention.

    >>> print(plain("<b>a|b</b> [x](http://y.z) 3.5"))
    &lt;b&gt;a\\|b&lt;/b&gt; \\[x\\](http\\://y.z) 3.5
    """
    line = " ".join(clean_xml(sanitize(text)).split())
    marked = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", marked)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
