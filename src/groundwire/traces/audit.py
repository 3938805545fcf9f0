"""Audit a reasoning trace: judge every step, compare the steps, derive the answer independently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from groundwire.actions.judge import check_actions
from groundwire.claims.extractor import extract
from groundwire.engine import Groundwire, Sources, as_sources, as_text
from groundwire.errors import InputError
from groundwire.llm.base import Generator
from groundwire.pipeline import CheckContext
from groundwire.traces.judge import LinkedTrace, StepJudgement, judge_steps, premises, rivals, step_terms
from groundwire.traces.posthoc import SAYS_SO, PostHocInput, examine
from groundwire.traces.steps import Steps, as_steps, link, parse_text, unmarked
from groundwire.types import (
    ActionLedger,
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
_CONTRADICTED = 0.6  # P(no) from which two steps exclude each other
_COMPATIBLE = 0.35  # P(yes) above which they do not, if only a word differs


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """A trace to audit. Without `post_hoc` the answer is not derived independently.

    `ledger` holds the tool calls, if the trace is a conversation with tools.
    """

    steps: Steps
    sources: tuple[Source, ...] = ()
    question: str = ""
    answer: str = ""
    post_hoc: bool = True
    ledger: ActionLedger = field(default_factory=ActionLedger)


async def audit(
    request: AuditRequest, context: CheckContext, generator: Generator | None = None
) -> TraceAudit:
    """Audit a trace. The optional `generator` derives the answer independently."""
    trace = prepared(request, context.profile.max_claims)
    judged = await judge_steps(trace, context)
    verdicts = await _compare_steps(trace, judged, context)
    post_hoc_input = PostHocInput(request.question, trace.steps, request.answer)
    if request.post_hoc:
        post_hoc = _over_flagged_steps(await examine(post_hoc_input, context, generator), verdicts)
    else:
        outcome = Derived.UNCHECKED if request.answer.strip() else Derived.ABSENT
        post_hoc = PostHoc(outcome, request.answer, reason="trace_auditing.check_post_hoc is off")
    return TraceAudit(
        tuple(verdicts),
        post_hoc,
        context.backend.name,
        request.question,
        _error(verdicts, post_hoc),
        tuple(check_actions(request.ledger)),
    )


def _over_flagged_steps(post_hoc: PostHoc, verdicts: Sequence[StepVerdict]) -> PostHoc:
    """An answer does not follow if a step up to the one that states it is wrong."""
    if post_hoc.outcome is not Derived.YES:
        return post_hoc
    stating = post_hoc.reason.removesuffix(SAYS_SO)
    ids = [v.step.id for v in verdicts]
    until = ids.index(stating) + 1 if stating in ids else len(ids)
    bad = [v.step.id for v in verdicts[:until] if v.verdict.is_flagged]
    if not bad:
        return post_hoc
    many = "which is" if len(bad) == 1 else "which are"
    return replace(post_hoc, outcome=Derived.NO, reason=f"it comes after {', '.join(bad)}, {many} flagged")


async def audit_claims(request: AuditRequest, context: CheckContext) -> list[ClaimVerification]:
    """One verdict per step, without looking at the answer."""
    trace = prepared(request, context.profile.max_claims)
    judged = await judge_steps(trace, context)
    return [found.verdict for found in await _compare_steps(trace, judged, context)]


def prepared(request: AuditRequest, most: int) -> LinkedTrace:
    """Give the steps ids and links, and make statements in the question a source."""
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
    """The statements in a question ("Tom has 3 apples. How many …?"), as context."""
    facts = [claim.text for claim in extract(question) if claim.kind is ClaimKind.ASSERTION]
    return (Source(QUESTION, " ".join(facts)),) if facts and question.strip().endswith("?") else ()


def _error(verdicts: Sequence[StepVerdict], post_hoc: PostHoc) -> str | None:
    failed = [v for v in verdicts if v.status is Status.UNCHECKED]
    if failed:
        return f"{len(failed)} of {len(verdicts)} steps {failed[0].verdict.reason}"
    if post_hoc.outcome is Derived.UNCHECKED and post_hoc.executor:
        return f"the answer could not be derived independently: {post_hoc.reason}"
    return None


async def _compare_steps(
    trace: LinkedTrace, judged: Sequence[StepJudgement], context: CheckContext
) -> list[StepVerdict]:
    clashes = await _contradictions(trace, context)
    found = []
    for n, (step, one) in enumerate(zip(trace.steps, judged, strict=True)):
        against = tuple(trace.steps[earlier].id for earlier, later in clashes if later == n)
        verdict = _with_contradictions(one.verdict, against)
        found.append(
            StepVerdict(step, verdict.status, verdict, one.premises, against, trace.links[n].circular)
        )
    return found


def _with_contradictions(verdict: ClaimVerification, against: Sequence[str]) -> ClaimVerification:
    """Flag a step that contradicts another one, unless its evidence supports it."""
    if not against or verdict.status is Status.ENTAILED:
        return verdict
    contradiction = f"contradicts {', '.join(against)}"
    reason = f"{verdict.reason}; {contradiction}" if verdict.is_flagged else contradiction
    return replace(verdict, is_flagged=True, gap_type=verdict.gap_type or GapType.CONTRADICTED, reason=reason)


async def _contradictions(trace: LinkedTrace, context: CheckContext) -> list[tuple[int, int]]:
    """Pairs of related steps that contradict each other, asked in both directions in one batch."""
    texts = [unmarked(step) for step in trace.steps]
    about = [step_terms(text) for text in texts]
    pairs = rivals(about, premises(about))
    queries = [
        Query(texts[x], texts[y])
        for pair in pairs
        for x, y in ((pair.later, pair.earlier), (pair.earlier, pair.later))
    ]
    estimates = await context.backend.verifier.estimate(queries) if queries else []
    return [
        (pair.earlier, pair.later)
        for n, pair in enumerate(pairs)
        if _exclude_each_other(estimates[2 * n], estimates[2 * n + 1], sharp=pair.sharp)
    ]


def _exclude_each_other(forward: Estimate, backward: Estimate, *, sharp: bool) -> bool:
    both = (forward, backward)
    if any(e.error for e in both):
        return False
    denied = max(e.p_no for e in both) >= _CONTRADICTED
    return denied and (sharp or max(e.p_yes for e in both) <= _COMPATIBLE)


async def audit_trace(
    engine: Groundwire,
    steps: Steps,
    question: str | None = None,
    context: Sources | None = None,
    answer: str | None = None,
    *,
    generator: Generator | None = None,
    ledger: ActionLedger | None = None,
) -> TraceAudit:
    """A verdict on each step of a reasoning trace, and whether the answer follows from the steps alone.

    With a `ledger` of tool calls, what the agent says it did is compared with them.
    `generator` derives the answer from the steps; default is the configured one (`generator.*`). If there
    is none, the verifier decides.
    """
    config = engine.config
    if len(answer or "") > config.limits.max_answer_chars:
        raise InputError("the answer is too long", hint="the limit is limits.max_answer_chars")
    request = AuditRequest(
        steps,
        as_sources(context or ()),
        as_text(question or "", "the question"),
        as_text(answer or "", "the answer"),
        config.hallucination.trace_auditing.check_post_hoc,
        ledger or ActionLedger(),
    )
    return await audit(request, engine.context, generator or engine.language_model())


async def audit_reasoning(engine: Groundwire, steps: Steps, sources: Sources) -> list[ClaimVerification]:
    """A verdict on each step of {claim, cites}, given the sources and the supported earlier steps."""
    return await audit_claims(AuditRequest(steps, as_sources(sources)), engine.context)
