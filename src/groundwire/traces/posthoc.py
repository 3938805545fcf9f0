"""Detect post-hoc rationalisation: does the answer follow from the steps alone?

An independent executor sees the question and the steps but not the answer: a configured language model
derives its own answer; otherwise the verifier checks whether the steps support the answer. Answers are
compared by meaning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from groundwire import pipeline
from groundwire.claims.extractor import extract
from groundwire.errors import BackendError
from groundwire.llm.base import Generator
from groundwire.pipeline import CheckContext
from groundwire.text.tokens import words
from groundwire.traces.arithmetic import derive
from groundwire.types import Case, Claim, ClaimKind, ClaimVerification, Derived, PostHoc, Source, Status, Step
from groundwire.verdicts.risk import claim_risk
from groundwire.verifiers.meaning import (
    SAME,
    Core,
    agreement,
    asks_whether,
    core,
    counted,
    first_look,
    same_value,
)
from groundwire.verifiers.prompts import from_steps
from groundwire.verifiers.similarity import is_silent

_MAX_TOKENS = 128  # an answer without reasoning
_LAST_STEPS = 3  # where a conclusion is looked for
_THAN = re.compile(r"\b(\w+) than\b", re.IGNORECASE)
_FIRM = re.compile(
    r"\b(?:so|thus|hence|therefore|total|in all|answer|result|conclusion|altogether)\b|=", re.IGNORECASE
)
_BRIEF = 6  # words of an answer that is a value or a name rather than a statement


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
    base = PostHoc(Derived.UNCHECKED, given.answer, own, generator.name)
    if not own or is_silent(own):
        return replace(base, outcome=Derived.NO, agreement=0.0, reason="the steps do not lead to an answer")
    (alike,) = await agreement(context.backend.verifier, [(own, given.answer)], given.question)
    if alike is None:
        return replace(base, reason="the two answers could not be compared")
    if alike >= SAME:
        return replace(base, outcome=Derived.YES, agreement=alike, reason="the steps lead to this answer")
    return replace(
        base, outcome=Derived.NO, agreement=alike, reason=f"the steps lead to another answer: {own}"
    )


async def _by_verifier(given: PostHocInput, context: CheckContext) -> PostHoc:
    base = PostHoc(
        Derived.UNCHECKED, given.answer, executor=f"the verifier '{context.backend.name}' (no language model)"
    )
    settled = _by_conclusion(given)
    if settled is not None:
        step, alike = settled
        if alike >= SAME:
            return replace(base, outcome=Derived.YES, agreement=alike, reason=f"{step.id}{SAYS_SO}")
        return replace(
            base, outcome=Derived.NO, agreement=alike, reason=f"{step.id} concludes otherwise: {step.text}"
        )
    missing = _missing_value(given)
    if missing:
        return replace(base, outcome=Derived.NO, agreement=0.0, reason=f"no step mentions {missing}")
    claims = _claims(given, context)
    if len(claims) > context.profile.max_claims:
        return replace(base, reason=f"the answer makes {len(claims):,} claims, which is too many to derive")
    verdicts = await _verified(given, claims, context)
    worst = max(verdicts, key=lambda v: (v.is_flagged, v.status is Status.UNCHECKED, claim_risk(v)))
    if worst.status is Status.UNCHECKED:
        return replace(base, reason=worst.reason)
    entailed = worst.status is Status.ENTAILED
    reason = (
        "the steps support the answer"
        if entailed
        else f"the steps do not support it: {_sources_are_steps(worst.reason)}"
    )
    return replace(base, outcome=Derived.YES if entailed else Derived.NO, agreement=worst.p1, reason=reason)


def _sources_are_steps(reason: str) -> str:
    return reason.replace("the sources", "the steps")


def _by_conclusion(given: PostHocInput) -> tuple[Step, float] | None:
    """Compare a short answer with the last step that states a result for the question."""
    if len(core(given.answer, given.question).text.split()) > _BRIEF and len(given.answer) > 80:
        return None
    for step in list(reversed(given.steps))[:_LAST_STEPS]:
        look = 0.0 if _ranked_second(step, given) else first_look(step.text, given.answer, given.question)
        settles = _ranked_second(step, given) or _concludes(step, given)
        if look is not None and _is_about(step, given) and (look >= SAME or settles):
            return step, look
    return None


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
    spoken = {w.norm for w in words(step.text) if not w.is_stop}
    asked = {w.norm for w in words(given.question) if not w.is_stop}
    answered = core(given.answer, given.question)
    counted_out = (
        derive(step.text, given.question) is not None
    )  # e.g. a letter count: the question has the word, the step the letter
    firm = counted_out or _FIRM.search(step.text) is not None
    return bool(spoken & (asked | answered.words)) or (firm and bool(answered.values))


def _concludes(step: Step, given: PostHocInput) -> bool:
    """True if a step states a comparable result: a number, a date, yes or no, or just a name."""
    about = core(step.text, given.question)
    derived = derive(step.text, given.question)
    states = bool(_FIRM.search(step.text)) or (derived is not None and derived.result is not None)
    named = about.is_name and _all_names(about)
    return states and bool(about.values or about.days or named or asks_whether(given.question))


async def _verified(
    given: PostHocInput, claims: Sequence[Claim], context: CheckContext
) -> list[ClaimVerification]:
    """Verify the claims of the answer with the steps as the only sources."""
    sources = tuple(Source(step.id, step.text) for step in given.steps)
    case = Case(given.answer, sources, given.question)
    return await pipeline.verify(claims, case, context)


def _claims(given: PostHocInput, context: CheckContext) -> Sequence[Claim]:
    """The claims of the answer; a bare word or number is combined with the question."""
    found = [c for c in extract(given.answer, target=context.profile.target) if c.kind is ClaimKind.ASSERTION]
    bare = len(given.answer.split()) <= _BRIEF and given.question
    if found and not bare:
        # Citations refer to sources, but here the steps are the sources.
        return [replace(claim, citations=()) for claim in found]
    text = f"{given.question} {given.answer}" if bare else given.answer
    return [Claim("c1", text.strip(), 0, len(given.answer), (), context.profile.target)]
