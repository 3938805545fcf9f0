"""Is the answer derivable from the steps alone, or was it found elsewhere and the steps written around it?

An independent executor sees the question and the steps and never the answer: a language model where one is
configured, which derives an answer of its own; else the verifier, which says whether the steps carry the
answer. Answers are compared by meaning.
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

_MAX_TOKENS = 128
_CONCLUDES = 3
_THAN = re.compile(r"\b(\w+) than\b", re.IGNORECASE)
_FIRM = re.compile(
    r"\b(?:so|thus|hence|therefore|total|in all|answer|result|conclusion|altogether)\b|=", re.IGNORECASE
)
_BRIEF = 6


@dataclass(frozen=True, slots=True)
class PostHocInput:
    """What the executor gets to see, and (kept from it) the answer it is compared with."""

    question: str
    steps: tuple[Step, ...]
    answer: str


async def examine(riddle: PostHocInput, court: CheckContext, generator: Generator | None = None) -> PostHoc:
    if not riddle.answer.strip():
        return PostHoc(Derived.ABSENT, reason="the trace states no answer")
    if generator is None:
        return await _by_verifier(riddle, court)
    try:
        return await _by_model(riddle, court, generator)
    except BackendError as error:
        found = await _by_verifier(riddle, court)
        return replace(found, reason=f"{found.reason} ({generator.name} could not be asked: {error.message})")


async def _by_model(riddle: PostHocInput, court: CheckContext, generator: Generator) -> PostHoc:
    prompt = from_steps(riddle.question, [step.text for step in riddle.steps])
    reply = await generator.complete(prompt, max_tokens=_MAX_TOKENS)
    own = " ".join(reply[0].text.split())
    base = PostHoc(Derived.UNCHECKED, riddle.answer, own, generator.name)
    if not own or is_silent(own):
        return replace(base, outcome=Derived.NO, agreement=0.0, reason="the steps do not lead to an answer")
    (alike,) = await agreement(court.backend.verifier, [(own, riddle.answer)], riddle.question)
    if alike is None:
        return replace(base, reason="the two answers could not be compared")
    if alike >= SAME:
        return replace(base, outcome=Derived.YES, agreement=alike, reason="the steps lead to this answer")
    return replace(
        base, outcome=Derived.NO, agreement=alike, reason=f"the steps lead to another answer: {own}"
    )


async def _by_verifier(riddle: PostHocInput, court: CheckContext) -> PostHoc:
    base = PostHoc(
        Derived.UNCHECKED, riddle.answer, executor=f"the verifier '{court.backend.name}' (no language model)"
    )
    settled = _by_conclusion(riddle)
    if settled is not None:
        step, alike = settled
        if alike >= SAME:
            return replace(base, outcome=Derived.YES, agreement=alike, reason=f"{step.id} says so")
        return replace(
            base, outcome=Derived.NO, agreement=alike, reason=f"{step.id} concludes otherwise: {step.text}"
        )
    unheard = _unheard(riddle)
    if unheard:
        return replace(base, outcome=Derived.NO, agreement=0.0, reason=f"no step speaks of {unheard}")
    claims = _claims(riddle, court)
    if len(claims) > court.profile.max_claims:
        return replace(base, reason=f"the answer makes {len(claims):,} claims, which is too many to derive")
    verdicts = await _verified(riddle, claims, court)
    worst = max(verdicts, key=lambda v: (v.is_flagged, v.status is Status.UNCHECKED, claim_risk(v)))
    if worst.status is Status.UNCHECKED:
        return replace(base, reason=worst.reason)
    held = worst.status is Status.ENTAILED
    reason = (
        "the steps carry the answer"
        if held
        else f"the steps do not carry it: {_sources_are_steps(worst.reason)}"
    )
    return replace(base, outcome=Derived.YES if held else Derived.NO, agreement=worst.p1, reason=reason)


def _sources_are_steps(reason: str) -> str:
    return reason.replace("the sources", "the steps")


def _by_conclusion(riddle: PostHocInput) -> tuple[Step, float] | None:
    """A short answer beside the step that concludes: the last one that speaks of the same.

    Only where words settle it; a step that merely holds another number concludes nothing.
    """
    if len(core(riddle.answer, riddle.question).text.split()) > _BRIEF and len(riddle.answer) > 80:
        return None
    for step in list(reversed(riddle.steps))[:_CONCLUDES]:
        look = 0.0 if _outdone(step, riddle) else first_look(step.text, riddle.answer, riddle.question)
        settles = _outdone(step, riddle) or _concludes(step, riddle)
        if look is not None and _is_about(step, riddle) and (look >= SAME or settles):
            return step, look
    return None


def _outdone(step: Step, riddle: PostHocInput) -> bool:
    """ "So Berlin is larger than Hamburg": asked which is larger, Hamburg is what the step says is not."""
    compared = _THAN.search(step.text)
    answer = riddle.answer.strip(" .!").casefold()
    if compared is None or not answer or compared.group(1).casefold() not in riddle.question.casefold():
        return False
    before, after = step.text[: compared.start()].casefold(), step.text[compared.end() :].casefold()
    return answer in after and answer not in before


def _unheard(riddle: PostHocInput) -> str:
    """The number or name that an answer consists of, where no step has it: it cannot come from them alone."""
    own = core(riddle.answer, riddle.question)
    texts = [riddle.question, *(step.text for step in riddle.steps)]
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


def _is_about(step: Step, riddle: PostHocInput) -> bool:
    """Whether a step speaks of what was asked, or states the very thing answered."""
    spoken = {w.norm for w in words(step.text) if not w.is_stop}
    asked = {w.norm for w in words(riddle.question) if not w.is_stop}
    answered = core(riddle.answer, riddle.question)
    counted_out = (
        derive(step.text, riddle.question) is not None
    )  # the question names the word, the step the letter
    firm = counted_out or _FIRM.search(step.text) is not None
    return bool(spoken & (asked | answered.words)) or (firm and bool(answered.values))


def _concludes(step: Step, riddle: PostHocInput) -> bool:
    """Whether a step states a result that can be told from another by words: a number, a date, yes or no, or
    a name and nothing else.
    """
    about = core(step.text, riddle.question)
    derived = derive(step.text, riddle.question)
    states = bool(_FIRM.search(step.text)) or (derived is not None and derived.result is not None)
    named = about.is_name and _all_names(about)
    return states and bool(about.values or about.days or named or asks_whether(riddle.question))


async def _verified(
    riddle: PostHocInput, claims: Sequence[Claim], court: CheckContext
) -> list[ClaimVerification]:
    """The answer's claims, each with the steps as its only sources."""
    sources = tuple(Source(step.id, step.text) for step in riddle.steps)
    case = Case(riddle.answer, sources, riddle.question)
    return await pipeline.verify(claims, case, court)


def _claims(riddle: PostHocInput, court: CheckContext) -> Sequence[Claim]:
    """What the answer asserts; a bare word or number asserts what the question makes of it."""
    found = [c for c in extract(riddle.answer, target=court.profile.target) if c.kind is ClaimKind.ASSERTION]
    bare = len(riddle.answer.split()) <= _BRIEF and riddle.question
    if found and not bare:
        # Where a sentence stands is cited in the steps, not here: the answer rests on them all.
        return [replace(claim, citations=()) for claim in found]
    text = f"{riddle.question} {riddle.answer}" if bare else riddle.answer
    return [Claim("c1", text.strip(), 0, len(riddle.answer), (), court.profile.target)]
