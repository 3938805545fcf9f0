"""Strawberry's two tools with groundwire's verdicts behind its parameters and result format.

Intended differences: evidence against a claim counts against it, a citation of an unknown source is named,
and a claim that could not be checked is flagged, as every failure is in that format.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any, Literal

from pydantic import BaseModel

from groundwire._optional import load
from groundwire.claims.extractor import extract
from groundwire.engine import Groundwire
from groundwire.errors import BackendTimeout, InputError
from groundwire.mcp.arguments import AuditTraceBudget, BudgetArguments, DetectHallucination
from groundwire.requests import as_sources
from groundwire.retrieval.gather import cited_ids, phantoms
from groundwire.traces.audit import audit_reasoning
from groundwire.types import NOTHING_TO_CHECK, Claim, ClaimKind, ClaimVerification, GapType, Source, Status, Step
from groundwire.verdicts.judge import phantom, unmeasured

_REGEX_SECONDS = 0.5  # for a pattern of the caller: milliseconds are normal, backtracking may take forever


def normalize_citations(answer: str, pattern: str) -> str:
    """Rewrite what `pattern` matches as [id].

    >>> normalize_citations("It is red (ref S0).", r"\\(ref (?P<id>\\w+)\\)")
    'It is red [S0].'
    """
    # Unlike `re`, this engine has a timeout.
    engine: Any = load("regex", feature="citation_regex", extra="mcp")
    try:
        compiled = engine.compile(pattern)
        if "id" not in compiled.groupindex:
            raise InputError("citation_regex has no group named id", hint=r"write \[(?P<id>\w+)\]")
        written: str = compiled.sub(lambda found: f"[{found['id']}]", answer, timeout=_REGEX_SECONDS)
    except engine.error as error:
        raise InputError(f"invalid citation_regex: {error}") from None
    except TimeoutError:
        raise InputError(f"citation_regex takes longer than {_REGEX_SECONDS:g} s on this answer") from None
    return written


Units = Literal["bits", "nats"]
_MAX_LISTED = 50  # flagged indices in the summary
_PER_BIT = {"bits": 1.0, "nats": log(2.0)}


class BitInterval(BaseModel):
    """None if nothing was measured: a claim that cites an unknown source never reaches a verifier."""

    min: float | None
    max: float | None
    units: Units


class YesProbability(BaseModel):
    """P(YES) by the verifier. `generated` and `topk` belong to language models and are empty here."""

    p_lower: float | None
    p_upper: float | None
    generated: str = ""
    topk: dict[str, float] = {}


class CitedSpan(BaseModel):
    sid: str
    start: int
    end: int
    text: str


class ClaimDetail(BaseModel):
    idx: int
    claim: str
    cites: list[str]
    target: float
    prior_yes: YesProbability
    post_yes: YesProbability
    required: BitInterval
    observed: BitInterval
    budget_gap: BitInterval
    flagged: bool
    has_any_citations: bool
    status: str
    gap_type: str | None
    certain: bool
    reason: str
    evidence: list[CitedSpan]


class BudgetSummary(BaseModel):
    """One tool counts claims, the other steps; here both counts are the same.

    `skipped` counts sentences that assert nothing (questions, instructions), `left_out` claims beyond
    max_claims.
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


class BudgetReport(BaseModel):
    flagged: bool
    under_budget: bool
    summary: BudgetSummary
    details: list[ClaimDetail]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ScoredClaims:
    """The verdicts of an answer, each with its index."""

    verdicts: Sequence[tuple[int, ClaimVerification]]
    skipped: int = 0
    left_out: int = 0


async def detect_hallucination(engine: Groundwire, given: DetectHallucination) -> BudgetReport:
    judge, sources = _prepare(engine, given)
    pattern = given.citation_regex
    answer = normalize_citations(given.answer, pattern) if pattern else given.answer
    return _build_report(
        await _with_timeout(_score_answer(judge, answer, sources, given), given.timeout_s), judge, given
    )


async def audit_trace_budget(engine: Groundwire, given: AuditTraceBudget) -> BudgetReport:
    judge, sources = _prepare(engine, given)
    return _build_report(await _with_timeout(_score_steps(judge, sources, given), given.timeout_s), judge, given)


def _prepare(engine: Groundwire, given: BudgetArguments) -> tuple[Groundwire, tuple[Source, ...]]:
    judge = engine.variant(target=given.default_target, marker=given.placeholder, bits=True)
    has_text = any(span.text.strip() for span in given.spans)
    return judge, as_sources([Source(s.sid, s.text) for s in given.spans]) if has_text else ()


async def _with_timeout(work: Coroutine[Any, Any, ScoredClaims], seconds: float | None) -> ScoredClaims:
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise BackendTimeout(f"the check took longer than timeout_s={seconds:g}") from None


async def _score_answer(
    judge: Groundwire, answer: str, sources: tuple[Source, ...], given: DetectHallucination
) -> ScoredClaims:
    if sources and given.context_mode == "all" and given.claim_split == "sentences":
        report = await judge.check(answer, sources, choose=lambda claims: claims[: given.max_claims])
        left = sum(claim.kind is ClaimKind.ASSERTION for claim in report.skipped)
        return ScoredClaims(tuple(enumerate(report.claims)), len(report.skipped) - left, left)
    known, target = [source.id for source in sources], judge.profile.target
    whole = given.claim_split == "lines"
    found = _line_claims(answer, known, target) if whole else extract(answer, target=target, known_sources=known)
    claims = [claim for claim in found if claim.kind is ClaimKind.ASSERTION]
    verdicts = await _verify(judge, claims[: given.max_claims], sources, given)
    return ScoredClaims(tuple(enumerate(verdicts)), len(found) - len(claims), max(0, len(claims) - given.max_claims))


def _line_claims(answer: str, known: Sequence[str], target: float) -> list[Claim]:
    """Make one claim per line; a line that asserts nothing is skipped."""
    found = []
    for number, line in enumerate((line for line in answer.splitlines() if line.strip()), 1):
        parts = extract(line, target=target, known_sources=known)
        says = [part for part in parts if part.kind is ClaimKind.ASSERTION]
        cites = dict.fromkeys(label for part in parts for label in part.citations)
        text = " ".join(part.text for part in parts) or line.strip()
        kind = ClaimKind.ASSERTION if says or not parts else parts[0].kind
        found.append(Claim(f"c{number}", text, 0, len(line), tuple(cites), target, kind))
    return found


async def _score_steps(judge: Groundwire, sources: tuple[Source, ...], given: AuditTraceBudget) -> ScoredClaims:
    """Verify steps; with mode `all`, entailed earlier steps are evidence for later ones."""
    numbered = sorted(
        ((n if step.idx is None else step.idx, step) for n, step in enumerate(given.steps)), key=lambda pair: pair[0]
    )
    empty = [(idx, step) for idx, step in numbered if not step.claim.strip()]
    numbered = [(idx, step) for idx, step in numbered if step.claim.strip()]
    target = judge.profile.target
    confidences = [target if step.confidence is None else step.confidence for _, step in numbered]
    if numbered and sources and given.context_mode == "all":
        steps = [Step("", step.claim, tuple(step.cites), p) for (_, step), p in zip(numbered, confidences, strict=True)]
        verdicts = await audit_reasoning(judge, steps, sources)
    else:
        claims = [
            Claim(f"c{n}", step.claim, 0, len(step.claim), tuple(step.cites), p)
            for n, ((_, step), p) in enumerate(zip(numbered, confidences, strict=True))
        ]
        verdicts = await _verify(judge, claims, sources, given)
    cited = (
        replace(verdict, citations=tuple(dict.fromkeys((*step.cites, *verdict.citations))))
        for verdict, (_, step) in zip(verdicts, numbered, strict=True)
    )
    blank = [(idx, Claim("", step.claim, 0, 0, tuple(step.cites))) for idx, step in empty]
    nothing = [(idx, unmeasured(claim, Status.UNVERIFIABLE, None, "asserts nothing", "none")) for idx, claim in blank]
    scored = [*zip((idx for idx, _ in numbered), cited, strict=True), *nothing]
    return ScoredClaims(tuple(sorted(scored, key=lambda pair: pair[0])))


async def _verify(
    judge: Groundwire, claims: Sequence[Claim], sources: tuple[Source, ...], given: BudgetArguments
) -> list[ClaimVerification]:
    """Verify claims; with mode `cited`, each against its cited spans, or all if it cites none that exist."""
    if not claims or not sources:
        return [
            phantom(claim, claim.citations)
            if claim.citations
            else unmeasured(claim, Status.NOT_IN_CONTEXT, GapType.UNSUPPORTED, "there are no spans", "none")
            for claim in claims
        ]
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


def _build_report(scored: ScoredClaims, judge: Groundwire, given: BudgetArguments) -> BudgetReport:
    details = [_build_detail(number, verdict, given) for number, verdict in scored.verdicts]
    bad = [detail.idx for detail in details if detail.flagged]
    failed = [v for _, v in scored.verdicts if v.status is Status.UNCHECKED]
    error = f"{len(failed)} of {len(details)} claims {failed[0].reason}" if failed else None
    error = error if details else NOTHING_TO_CHECK
    summary = BudgetSummary(
        claims_scored=len(details),
        steps_scored=len(details),
        flagged_claims=len(bad),
        flagged_steps=len(bad),
        flagged_idxs=bad[:_MAX_LISTED],
        skipped=scored.skipped,
        left_out=scored.left_out,
        units=given.units,
        verifier_model=judge.backend.model,
        backend=judge.backend.name,
        ignored=given.ignored,
    )
    return BudgetReport(
        flagged=bool(bad) or not details, under_budget=bool(bad), summary=summary, details=details, error=error
    )


def _build_detail(number: int, verdict: ClaimVerification, given: BudgetArguments) -> ClaimDetail:
    uncited = given.require_citations and not verdict.citations
    units, required, low, high = given.units, verdict.required_bits, verdict.gap_low, verdict.gap_high
    unmeasured = None in (required, low, high)
    return ClaimDetail(
        idx=number,
        claim=verdict.claim_text,
        cites=list(verdict.citations),
        target=verdict.confidence,
        prior_yes=YesProbability(p_lower=verdict.p0, p_upper=verdict.p0),
        post_yes=YesProbability(p_lower=verdict.p1, p_upper=verdict.p1),
        required=_build_interval(required, required, units),
        # observed = required − gap, at both ends of the gap's interval
        observed=_build_interval(
            None if unmeasured else (required or 0.0) - (high or 0.0),
            None if unmeasured else (required or 0.0) - (low or 0.0),
            units,
        ),
        budget_gap=_build_interval(low, high, units),
        flagged=verdict.is_flagged or verdict.status is Status.UNCHECKED or uncited,
        has_any_citations=bool(verdict.citations),
        status=verdict.status.value,
        gap_type=verdict.gap_type.value if verdict.gap_type else None,
        certain=verdict.certain,
        reason="no citation, but require_citations is set" if uncited else verdict.reason,
        evidence=[CitedSpan(sid=r.source, start=r.start, end=r.end, text=r.text) for r in verdict.evidence],
    )


def _build_interval(low: float | None, high: float | None, units: Units) -> BitInterval:
    def measured(bits: float | None) -> float | None:
        return None if bits is None else round(bits * _PER_BIT[units], 4)

    return BitInterval(min=measured(low), max=measured(high), units=units)
