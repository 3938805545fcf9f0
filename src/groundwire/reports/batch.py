"""Results for build systems and people: JUnit XML, SARIF, Markdown counts by group, two runs compared."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import comb
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from groundwire.reports.plaintext import format_number, shorten
from groundwire.text.controls import json_text, sanitize
from groundwire.types import GapType, HallucinationReport, Status
from groundwire.version import __version__

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


_GROUP_HEADS = ("group", "responses", "flagged", "share", "flagged claims", "claims", "could not be checked")


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
    errors: list[Mapping[str, Any]] = field(default_factory=list)
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

    def group_table(self) -> list[tuple[str, ...]]:
        """The counts of every group as cells, the heads first; empty if the batch is not grouped."""
        rows = [
            (name, g.rows, g.flagged, percent(g.flagged / g.rows), g.flagged_claims, g.claims, g.failed)
            for name, g in sorted(self.groups.items())
        ]
        return [_GROUP_HEADS, *(tuple(map(str, row)) for row in rows)] if rows else []

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
    groups = [tuple(map(plain, row)) for row in figures.group_table()]
    parts = [
        f"## groundwire: {figures.flagged} of {figures.rows} responses flagged{share}",
        f"{plain(gate)}" if gate else "",
        f"{plain(name)}: {figures.claims} claims, {figures.flagged_claims} not supported by their sources.",
        _table(("what", "how many"), [(plain(kind), str(n)) for kind, n in _counts(figures)]),
        f"### By group\n\n{_table(groups[0], groups[1:])}" if groups else "",
        _listed("Flagged, riskiest first", figures.worst, figures.flagged, _because),
        _listed("Could not be checked", figures.errors, figures.failed, lambda row: row["error"] or ""),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _counts(figures: BatchSummary) -> list[tuple[str, int]]:
    fine = figures.rows - figures.flagged - figures.failed
    whole = [("grounded", fine), ("flagged", figures.flagged), ("could not be checked", figures.failed)]
    return [*whole, *((f"claims: {status.replace('_', ' ')}", n) for status, n in figures.statuses.most_common())]


def _listed(title: str, rows: Sequence[Mapping[str, Any]], total: int, why: Any) -> str:
    if not rows:
        return ""
    lines = [(plain(str(row["id"])), format_number(row.get("risk"), 2), plain(why(row))) for row in rows[:LISTED_ROWS]]
    more = f"\n\n… and {total - len(lines)} more." if total > len(lines) else ""
    return f"### {title}\n\n{_table(('id', 'risk', 'why'), lines)}{more}"


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


# Two batch runs side by side: which responses and claims changed, and whether that is more than chance.

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """A claim of one response whose verdict differs between the runs."""

    response: str
    text: str
    before: str
    after: str
    p1_before: float | None
    p1_after: float | None
    flipped: bool


@dataclass(slots=True)
class RunComparison:
    """What changed from the first run to the second. Responses are the same if their ids are.

    `cleared` are flagged in the first run alone, `broken` in the second alone; `unsettled` could not be
    checked in one of them. Claims are the same if their texts are; `changes` lists those with another
    verdict, of which the flipped ones are flagged in one run alone.
    """

    responses: int = 0
    flagged_before: int = 0
    flagged_after: int = 0
    cleared: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)
    only_before: list[str] = field(default_factory=list)
    only_after: list[str] = field(default_factory=list)
    claims: int = 0
    claims_gone: int = 0
    claims_new: int = 0
    changes: list[ClaimChange] = field(default_factory=list)

    @property
    def p_value(self) -> float:
        return mcnemar(len(self.cleared), len(self.broken))

    @property
    def flipped(self) -> list[ClaimChange]:
        return [change for change in self.changes if change.flipped]


def mcnemar(cleared: int, broken: int) -> float:
    """The two-sided p-value of McNemar's exact test.

    The probability of a split at least this uneven if a response that changes is as likely to become
    flagged as to stop being flagged.

    >>> round(mcnemar(1, 9), 4), mcnemar(3, 3), mcnemar(0, 0)
    (0.0215, 1.0, 1.0)
    """
    changed, fewer = cleared + broken, min(cleared, broken)
    tail = sum(comb(changed, k) for k in range(fewer + 1))
    return min(1.0, 2.0 * float(Fraction(tail, 2**changed)))


def compare_runs(before: Mapping[str, Report], after: Mapping[str, Report]) -> RunComparison:
    """Compare two runs, given as reports by id."""
    found = RunComparison(
        only_before=[name for name in before if name not in after],
        only_after=[name for name in after if name not in before],
    )
    for name, old in before.items():
        if name in after:
            _compare_response(found, name, old, after[name])
    return found


def _compare_response(found: RunComparison, name: str, old: Report, new: Report) -> None:
    found.responses += 1
    found.flagged_before += old["flagged"] is True
    found.flagged_after += new["flagged"] is True
    if old["flagged"] is None or new["flagged"] is None:
        found.unsettled.append(name)
    elif old["flagged"] != new["flagged"]:
        (found.cleared if old["flagged"] else found.broken).append(name)
    earlier, later = dict(_claims(old)), dict(_claims(new))
    both = [key for key in earlier if key in later]
    found.claims += len(both)
    found.claims_gone += len(earlier) - len(both)
    found.claims_new += len(later) - len(both)
    for was, now in ((earlier[key], later[key]) for key in both):
        if (was["status"], was["flagged"]) != (now["status"], now["flagged"]):
            figures = (was["status"], now["status"], was["p1"], now["p1"])
            found.changes.append(ClaimChange(name, was["text"], *figures, flipped=was["flagged"] != now["flagged"]))


def _claims(report: Report) -> Iterator[tuple[tuple[str, int], Report]]:
    """The claims by their text; one that is repeated is told apart by how often it came before."""
    seen: dict[str, int] = {}
    for claim in report["claims"]:
        text = " ".join(claim["text"].split())
        seen[text] = seen.get(text, 0) + 1
        yield (text, seen[text]), claim


# SARIF 2.1.0, so that CI systems annotate the file that holds an answer, or the rows of a batch.

_RULES = {
    GapType.UNSUPPORTED: "No source supports the claim",
    GapType.PARTIAL_SUPPORT: "The sources support a part of the claim",
    GapType.PHANTOM_CITATION: "The claim cites a source that does not exist",
    GapType.CONTRADICTED: "The sources contradict the claim",
    GapType.OVER_EXTRAPOLATION: "The claim says more than the sources do",
    GapType.KNOWN_NOT_IN_SOURCES: "The claim may be true, but no source says it",
    GapType.EVIDENCE_INDEPENDENT: "The sources cited do not support the claim, others do",
}
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ERRORS = (GapType.CONTRADICTED, GapType.PHANTOM_CITATION)
"""Certain enough to be an error; the rest are warnings."""


def to_sarif(report: HallucinationReport, uri: str) -> str:
    """The report on the answer in the file `uri`: a result per flagged claim or detector flag.

    What could not be checked is a notification of an execution that was not successful: a run without results
    is not the same as a clean one.
    """
    lines = [0, *accumulate(len(line) for line in report.response.splitlines(keepends=True))]
    unchecked = [f"{c.claim_text}: {c.reason}" for c in report.claims if c.status is Status.UNCHECKED]
    failures = unchecked or ([report.error] if report.error else [])
    run = {
        **_run(uri, sarif_rules(report), failures),
        "results": [
            _result(rule, level, message, uri, _region(start, end, lines))
            for rule, level, message, start, end in _findings(report)
        ],
    }
    return json_text({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, 2)


def row_results(report: HallucinationReport, number: int, uri: str) -> Iterator[str]:
    """The results of one row of a batch as JSON, each at the row's line of the file `uri`."""
    for rule, level, message, *_ in _findings(report):
        found = _result(rule, level, f"{report.response_id}: {message}", uri, {"startLine": number})
        yield json_text(found, None)


def batch_sarif(uri: str, rules: Mapping[str, str], failures: Iterable[str], results: Iterable[str]) -> Iterator[str]:
    """The file of a batch, piece by piece, from the rules, failures and results of all its rows."""
    yield f'{{"$schema": "{_SARIF_SCHEMA}", "version": "2.1.0", "runs": ['
    yield f'{json_text(_run(uri, rules, failures), None)[:-1]}, "results": ['
    for number, result in enumerate(results):
        yield f"{',' if number else ''}\n{result.rstrip()}"
    yield "\n]}]}\n"


def sarif_rules(report: HallucinationReport) -> dict[str, str]:
    """The rules that a report's findings break, with their descriptions."""
    texts: dict[str, str] = {kind.value: text for kind, text in _RULES.items()}
    texts |= {flag.type.value: flag.type.description for flag in report.flags}
    return {rule: texts.get(rule, rule.replace("_", " ")) for rule, *_ in _findings(report)}


def _run(uri: str, rules: Mapping[str, str], failures: Iterable[str]) -> dict[str, Any]:
    listed = [{"id": name, "shortDescription": {"text": text}} for name, text in rules.items()]
    notes = [{"level": "error", "message": {"text": text}} for text in failures]
    return {
        "tool": {"driver": {"name": "groundwire", "version": __version__, "rules": listed}},
        "columnKind": "unicodeCodePoints",
        "artifacts": [{"location": {"uri": quote(uri)}}],
        "invocations": [{"executionSuccessful": not notes, **({"toolExecutionNotifications": notes} if notes else {})}],
    }


def _findings(report: HallucinationReport) -> Iterator[tuple[str, str, str, int, int]]:
    """Rule, level, message, start and end of each finding."""
    for claim in report.claims:
        if claim.is_flagged:
            level = "error" if claim.gap_type in _ERRORS else "warning"
            message = f"{claim.claim_text}: {claim.reason}"
            yield claim.flag_reason or "", level, message, claim.start, claim.end
    for flag in report.flags:
        yield flag.type.value, "warning", f"{flag.content}: {flag.evidence}", flag.start, flag.end


def _result(rule: str, level: str, message: str, uri: str, region: Mapping[str, int]) -> dict[str, Any]:
    # SARIF asks for a URI reference: a space in it would make the file invalid.
    place = {"physicalLocation": {"artifactLocation": {"uri": quote(uri)}, "region": region}}
    return {"ruleId": rule, "level": level, "message": {"text": message}, "locations": [place]}


def _region(start: int, end: int, lines: list[int]) -> dict[str, int]:
    first, last = bisect_right(lines, start), bisect_right(lines, max(start, end - 1))
    return {
        "startLine": first,
        "startColumn": start - lines[first - 1] + 1,
        "endLine": last,
        "endColumn": end - lines[last - 1] + 1,
        "charOffset": start,
        "charLength": end - start,
    }
