"""SARIF 2.1.0, so that CI systems annotate the file that holds an answer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from groundwire.text.controls import json_text
from groundwire.types import ClaimVerification, GapType, HallucinationReport, Status
from groundwire.version import __version__

_RULES = {
    GapType.UNSUPPORTED: "No source supports the claim",
    GapType.PARTIAL_SUPPORT: "The sources support a part of the claim",
    GapType.PHANTOM_CITATION: "The claim cites a source that does not exist",
    GapType.CONTRADICTED: "The sources contradict the claim",
    GapType.OVER_EXTRAPOLATION: "The claim says more than the sources do",
    GapType.KNOWN_NOT_IN_SOURCES: "The claim may be true, but no source says it",
    GapType.EVIDENCE_INDEPENDENT: "The sources cited do not support the claim, others do",
}
_ERRORS = (GapType.CONTRADICTED, GapType.PHANTOM_CITATION)
"""Certain enough to be an error; the rest are warnings."""


def to_sarif(report: HallucinationReport, uri: str) -> str:
    """The report on the answer in the file `uri`: a result per flagged claim or detector flag.

    What could not be checked is a notification of an execution that was not successful: a run without results
    is not the same as a clean one.
    """
    lines = [0, *accumulate(len(line) for line in report.response.splitlines(keepends=True))]
    run = {
        "tool": {"driver": {"name": "groundwire", "version": __version__, "rules": list(_rules(report))}},
        "columnKind": "unicodeCodePoints",
        "artifacts": [{"location": {"uri": uri}}],
        "invocations": [_invocation(report)],
        "results": [_result(*found, uri, lines) for found in _findings(report)],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json_text({"$schema": schema, "version": "2.1.0", "runs": [run]}, 2)


def _rules(report: HallucinationReport) -> Iterator[dict[str, Any]]:
    texts: dict[str, str] = {kind.value: text for kind, text in _RULES.items()}
    texts |= {flag.type.value: flag.type.description for flag in report.flags}
    for name in dict.fromkeys(rule for rule, *_ in _findings(report)):
        yield {"id": name, "shortDescription": {"text": texts.get(name, name.replace("_", " "))}}


def _findings(report: HallucinationReport) -> Iterator[tuple[str, str, str, int, int]]:
    """Rule, level, message, start and end of each finding."""
    for claim in report.claims:
        if claim.is_flagged:
            yield _rule(claim), _level(claim), f"{claim.claim_text}: {claim.reason}", claim.start, claim.end
    for flag in report.flags:
        yield flag.type.value, "warning", f"{flag.content}: {flag.evidence}", flag.start, flag.end


def _rule(claim: ClaimVerification) -> str:
    return claim.gap_type.value if claim.gap_type else claim.status.value.lower()


def _level(claim: ClaimVerification) -> str:
    return "error" if claim.gap_type in _ERRORS else "warning"


def _result(
    rule: str, level: str, message: str, start: int, end: int, uri: str, lines: list[int]
) -> dict[str, Any]:
    first, last = bisect_right(lines, start), bisect_right(lines, max(start, end - 1))
    region = {
        "startLine": first,
        "startColumn": start - lines[first - 1] + 1,
        "endLine": last,
        "endColumn": end - lines[last - 1] + 1,
        "charOffset": start,
        "charLength": end - start,
    }
    place = {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}
    return {"ruleId": rule, "level": level, "message": {"text": message}, "locations": [place]}


def _invocation(report: HallucinationReport) -> dict[str, Any]:
    unchecked = [c for c in report.claims if c.status is Status.UNCHECKED]
    texts = [f"{c.claim_text}: {c.reason}" for c in unchecked] or ([report.error] if report.error else [])
    found: dict[str, Any] = {"executionSuccessful": not texts}
    if texts:
        found["toolExecutionNotifications"] = [{"level": "error", "message": {"text": t}} for t in texts]
    return found
