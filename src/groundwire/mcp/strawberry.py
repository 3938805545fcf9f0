"""Strawberry's two tools: its parameters in, its shape out, our verdicts in between.

What differs is meant: evidence against a claim counts against it, a citation of nothing is named, and what
could not be checked is flagged, as every failure is in that shape.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from groundwire._optional import load
from groundwire.claims.extractor import extract
from groundwire.engine import Groundwire, as_sources
from groundwire.errors import BackendTimeout, InputError
from groundwire.mcp.arguments import AuditTraceBudget, Budget, DetectHallucination
from groundwire.retrieval.cite import cited_ids, phantoms
from groundwire.types import Claim, ClaimKind, ClaimVerification, Source, Status, Step

if TYPE_CHECKING:
    from re import Match

# Citation marks as callers of Strawberry write them, made into the ones everybody reads: [S0].

_BARE = re.compile(r"\[(\d{1,6})\]")
_SECONDS = 0.5


def remarked(answer: str, pattern: str | None, ids: Sequence[str]) -> str:
    """The answer with what `pattern` finds written as [id], and [12] as [S12] where that is a source's name.

    >>> remarked("It is red (ref S0), and old [1].", r"\\(ref (?P<id>\\w+)\\)", ["S0", "S1"])
    'It is red [S0], and old [S1].'
    """
    known = set(ids)

    def named(found: Match[str]) -> str:
        number = found[1]
        return f"[S{number}]" if number not in known and f"S{number}" in known else found[0]

    return _BARE.sub(named, _found(answer, pattern) if pattern else answer)


def _found(answer: str, pattern: str) -> str:
    # A pattern from outside may take forever; this engine can be told how long it has.
    engine: Any = load("regex", feature="citation_regex", extra="mcp")
    try:
        compiled = engine.compile(pattern)
        if "id" not in compiled.groupindex:
            raise InputError("citation_regex has no group named id", hint=r"write \[(?P<id>\w+)\]")
        written: str = compiled.sub(lambda found: f"[{found['id']}]", answer, timeout=_SECONDS)
    except engine.error as error:
        raise InputError(f"citation_regex is no regular expression: {error}") from None
    except TimeoutError:
        raise InputError(f"citation_regex takes longer than {_SECONDS:g} s on this answer") from None
    return written


Units = Literal["bits", "nats"]
_SHOWN = 50
_PER_BIT = {"bits": 1.0, "nats": log(2.0)}


class Interval(BaseModel):
    """None where nothing was measured: a citation of nothing never reaches a verifier."""

    min: float | None
    max: float | None
    units: Units


class Yes(BaseModel):
    """P(YES) as the verifier gave it. `generated` and `topk` are a language model's, and empty here."""

    p_lower: float | None
    p_upper: float | None
    generated: str = ""
    topk: dict[str, float] = {}


class Quote(BaseModel):
    sid: str
    start: int
    end: int
    text: str


class Detail(BaseModel):
    idx: int
    claim: str
    cites: list[str]
    target: float
    prior_yes: Yes
    post_yes: Yes
    required: Interval
    observed: Interval
    budget_gap: Interval
    flagged: bool
    has_any_citations: bool
    status: str
    gap_type: str | None
    certain: bool
    reason: str
    evidence: list[Quote]


class Summary(BaseModel):
    """One tool speaks of claims, the other of steps: here they are the same.

    `skipped` asserts nothing (questions, instructions); `left_out` is beyond max_claims.
    """

    claims_scored: int
    steps_scored: int
    flagged_claims: int
    flagged_steps: int
    flagged_idxs: list[int]
    skipped: int
    left_out: int
    units: Units
    verifier_model: str
    backend: str
    ignored: list[str]


class Budgeted(BaseModel):
    flagged: bool
    under_budget: bool
    summary: Summary
    details: list[Detail]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found out about an answer: verdicts, each with its number."""

    verdicts: Sequence[tuple[int, ClaimVerification]]
    skipped: int = 0
    left_out: int = 0


async def detect_hallucination(engine: Groundwire, given: DetectHallucination) -> Budgeted:
    judge, sources = _prepared(engine, given)
    answer = remarked(given.answer, given.citation_regex, [source.id for source in sources])
    return _budgeted(await _bounded(_answer(judge, answer, sources, given), given.timeout_s), judge, given)


async def audit_trace_budget(engine: Groundwire, given: AuditTraceBudget) -> Budgeted:
    judge, sources = _prepared(engine, given)
    return _budgeted(await _bounded(_trace(judge, sources, given), given.timeout_s), judge, given)


def _prepared(engine: Groundwire, given: Budget) -> tuple[Groundwire, tuple[Source, ...]]:
    if not any(span.text.strip() for span in given.spans):
        raise InputError("there are no spans with text in them", hint="nothing can be verified without")
    judge = engine.variant(target=given.default_target, marker=given.placeholder)
    return judge, as_sources([Source(span.sid, span.text) for span in given.spans])


async def _bounded(work: Coroutine[Any, Any, Looked], seconds: float | None) -> Looked:
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise BackendTimeout(f"the check took longer than timeout_s={seconds:g}") from None


async def _answer(
    judge: Groundwire, answer: str, sources: tuple[Source, ...], given: DetectHallucination
) -> Looked:
    if given.context_mode == "all" and given.claim_split == "sentences":
        report = await judge.check(answer, sources, choose=lambda claims: claims[: given.max_claims])
        left = sum(claim.kind is ClaimKind.ASSERTION for claim in report.skipped)
        return Looked(tuple(enumerate(report.claims)), len(report.skipped) - left, left)
    known, target = [source.id for source in sources], judge.profile.target
    whole = given.claim_split == "lines"
    found = _lines(answer, known, target) if whole else extract(answer, target=target, known_sources=known)
    claims = [claim for claim in found if claim.kind is ClaimKind.ASSERTION]
    verdicts = await _judged(judge, claims[: given.max_claims], sources, given)
    return Looked(
        tuple(enumerate(verdicts)), len(found) - len(claims), max(0, len(claims) - given.max_claims)
    )


def _lines(answer: str, known: Sequence[str], target: float) -> list[Claim]:
    """A line a claim, whatever it holds; a line that asserts nothing is none."""
    found = []
    for number, line in enumerate((line for line in answer.splitlines() if line.strip()), 1):
        parts = extract(line, target=target, known_sources=known)
        says = [part for part in parts if part.kind is ClaimKind.ASSERTION]
        cites = dict.fromkeys(label for part in parts for label in part.citations)
        text = " ".join(part.text for part in parts) or line.strip()
        kind = ClaimKind.ASSERTION if says or not parts else parts[0].kind
        found.append(Claim(f"c{number}", text, 0, len(line), tuple(cites), target, kind))
    return found


async def _trace(judge: Groundwire, sources: tuple[Source, ...], given: AuditTraceBudget) -> Looked:
    """All spans in view, a step may rest on earlier ones that hold; else each stands by what it cites."""
    numbered = sorted(
        ((n if step.idx is None else step.idx, step) for n, step in enumerate(given.steps)),
        key=lambda pair: pair[0],
    )
    target = judge.profile.target
    sure = [target if step.confidence is None else step.confidence for _, step in numbered]
    if given.context_mode == "all":
        steps = [
            Step("", step.claim, tuple(step.cites), p) for (_, step), p in zip(numbered, sure, strict=True)
        ]
        verdicts = await judge.audit_reasoning(steps, sources)
    else:
        claims = [
            Claim(f"c{n}", step.claim, 0, len(step.claim), tuple(step.cites), p)
            for n, ((_, step), p) in enumerate(zip(numbered, sure, strict=True))
        ]
        verdicts = await _judged(judge, claims, sources, given)
    cited = (
        replace(verdict, citations=tuple(dict.fromkeys((*step.cites, *verdict.citations))))
        for verdict, (_, step) in zip(verdicts, numbered, strict=True)
    )
    return Looked(tuple(zip((idx for idx, _ in numbered), cited, strict=True)))


async def _judged(
    judge: Groundwire, claims: Sequence[Claim], sources: tuple[Source, ...], given: Budget
) -> list[ClaimVerification]:
    """With `cited`, each claim by the spans it cites. What cites nothing, or nothing that exists, by all."""
    if not claims:
        return []
    seen: dict[tuple[str, ...], list[Claim]] = {}
    for claim in claims:
        alone = given.context_mode == "cited" and not phantoms(claim, sources)
        seen.setdefault(cited_ids(claim.citations, sources) if alone else (), []).append(claim)
    verdicts: dict[str, ClaimVerification] = {}
    for ids, group in seen.items():
        view = [source for source in sources if source.id in ids] if ids else sources
        found = await judge.verify(group, view)
        verdicts.update(zip((claim.id for claim in group), found, strict=True))
    return [verdicts[claim.id] for claim in claims]


def _budgeted(looked: Looked, judge: Groundwire, given: Budget) -> Budgeted:
    details = [_detail(number, verdict, given) for number, verdict in looked.verdicts]
    bad = [detail.idx for detail in details if detail.flagged]
    failed = [v for _, v in looked.verdicts if v.status is Status.UNCHECKED]
    error = f"{len(failed)} of {len(details)} claims {failed[0].reason}" if failed else None
    summary = Summary(
        claims_scored=len(details),
        steps_scored=len(details),
        flagged_claims=len(bad),
        flagged_steps=len(bad),
        flagged_idxs=bad[:_SHOWN],
        skipped=looked.skipped,
        left_out=looked.left_out,
        units=given.units,
        verifier_model=judge.backend.model,
        backend=judge.backend.name,
        ignored=given.ignored,
    )
    return Budgeted(flagged=bool(bad), under_budget=bool(bad), summary=summary, details=details, error=error)


def _detail(number: int, verdict: ClaimVerification, given: Budget) -> Detail:
    bare = given.require_citations and not verdict.citations
    units, required, low, high = given.units, verdict.required_bits, verdict.gap_low, verdict.gap_high
    open_gap = None in (required, low, high)
    return Detail(
        idx=number,
        claim=verdict.claim_text,
        cites=list(verdict.citations),
        target=verdict.confidence,
        prior_yes=Yes(p_lower=verdict.p0, p_upper=verdict.p0),
        post_yes=Yes(p_lower=verdict.p1, p_upper=verdict.p1),
        required=_interval(required, required, units),
        # What the gap's interval leaves for the evidence: required − observed = gap, at both ends.
        observed=_interval(
            None if open_gap else (required or 0.0) - (high or 0.0),
            None if open_gap else (required or 0.0) - (low or 0.0),
            units,
        ),
        budget_gap=_interval(low, high, units),
        flagged=verdict.is_flagged or verdict.status is Status.UNCHECKED or bare,
        has_any_citations=bool(verdict.citations),
        status=verdict.status.value,
        gap_type=verdict.gap_type.value if verdict.gap_type else None,
        certain=verdict.certain,
        reason="cites nothing, and require_citations is set" if bare else verdict.reason,
        evidence=[Quote(sid=r.source, start=r.start, end=r.end, text=r.text) for r in verdict.evidence],
    )


def _interval(low: float | None, high: float | None, units: Units) -> Interval:
    def measured(bits: float | None) -> float | None:
        return None if bits is None else round(bits * _PER_BIT[units], 4)

    return Interval(min=measured(low), max=measured(high), units=units)
