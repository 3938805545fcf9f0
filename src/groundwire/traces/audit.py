"""Audit a reasoning trace: judge every step, compare the steps, derive the answer independently."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from groundwire import pipeline
from groundwire.actions.judge import check_actions
from groundwire.claims.extractor import extract
from groundwire.engine import Groundwire
from groundwire.errors import BackendError, InputError
from groundwire.llm.base import Generator
from groundwire.pipeline import CheckContext
from groundwire.requests import Sources, as_sources, as_text
from groundwire.text.names import names
from groundwire.text.numbers import Number, numbers
from groundwire.text.tokens import content_words, words
from groundwire.traces.computation import derive, without_lead_in
from groundwire.traces.judge import LinkedTrace, judge_steps, premises, rivals, step_terms
from groundwire.traces.steps import Steps, as_steps, link, parse_text, unmarked
from groundwire.types import (
    ActionLedger,
    Case,
    Claim,
    ClaimKind,
    ClaimVerification,
    Derived,
    GapType,
    PostHoc,
    Query,
    Source,
    Status,
    Step,
    StepVerdict,
    TraceAudit,
)
from groundwire.verdicts.summary import claim_risk
from groundwire.verifiers.meaning import (
    SAME,
    WITH_MORE,
    Core,
    agreement,
    asks_whether,
    core,
    counted,
    first_look,
    is_silent,
    same_value,
)
from groundwire.verifiers.prompts import from_steps

_MAX_TOKENS = 128  # an answer without reasoning
_LAST_STEPS = 3  # where a conclusion is looked for
_THAN = re.compile(r"\b(\w+) than\b", re.IGNORECASE)
_FIRM = re.compile(r"\b(?:so|thus|hence|therefore|total|in all|answer|result|conclusion|altogether)\b|=", re.IGNORECASE)
_BRIEF = 6  # words of an answer that is a value or a name rather than a statement
_FINAL = re.compile(r"\b(?:the|my) (?:final |correct |right )?(?:answer|result|solution) (?:is|=|:)", re.IGNORECASE)
_HOW_MANY = re.compile(r"\bhow many (?:more |other |of the )?(\w+)", re.IGNORECASE)
_SOLVED = re.compile(r"\b([a-zA-Z])\s*=\s*-?[\d.,/]+\W*$")
_VARIABLE = re.compile(r"(?<![\w'’])[b-zB-HJ-Z](?![\w'’])")  # not the article or the pronoun
_PRONOUN = re.compile(r"(?:it|he|she|they|this|that|these|those)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[.,;:()](?!\d)")
_NOUN_REACH = 2  # words behind a number in which its noun stands: "90 chairs", "90 wooden chairs"
_JOINT = re.compile(r"\b(?:together|combined|both|each|per)\b", re.IGNORECASE)
_TOTAL = re.compile(r"\b(?:total|in all|altogether|and)\b", re.IGNORECASE)
_ATTRIBUTES = {
    name: re.compile(rf"\b(?:{forms})\b", re.IGNORECASE)
    for name, forms in {
        "length": "long|longer|length",
        "height": "tall|taller|high|higher|height",
        "width": "wide|wider|width|broad|breadth",
        "depth": "deep|deeper|depth",
        "distance": "far|farther|further|distance|away",
        "age": "old|older|age|aged",
        "weight": "heavy|heavier|weighs?|weighed|weight",
        "price": "costs?|price|pays?|paid|spends?|spent",
    }.items()
}


# The post-hoc test: derive the answer from the steps alone, then compare it with the one given.

SAYS_SO = " says so"
"""Follows the id of the step that states the answer."""


@dataclass(frozen=True, slots=True)
class PostHocInput:
    """The input of the executor, and the answer, which it does not see."""

    question: str
    steps: tuple[Step, ...]
    answer: str


async def examine(given: PostHocInput, context: CheckContext, generator: Generator | None = None) -> PostHoc:
    if not given.answer.strip():
        return PostHoc(Derived.ABSENT, reason="the trace states no answer")
    if generator is None:
        return await _by_verifier(given, context)
    try:
        return await _by_model(given, context, generator)
    except BackendError as error:
        found = await _by_verifier(given, context)
        return replace(found, reason=f"{found.reason} ({generator.name} could not be asked: {error.message})")


async def _by_model(given: PostHocInput, context: CheckContext, generator: Generator) -> PostHoc:
    prompt = from_steps(given.question, [step.text for step in given.steps])
    reply = await generator.complete(prompt, max_tokens=_MAX_TOKENS)
    own = " ".join(reply[0].text.split())
    alike: float | None = 0.0
    if not own or is_silent(own):
        outcome, reason = Derived.NO, "the steps do not lead to an answer"
    else:
        (alike,) = await agreement(context.backend.verifier, [(own, given.answer)], given.question)
        outcome, reason = Derived.NO, f"the steps lead to another answer: {own}"
        if alike is None:
            outcome, reason = Derived.UNCHECKED, "the two answers could not be compared"
        elif alike >= SAME:
            outcome, reason = Derived.YES, "the steps lead to this answer"
    return PostHoc(outcome, given.answer, own, generator.name, agreement=alike, reason=reason)


async def _by_verifier(given: PostHocInput, context: CheckContext) -> PostHoc:
    base = PostHoc(
        Derived.UNCHECKED, given.answer, executor=f"the verifier '{context.backend.name}' (no language model)"
    )
    settled = _by_conclusion(given)
    if settled is not None:
        step, alike = settled
        if alike >= SAME:
            return replace(base, outcome=Derived.YES, agreement=alike, reason=f"{step.id}{SAYS_SO}")
        return replace(base, outcome=Derived.NO, agreement=alike, reason=f"{step.id} concludes otherwise: {step.text}")
    missing = _missing_value(given)
    if missing:
        return replace(base, outcome=Derived.NO, agreement=0.0, reason=f"no step mentions {missing}")
    claims = _claims(given, context)
    if len(claims) > context.profile.max_claims:
        return replace(base, reason=f"the answer makes {len(claims):,} claims, which is too many to derive")
    sources = tuple(Source(step.id, step.text) for step in given.steps)
    verdicts = await pipeline.verify(claims, Case(given.answer, sources, given.question), context)
    worst = max(verdicts, key=lambda v: (v.is_flagged, v.status is Status.UNCHECKED, claim_risk(v)))
    if worst.status is Status.UNCHECKED:
        return replace(base, reason=worst.reason)
    entailed = worst.status is Status.ENTAILED
    reason = f"the steps do not support it: {worst.reason.replace('the sources', 'the steps')}"
    reason = "the steps support the answer" if entailed else reason
    return replace(base, outcome=Derived.YES if entailed else Derived.NO, agreement=worst.p1, reason=reason)


def _by_conclusion(given: PostHocInput) -> tuple[Step, float] | None:
    """Compare a short answer with the last step that answers the question.

    A step about something else ("The hall was restored in 1950") says nothing for or against the answer.
    """
    if len(core(given.answer, given.question).text.split()) > _BRIEF and len(given.answer) > 80:
        return None
    related = [step for step in reversed(given.steps) if _is_about(step, given)]
    for step in related[:_LAST_STEPS]:
        if _ranked_second(step, given):
            return step, 0.0
        look = first_look(step.text, given.answer, given.question)
        if look is None:
            continue
        if _states(step, look, given) if look >= SAME else _is_rival(step, given):
            return step, look
    return None


def _states(step: Step, look: float, given: PostHocInput) -> bool:
    """True if a step states the answer as one: with more words than that, it must be about what is asked.

    "Amos Pratt collected the tolls on the bridge" does not say who designed it.
    """
    asked = content_words(given.question)
    return look > WITH_MORE or not asked or 2 * len(asked & content_words(step.text)) > len(asked)


def _is_rival(step: Step, given: PostHocInput) -> bool:
    """True if a step with another result than the answer's is about the same quantity, day or name."""
    if _FINAL.search(step.text):
        return True
    if not _concludes(step, given) or _has_other_subject(step, given):
        return False
    found, answer = core(step.text, given.question), core(given.answer, given.question)
    if answer.values:
        return _same_attribute(step.text, given.question) and any(
            _same_kind(number, found.text, answer.values, given.question) for number in found.values
        )
    return not answer.days or bool(found.days)


def _has_other_subject(step: Step, given: PostHocInput) -> bool:
    """True if a step solves another variable, or judges another person than the one a yes/no question names."""
    solved, asked = _SOLVED.search(step.text), set(_VARIABLE.findall(given.question))
    if solved and asked:
        return solved[1] not in asked
    named = {w.norm for name in names(given.question) for w in words(name.text)}
    if not asks_whether(given.question) or not named:
        return False
    return not named & content_words(step.text) and not _PRONOUN.match(without_lead_in(step.text))


def _same_kind(number: Number, text: str, answer: Sequence[Number], question: str) -> bool:
    """True if a number counts or measures what the question asks for: "4 windows" answers no "How many chairs?"."""
    if number.unit and any(other.unit and other.unit != number.unit for other in answer):
        return False
    asked = _HOW_MANY.search(question)
    if asked is None:
        return True
    if number.unit:
        return any(other.unit == number.unit for other in (*answer, *numbers(f"1 {asked[1]}")))
    (noun,) = [w.norm for w in words(asked[1])] or [""]
    behind = _CLAUSE_END.split(text[number.end :], maxsplit=1)[0]
    following = words(behind)[:_NOUN_REACH]
    return not following or following[0].is_stop or noun in {w.norm for w in following}


def _same_attribute(text: str, question: str) -> bool:
    """False if a step is about another dimension, or about more things than the question ("together they …")."""
    asked = {name for name, expression in _ATTRIBUTES.items() if expression.search(question)}
    spoken = {name for name, expression in _ATTRIBUTES.items() if expression.search(text)}
    if asked and spoken and not asked & spoken:
        return False
    return not _JOINT.search(text) or bool(_JOINT.search(question) or _TOTAL.search(question))


def _ranked_second(step: Step, given: PostHocInput) -> bool:
    """True if the step ranks the answer second ("Berlin is larger than Hamburg", answer "Hamburg")."""
    compared = _THAN.search(step.text)
    answer = given.answer.strip(" .!").casefold()
    if compared is None or not answer or compared.group(1).casefold() not in given.question.casefold():
        return False
    before, after = step.text[: compared.start()].casefold(), step.text[compared.end() :].casefold()
    return answer in after and answer not in before


def _missing_value(given: PostHocInput) -> str:
    """The number or name of the answer if no step contains it, else ""."""
    own = core(given.answer, given.question)
    texts = [given.question, *(step.text for step in given.steps)]
    if own.is_value:
        known = [number for text in texts for number in counted(text)]
        missing = [n for n in own.values if not any(same_value(n, other) for other in known)]
        return own.text[missing[0].start : missing[0].end] if missing else ""
    spoken = {w.norm for text in texts for w in words(text)}
    initials = {w.text.casefold() for text in texts for w in words(text) if w.text.isupper()}
    if own.is_name and not own.words & spoken and not own.words & initials and _all_names(own):
        return own.named[0]
    return ""


def _all_names(own: Core) -> bool:
    named = {w.norm for name in own.named for w in words(name)}
    return bool(own.words) and own.words <= named


def _is_about(step: Step, given: PostHocInput) -> bool:
    """True if a step is about the question or states the answer."""
    spoken, asked = content_words(step.text), content_words(given.question)
    answered = core(given.answer, given.question)
    counted_out = (
        derive(step.text, given.question) is not None
    )  # e.g. a letter count: the question has the word, the step the letter
    if _FINAL.search(step.text):
        return True
    firm = counted_out or _FIRM.search(step.text) is not None
    dated = {w.norm for day in answered.days for w in words(answered.text[day.start : day.end])}
    if not asked and any(same_value(n, other) for n in answered.values for other in core(step.text).values):
        return True
    return bool(spoken & (asked | (answered.words - dated))) or (firm and bool(answered.values))


def _concludes(step: Step, given: PostHocInput) -> bool:
    """True if a step states a comparable result: a number, a date, yes or no, or just a name."""
    about = core(step.text, given.question)
    derived = derive(step.text, given.question)
    states = bool(_FIRM.search(step.text)) or (derived is not None and derived.result is not None)
    named = about.is_name and _all_names(about)
    return states and bool(about.values or about.days or named or asks_whether(given.question))


def _claims(given: PostHocInput, context: CheckContext) -> Sequence[Claim]:
    """The claims of the answer; a bare word or number is combined with the question."""
    found = [c for c in extract(given.answer, target=context.profile.target) if c.kind is ClaimKind.ASSERTION]
    bare = len(given.answer.split()) <= _BRIEF and given.question
    if found and not bare:
        # Citations refer to sources, but here the steps are the sources.
        return [replace(claim, citations=()) for claim in found]
    text = f"{given.question} {given.answer}" if bare else given.answer
    return [Claim("c1", text.strip(), 0, len(given.answer), (), context.profile.target)]


# The audit of a whole trace.

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


async def audit(request: AuditRequest, context: CheckContext, generator: Generator | None = None) -> TraceAudit:
    """Audit a trace. The optional `generator` derives the answer independently."""
    trace, verdicts = await _judged(request, context)
    if request.post_hoc:
        post_hoc = await examine(PostHocInput(request.question, trace.steps, request.answer), context, generator)
        post_hoc = _over_flagged_steps(post_hoc, verdicts)
    else:
        outcome = Derived.UNCHECKED if request.answer.strip() else Derived.ABSENT
        post_hoc = PostHoc(outcome, request.answer, reason="trace_auditing.check_post_hoc is off")
    failed, error = [v for v in verdicts if v.status is Status.UNCHECKED], None
    if failed:
        error = f"{len(failed)} of {len(verdicts)} steps {failed[0].verdict.reason}"
    elif post_hoc.outcome is Derived.UNCHECKED and post_hoc.executor:
        error = f"the answer could not be derived independently: {post_hoc.reason}"
    actions = tuple(check_actions(request.ledger))
    return TraceAudit(tuple(verdicts), post_hoc, context.backend.name, request.question, error, actions)


def _over_flagged_steps(post_hoc: PostHoc, verdicts: Sequence[StepVerdict]) -> PostHoc:
    """An answer does not follow if a step up to the one that states it is wrong."""
    stating = post_hoc.reason.removesuffix(SAYS_SO)
    ids = [v.step.id for v in verdicts]
    until = ids.index(stating) + 1 if stating in ids else len(ids)
    bad = [v.step.id for v in verdicts[:until] if v.verdict.is_flagged]
    if post_hoc.outcome is not Derived.YES or not bad:
        return post_hoc
    many = "which is" if len(bad) == 1 else "which are"
    return replace(post_hoc, outcome=Derived.NO, reason=f"it comes after {', '.join(bad)}, {many} flagged")


async def _judged(request: AuditRequest, context: CheckContext) -> tuple[LinkedTrace, list[StepVerdict]]:
    """The linked trace and a verdict per step; a step that contradicts another one is flagged unless its
    evidence supports it."""
    trace = prepared(request, context.profile.max_claims)
    judged = await judge_steps(trace, context)
    clashes = await _contradictions(trace, context)
    found = []
    for n, (step, one) in enumerate(zip(trace.steps, judged, strict=True)):
        verdict, against = one.verdict, tuple(trace.steps[earlier].id for earlier, later in clashes if later == n)
        if against and verdict.status is not Status.ENTAILED:
            contradiction = f"contradicts {', '.join(against)}"
            if verdict.is_flagged:
                verdict = replace(verdict, reason=f"{verdict.reason}; {contradiction}")
            else:
                status, gap = Status.CONTRADICTED, GapType.CONTRADICTED
                verdict = replace(verdict, status=status, gap_type=gap, is_flagged=True, reason=contradiction)
        found.append(StepVerdict(step, verdict.status, verdict, one.premises, against, trace.links[n].circular))
    return trace, found


def prepared(request: AuditRequest, most: int) -> LinkedTrace:
    """Give the steps ids and links, and make statements in the question a source."""
    sources = request.sources
    # Statements in a question ("Tom has 3 apples. How many …?") are context.
    stated = [claim.text for claim in extract(request.question) if claim.kind is ClaimKind.ASSERTION]
    named = any(source.id.casefold() == QUESTION for source in sources)
    if stated and not named and request.question.strip().endswith("?"):
        sources = (*sources, Source(QUESTION, " ".join(stated)))
    given = parse_text(request.steps).steps if isinstance(request.steps, str) else request.steps
    if isinstance(given, Sequence) and len(given) > most:
        many = f"the trace has {len(given):,} steps"
        raise InputError(many, hint=f"the limit is {most:,} (limits.max_claims)")
    steps = as_steps(given, sources)
    return LinkedTrace(steps, tuple(link(steps, sources)), sources, request.question)


async def _contradictions(trace: LinkedTrace, context: CheckContext) -> list[tuple[int, int]]:
    """Pairs of related steps that contradict each other, asked in both directions in one batch."""
    texts = [unmarked(step) for step in trace.steps]
    about = [step_terms(text) for text in texts]
    pairs = rivals(about, premises(about))
    both_ways = [p for pair in pairs for p in ((pair.later, pair.earlier), (pair.earlier, pair.later))]
    queries = [Query(texts[x], texts[y]) for x, y in both_ways]
    estimates = await context.backend.verifier.estimate(queries) if queries else []
    found = []
    for n, pair in enumerate(pairs):
        both = estimates[2 * n : 2 * n + 2]
        denied = not any(e.error for e in both) and max(e.p_no for e in both) >= _CONTRADICTED
        if denied and (pair.sharp or max(e.p_yes for e in both) <= _COMPATIBLE):
            found.append((pair.earlier, pair.later))
    return found


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
    _, found = await _judged(AuditRequest(steps, as_sources(sources)), engine.context)
    return [step.verdict for step in found]
