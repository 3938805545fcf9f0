"""What is kept of a check or an audit: its JSON with all that was given, its summary and its counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from groundwire.reports.audit import audit_object, is_bad
from groundwire.reports.json import report_object
from groundwire.stores.reports import Count, Stored, Summary
from groundwire.types import ClaimVerification, HallucinationReport, Source, Status, TraceAudit

NO_SOURCE = "no source"
"""Where a claim was judged by nothing."""
_TITLE_CHARS = 140
_SOURCE_CHARS = 2_000_000
"""Sources beyond it are not kept with a report; it says so, and the links to passages lead nowhere."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was asked and what came of it. `owner` is the API key, `kind` the door if it is a special one."""

    report: HallucinationReport | TraceAudit
    sources: tuple[Source, ...] = ()
    question: str = ""
    history: tuple[object, ...] = ()
    owner: str = ""
    kind: str = ""

    @property
    def size(self) -> int:
        answer = len(self.report.response) if isinstance(self.report, HallucinationReport) else 0
        return answer + sum(len(source.text) for source in self.sources)


def stored(exchange: Exchange, identity: str, at: float) -> Stored:
    """The exchange as the store takes it."""
    report = exchange.report
    if isinstance(report, TraceAudit):
        return _stored_audit(exchange, report, identity, at)
    claims = report.claims
    summary = Summary(
        id=identity,
        kind=exchange.kind or "check",
        owner=exchange.owner,
        created=at,
        title=_title(exchange.question or report.response),
        flagged=report.flagged,
        risk=report.risk,
        grounding=report.grounding_ratio,
        claims=len(claims),
        flagged_claims=report.flagged_claims,
        unchecked=sum(claim.status is Status.UNCHECKED for claim in claims),
        backend=report.backend,
        profile=report.profile,
    )
    body = _body(exchange, "report", report_object(report), answer=report.response)
    types = Counter(_type(claim) for claim in claims if claim.is_flagged)
    types.update(flag.type.value for flag in report.flags)
    return Stored(summary, body, _counts(types), tuple(_by_source(claims, exchange.sources)))


def _stored_audit(exchange: Exchange, audit: TraceAudit, identity: str, at: float) -> Stored:
    steps = audit.steps
    summary = Summary(
        id=identity,
        kind=exchange.kind or "audit",
        owner=exchange.owner,
        created=at,
        title=_title(audit.question or exchange.question or (steps[0].step.text if steps else "")),
        flagged=audit.flagged,
        risk=None,
        grounding=None,
        claims=len(steps),
        flagged_claims=sum(is_bad(step) for step in steps),
        unchecked=sum(step.status is Status.UNCHECKED for step in steps),
        backend=audit.backend,
        profile="",
    )
    body = _body(exchange, "audit", audit_object(audit), steps=[step.step.text for step in steps])
    types = Counter(_type(step.verdict) for step in steps if is_bad(step))
    verdicts = [step.verdict for step in steps]
    return Stored(summary, body, _counts(types), tuple(_by_source(verdicts, exchange.sources)))


def _body(exchange: Exchange, name: str, made: Mapping[str, Any], **more: object) -> str:
    fits = sum(len(source.text) for source in exchange.sources) <= _SOURCE_CHARS
    kept = exchange.sources if fits else ()
    return json.dumps(
        {
            name: made,
            **more,
            "question": exchange.question,
            "history": list(exchange.history),
            "sources": [{"id": s.id, "text": s.text, "origin": s.origin} for s in kept],
            "sources_kept": fits,
        },
        ensure_ascii=False,
        default=str,
    )


def _title(text: str) -> str:
    line = " ".join(text[: 4 * _TITLE_CHARS].split())
    return line if len(line) <= _TITLE_CHARS else f"{line[: _TITLE_CHARS - 1]}…"


def _type(claim: ClaimVerification) -> str:
    return claim.gap_type.value if claim.gap_type else claim.status.value.lower()


def _counts(types: Mapping[str, int]) -> tuple[Count, ...]:
    return tuple(Count(name, number, number) for name, number in types.items())


def _by_source(claims: Iterable[ClaimVerification], sources: Iterable[Source]) -> Iterator[Count]:
    """A claim counts for each source it was judged by; by its file's name where it has one.

    What is cited but does not exist, or is a step of the same trace, is no source.
    """
    called = {source.id: source.origin or source.id for source in sources}
    judged: Counter[str] = Counter()
    flagged: Counter[str] = Counter()
    for claim in claims:
        if claim.status is Status.UNCHECKED:
            continue
        names = {called[name] for name in claim.evidence_ids if name in called} or {NO_SOURCE}
        judged.update(names)
        flagged.update(names if claim.is_flagged else ())
    return (Count(name, number, flagged[name]) for name, number in judged.items())
