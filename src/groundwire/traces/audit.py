"""The audit of a trace: every step judged, steps held against each other, the answer derived anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from groundwire.claims.extractor import extract
from groundwire.errors import InputError
from groundwire.llm.base import Generator
from groundwire.pipeline import CheckContext
from groundwire.traces.judge import LinkedTrace, StepJudgement, judge_steps, premises, rivals, step_terms
from groundwire.traces.posthoc import PostHocInput, examine
from groundwire.traces.steps import Steps, as_steps, link, parse_text, unmarked
from groundwire.types import (
    ClaimKind,
    ClaimVerification,
    Derived,
    Estimate,
    GapType,
    PostHoc,
    Query,
    Source,
    Status,
    StepVerdict,
    TraceAudit,
)

QUESTION = "question"
_DENIED = 0.6
_ALSO_TRUE = 0.35


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """A trace as it is handed in. Without `post_hoc` nobody derives the answer anew."""

    steps: Steps
    sources: tuple[Source, ...] = ()
    question: str = ""
    answer: str = ""
    post_hoc: bool = True


async def audit(request: AuditRequest, court: CheckContext, generator: Generator | None = None) -> TraceAudit:
    """`generator`, where there is one, is the independent executor."""
    trace = prepared(request, court.profile.max_claims)
    judged = await judge_steps(trace, court)
    verdicts = await _against_each_other(trace, judged, court)
    riddle = PostHocInput(request.question, trace.steps, request.answer)
    if request.post_hoc:
        post_hoc = await examine(riddle, court, generator)
    else:
        outcome = Derived.UNCHECKED if request.answer.strip() else Derived.ABSENT
        post_hoc = PostHoc(outcome, request.answer, reason="trace_auditing.check_post_hoc is off")
    return TraceAudit(
        tuple(verdicts), post_hoc, court.backend.name, request.question, _error(verdicts, post_hoc)
    )


async def audit_claims(request: AuditRequest, court: CheckContext) -> list[ClaimVerification]:
    """A verdict a step, no answer looked for."""
    trace = prepared(request, court.profile.max_claims)
    judged = await judge_steps(trace, court)
    return [found.verdict for found in await _against_each_other(trace, judged, court)]


def prepared(request: AuditRequest, most: int) -> LinkedTrace:
    """The steps with ids and links, and what the question states as a source of its own."""
    sources = request.sources
    if not any(source.id.casefold() == QUESTION for source in sources):
        sources = (*sources, *_stated(request.question))
    given = parse_text(request.steps).steps if isinstance(request.steps, str) else request.steps
    if isinstance(given, Sequence) and len(given) > most:
        many = f"the trace has {len(given):,} steps"
        raise InputError(many, hint=f"the limit is {most:,} (limits.max_claims)")
    steps = as_steps(given, sources)
    return LinkedTrace(steps, tuple(link(steps, sources)), sources, request.question)


def _stated(question: str) -> tuple[Source, ...]:
    """A question may state facts ("Tom has 3 apples. How many …?"): they are context."""
    facts = [claim.text for claim in extract(question) if claim.kind is ClaimKind.ASSERTION]
    return (Source(QUESTION, " ".join(facts)),) if facts and question.strip().endswith("?") else ()


def _error(verdicts: Sequence[StepVerdict], post_hoc: PostHoc) -> str | None:
    failed = [v for v in verdicts if v.status is Status.UNCHECKED]
    if failed:
        return f"{len(failed)} of {len(verdicts)} steps {failed[0].verdict.reason}"
    if post_hoc.outcome is Derived.UNCHECKED and post_hoc.executor:
        return f"the answer could not be derived anew: {post_hoc.reason}"
    return None


async def _against_each_other(
    trace: LinkedTrace, judged: Sequence[StepJudgement], court: CheckContext
) -> list[StepVerdict]:
    clashes = await _contradictions(trace, court)
    found = []
    for n, (step, one) in enumerate(zip(trace.steps, judged, strict=True)):
        against = tuple(trace.steps[earlier].id for earlier, later in clashes if later == n)
        verdict = _clashing(one.verdict, against)
        found.append(
            StepVerdict(step, verdict.status, verdict, one.premises, against, trace.links[n].circular)
        )
    return found


def _clashing(verdict: ClaimVerification, against: Sequence[str]) -> ClaimVerification:
    """Of two steps that exclude each other the one that its evidence does not carry is to blame."""
    if not against or verdict.status is Status.ENTAILED:
        return verdict
    told = f"contradicts {', '.join(against)}"
    reason = f"{verdict.reason}; {told}" if verdict.is_flagged else told
    return replace(verdict, is_flagged=True, gap_type=verdict.gap_type or GapType.CONTRADICTED, reason=reason)


async def _contradictions(trace: LinkedTrace, court: CheckContext) -> list[tuple[int, int]]:
    """Pairs of related steps that a verifier says exclude each other, asked both ways, in one call."""
    texts = [unmarked(step) for step in trace.steps]
    about = [step_terms(text) for text in texts]
    pairs = rivals(about, premises(about))
    queries = [
        Query(texts[x], texts[y])
        for pair in pairs
        for x, y in ((pair.later, pair.earlier), (pair.earlier, pair.later))
    ]
    estimates = await court.backend.verifier.estimate(queries) if queries else []
    return [
        (pair.earlier, pair.later)
        for n, pair in enumerate(pairs)
        if _excluded(estimates[2 * n], estimates[2 * n + 1], sharp=pair.sharp)
    ]


def _excluded(forward: Estimate, backward: Estimate, *, sharp: bool) -> bool:
    both = (forward, backward)
    if any(e.error for e in both):
        return False
    denied = max(e.p_no for e in both) >= _DENIED
    return denied and (sharp or max(e.p_yes for e in both) <= _ALSO_TRUE)
