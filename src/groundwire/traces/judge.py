"""Judge each step of a trace: by rule, by the context, then by the context and earlier steps.

All steps are first verified against the context alone, in one batch. Steps it does not support are verified
once more with their premises, the ENTAILED steps they cite or share words with, in waves: a step waits only
for its possible premises. A trace of n steps costs at most 2 n verifications.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from groundwire import pipeline
from groundwire.claims.extractor import extract
from groundwire.pipeline import CheckContext
from groundwire.text.dates import dates
from groundwire.text.lexicon import NEGATIONS, expressions
from groundwire.text.names import names
from groundwire.text.numbers import numbers
from groundwire.text.tokens import words
from groundwire.traces.computation import (
    CONCLUDING,
    DerivedResult,
    computed,
    derivable,
    derive,
    is_given,
    numbers_in,
    without_lead_in,
)
from groundwire.traces.steps import CALL, StepLinks, unmarked
from groundwire.types import ASSERTS_NOTHING, Case, Claim, ClaimKind, ClaimVerification, GapType, Source, Status, Step
from groundwire.verdicts.judge import phantom, unmeasured
from groundwire.verdicts.summary import in_response
from groundwire.verifiers.meaning import negated

MAX_PREMISES = 8
"""Earlier steps that are added to the context of a step."""
MAX_RIVALS = 200
"""Pairs of steps that are checked for contradiction; bounds the cost of long traces."""
_REFERS_BACK, _STATES_CHANGE, _CHANGES, _CONCLUSION, _PLAN = expressions(
    "traces", "refers_back states_change changes conclusion plan"
)

_NAMED_BY_NUMBER = frozenset((
    "item", "room", "page", "chapter", "section", "figure", "table", "part", "level", "line", "case", "floor",
    "question", "day", "week", "year", "student", "group", "box", "player", "team", "version", "route",
    "gate", "test", "order", "number", "step", "row", "column", "house", "bus", "train", "phase", "round",
    "point",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class StepTerms:
    """The content words and numbers of a step, for finding premises and rivals."""

    words: frozenset[str]
    values: frozenset[float]
    first: str = ""
    denied: bool = False
    refers_back: bool = False
    states_change: bool = False
    changes: bool = False


def step_terms(step: str) -> StepTerms:
    text = without_lead_in(step)  # "First" and "Given" are not about anything
    found, values = words(text), numbers(text)
    ends = {word.end + 1: word for word in found if not word.is_stop}
    labels = {  # offsets of words and numbers that form a name: "Item 5", "room 12"
        word.start: number.start
        for number in values
        if not number.unit and (word := ends.get(number.start)) is not None
        if word.text[:1].isupper() or word.text.casefold() in _NAMED_BY_NUMBER
    }
    values = [n for n in values if n.start not in labels.values()]
    content = [
        f"{w.norm} {text[labels[w.start] :].split(maxsplit=1)[0]}" if w.start in labels else w.norm
        for w in found
        if not w.is_stop
        and w.text.casefold() not in NEGATIONS
        and w.start not in labels.values()
        and not any(n.start <= w.start < n.end for n in values)
    ]
    return StepTerms(
        frozenset(content),
        frozenset(n.value for n in values),
        content[0] if content else "",
        negated(found),
        bool(_REFERS_BACK.match(step)),
        bool(_STATES_CHANGE.search(text)),
        bool(_CHANGES.search(step)),
    )


def premises(about: Sequence[StepTerms]) -> list[list[int]]:
    """For each step, up to `MAX_PREMISES` earlier steps that share its words or numbers."""
    index: dict[str, list[int]] = defaultdict(list)
    found: list[list[int]] = []
    for n, here in enumerate(about):
        score: Counter[int] = Counter()
        for key in (*here.words, *map(str, here.values)):
            holders = index[key]
            # A word that occurs in many steps counts little.
            weight = max(1, 1000 // (1 + len(holders)))
            for earlier in holders[-50:]:
                score[earlier] += weight
            index[key].append(n)
        if here.refers_back and n:
            score[n - 1] += 10_000
        ranked = sorted(score, key=lambda earlier: (-score[earlier], -earlier))
        found.append(sorted(ranked[:MAX_PREMISES]))
    return found


class StepRivals(NamedTuple):
    """Two steps that differ in one thing. `sharp`: in a number or a negation."""

    earlier: int
    later: int
    sharp: bool


def rivals(about: Sequence[StepTerms], near: Sequence[Sequence[int]]) -> list[StepRivals]:
    """Pairs of steps about the same thing that may contradict each other.

    Steps about a change ("now", "so far", "in 2019") and conclusions from numbers are left out, as are steps
    that differ in two things.
    """
    pairs = [
        StepRivals(earlier, later, sharp)
        for later, candidates in enumerate(near)
        for earlier in candidates
        if (sharp := _sharp(about[earlier : later + 1])) is not None
    ]
    return sorted(pairs, key=lambda pair: not pair.sharp)[:MAX_RIVALS]


def _sharp(between: Sequence[StepTerms]) -> bool | None:
    """True if the first and the last step differ only in one number or a negation, False if only in one
    word, else None. A conclusion ("So …") with another figure is none if a step up to it changes the amount.
    """
    a, b = between[0], between[-1]
    if a.states_change or b.states_change or not a.words or not b.words:
        return None
    words_apart = (len(a.words - b.words), len(b.words - a.words))
    values_apart = (len(a.values - b.values), len(b.values - a.values))
    if words_apart == (0, 0) and values_apart == (1, 1) and a.denied == b.denied:
        return None if b.refers_back and any(one.changes for one in between) else True
    if values_apart != (0, 0) or (a.denied != b.denied and max(words_apart)):
        return None
    one_word = words_apart == (1, 1) and a.first == b.first and len(a.words) > 1
    return True if a.denied != b.denied else False if one_word else None


RULE = "rule"
_WHOLE_CONTEXT_CHARS = 4000  # a longer context is reduced to its evidence when premises are added
_WORST_FIRST = (Status.CONTRADICTED, Status.NOT_IN_CONTEXT, Status.UNCHECKED, Status.UNVERIFIABLE, Status.ENTAILED)
NOT_STATED = "a conclusion that no source states; ask a language model whether it follows"
NOTHING_GIVEN = "nothing was given to check it against"


@dataclass(frozen=True, slots=True)
class LinkedTrace:
    """A trace with its context; `links` resolve the citations of each step."""

    steps: tuple[Step, ...]
    links: tuple[StepLinks, ...]
    sources: tuple[Source, ...] = ()
    question: str = ""


@dataclass(frozen=True, slots=True)
class StepJudgement:
    """The verdict on a step and the steps it was derived from."""

    verdict: ClaimVerification
    premises: tuple[str, ...] = ()

    @property
    def entailed(self) -> bool:
        return self.verdict.status is Status.ENTAILED and not self.verdict.is_flagged


async def judge_steps(trace: LinkedTrace, context: CheckContext) -> list[StepJudgement]:
    """One judgement per step, in order."""
    texts = [*(source.text for source in trace.sources), trace.question]
    plain = [unmarked(step) for step in trace.steps]
    results = computed(texts, plain)
    found = {
        n: StepJudgement(verdict)
        for n, result in enumerate(results)
        if (verdict := _without_model(trace, n, result, context)) is not None
    }
    rest = [n for n in range(len(trace.steps)) if n not in found]
    wanted = [(trace.steps[n], trace.links[n].sources) for n in rest]
    if trace.sources:
        verdicts = await _verify(wanted, trace.sources, trace.question, context)
    else:
        asked = [_claim(step, context) for step, _ in wanted]
        verdicts = [unmeasured(claim, Status.NOT_IN_CONTEXT, None, _assumed(claim.text), "none") for claim in asked]
    for n, verdict in zip(rest, verdicts, strict=True):
        given = is_given(trace.steps[n].text) and verdict.status not in (Status.CONTRADICTED, Status.UNCHECKED)
        claim = _claim(trace.steps[n], context)
        found[n] = StepJudgement(_by_rule(claim, Status.ENTAILED, None, "stated as given") if given else verdict)
    await _by_premises(trace, found, context)
    wrong: dict[str, str] = {}  # steps whose calculation is wrong, without and with its result
    for n, step in enumerate(trace.steps):
        claim = _claim(step, context)
        if found[n].verdict.method not in (RULE, "citation check"):
            found[n] = _by_wrong_results(claim, plain[: n + 1], texts, found[n], wrong)
        if found[n].verdict.method not in (RULE, "citation check") and n and _CONCLUSION.match(step.text):
            earlier = [wrong.get(one, one) for one in plain[:n]]
            found[n] = _by_numbers(claim, [*earlier, plain[n]], texts, found[n], trace.question)
        if found[n].verdict.method == RULE and found[n].verdict.status is Status.CONTRADICTED:
            wrong[plain[n]] = _without_result(plain[n])
    return [found[n] for n in range(len(trace.steps))]


def _without_result(text: str) -> str:
    """A calculation up to its result, the last number: "6 × 14 =" for "6 × 14 = 94"."""
    found = numbers(text)
    return text[: found[-1].start] if found else text


def _by_wrong_results(
    claim: Claim, steps: Sequence[str], given: Sequence[str], judged: StepJudgement, wrong: Mapping[str, str]
) -> StepJudgement:
    """Flag a step that uses a number which only a wrong calculation yields: "So it is 94", after "6 × 14 = 94"."""
    *earlier, text = steps
    known = {value for one in (*given, *(wrong.get(one, one) for one in earlier)) for value in numbers_in(one)}
    for one in earlier:
        if one in wrong and numbers_in(text) & numbers_in(one) - known:
            reason = f"rests on a wrong calculation: {one}"
            return replace(judged, verdict=_by_rule(claim, Status.NOT_IN_CONTEXT, GapType.UNSUPPORTED, reason))
    return judged


def _without_model(
    trace: LinkedTrace, n: int, result: DerivedResult | None, context: CheckContext
) -> ClaimVerification | None:
    """Judge a step without the model: invalid citations, sentences without a claim, calculations.

    `result` is that of its equations, dates and times.
    """
    step, links = trace.steps[n], trace.links[n]
    claim = _claim(step, context)
    if links.phantoms:
        names = ", ".join(links.phantoms)
        reason = f"cites {names}, which {'is' if len(links.phantoms) == 1 else 'are'} neither source nor step"
        return replace(phantom(claim, links.phantoms), citations=step.cites, reason=reason)
    if links.circular:
        others = ", ".join(name for name in links.circular if name != step.id)
        later = f"{others}, which rests on it or comes after it" if others else ""
        reason = f"cites {' and '.join(filter(None, ('itself' if step.id in links.circular else '', later)))}"
        return unmeasured(claim, Status.NOT_IN_CONTEXT, GapType.UNSUPPORTED, reason, RULE)
    if step.text.startswith(CALL):
        return unmeasured(claim, Status.UNVERIFIABLE, None, ASSERTS_NOTHING, RULE)
    derived = result or derive(step.text, trace.question)
    if derived and not derived.holds:
        return _by_rule(claim, Status.CONTRADICTED, GapType.CONTRADICTED, derived.reason)
    if derived and (result or derived.whole or _calculated(step, trace, ())):
        return _by_rule(claim, Status.ENTAILED, None, f"the calculation is right: {derived.reason}")
    if _PLAN.match(step.text) or not _parts(step, context) or all(word.is_stop for word in words(step.text)):
        return unmeasured(claim, Status.UNVERIFIABLE, None, ASSERTS_NOTHING, RULE)
    return None


def _by_numbers(
    claim: Claim, steps: Sequence[str], given: Sequence[str], judged: StepJudgement, question: str
) -> StepJudgement:
    """Judge a conclusion, the last step, by its one new number: the numbers so far yield it, or they do not."""
    *earlier, text = steps
    texts = [*given, *earlier]
    known = {value for one in texts for value in numbers_in(one)}
    own = numbers_in(text)
    fresh = sorted(own - known, reverse=True)
    if judged.verdict.is_flagged and not fresh and _only_repeats_results(text, earlier, given, question):
        return replace(judged, verdict=_by_rule(claim, Status.UNVERIFIABLE, None, NOT_STATED))
    if not fresh or len(known) < 2 or any(number.unit == "clock" for number in numbers(text)) or dates(text):
        return judged
    yielded = next((value for value in fresh if derivable(value, texts, text)), None)
    if yielded is not None:
        reason = f"a calculation on the numbers given so far yields {yielded:.10g}"
        return replace(judged, verdict=_by_rule(claim, Status.ENTAILED, None, reason))
    if len(fresh) > 1:
        return judged
    reason = f"no calculation on the numbers given so far yields {fresh[0]:.10g}"
    return replace(judged, verdict=_by_rule(claim, Status.NOT_IN_CONTEXT, GapType.UNSUPPORTED, reason))


def _only_repeats_results(text: str, earlier: Sequence[str], given: Sequence[str], question: str) -> bool:
    """True if the numbers, or the date, of a conclusion are results of earlier calculations that are right."""
    own, days = numbers_in(text), [(d.month, d.day) for d in dates(text)]
    if days:
        right = (one for one, found in zip(earlier, computed(given, earlier), strict=True) if found and found.holds)
        return set(days) <= {(d.month, d.day) for one in right for d in dates(one)[-1:]}
    calculated = [derive(one, question) for one in earlier]
    return bool(own) and own <= {one.result for one in calculated if one and one.holds}


def _assumed(text: str) -> str:
    """Why a step without a context is an assumption; its calculation is computed all the same."""
    found = derive(text)
    return f"the calculation is right: {found.reason}, but {NOTHING_GIVEN}" if found else NOTHING_GIVEN


def _by_rule(claim: Claim, status: Status, kind: GapType | None, reason: str) -> ClaimVerification:
    """A certain verdict by rule."""
    return replace(unmeasured(claim, status, kind, reason, RULE), certain=True)


def _claim(step: Step, context: CheckContext, citations: tuple[str, ...] = ()) -> Claim:
    target = context.profile.target if step.confidence is None else step.confidence
    return Claim(step.id, step.text, 0, len(step.text), citations, target)


def _parts(step: Step, context: CheckContext) -> list[Claim]:
    """The assertions of a step; citations are resolved for the step as a whole."""
    sure = step.confidence
    said = without_lead_in(step.text)
    lead = len(step.text) - len(said)
    return [
        replace(c, start=c.start + lead, end=c.end + lead, confidence=c.confidence if sure is None else sure)
        for c in extract(said, target=context.profile.target, known_sources=step.cites)
        if c.kind is ClaimKind.ASSERTION
    ]


async def _verify(
    wanted: Sequence[tuple[Step, tuple[str, ...]]], sources: Sequence[Source], question: str, context: CheckContext
) -> list[ClaimVerification]:
    """One verdict per step: that of its worst assertion."""
    claims = [
        replace(part, id=f"{n}.{m}", citations=cites)
        for n, (step, cites) in enumerate(wanted)
        for m, part in enumerate(_parts(step, context))
    ]
    if not claims:
        return []
    case = Case("\n".join(step.text for step, _ in wanted), tuple(sources), question)
    of: dict[str, list[ClaimVerification]] = {}
    for verdict in await pipeline.verify(claims, case, context, alone=True):
        of.setdefault(verdict.claim_id.partition(".")[0], []).append(verdict)
    return [_worst(step, of[str(n)]) for n, (step, _) in enumerate(wanted)]


def _worst(step: Step, verdicts: Sequence[ClaimVerification]) -> ClaimVerification:
    worst = min(verdicts, key=lambda v: (not v.is_flagged, _WORST_FIRST.index(v.status)))
    return replace(
        in_response(worst, step.text),
        claim_id=step.id,
        claim_text=step.text,
        start=0,
        end=len(step.text),
        evidence=tuple(dict.fromkeys(ref for verdict in verdicts for ref in verdict.evidence)),
        reason=worst.reason if len(verdicts) == 1 else f"“{worst.claim_text}”: {worst.reason}",
    )


async def _by_premises(trace: LinkedTrace, found: dict[int, StepJudgement], context: CheckContext) -> None:
    """Verify open steps with their premises in waves, each once its possible premises are judged.

    A step is open if no rule decided it and it is unsupported, cites earlier steps or calculates: a calculation
    is computed from what it rests on, never guessed.
    """
    near = premises([step_terms(unmarked(step)) for step in trace.steps])
    places = {step.id: n for n, step in enumerate(trace.steps)}
    may: dict[int, list[int]] = {}
    for n in sorted(found):
        links, judged = trace.links[n], found[n]
        own = derive(trace.steps[n].text, trace.question)
        calculates = own is not None and bool(own.operands)
        entailed = judged.entailed and not links.steps and not calculates
        before = [places[name] for name in links.steps] or ([] if links.sources else near[n])
        # The numbers of a calculation may come from steps it shares no word with.
        if judged.verdict.method not in (RULE, "citation check") and not entailed and (before or calculates):
            may[n] = before
    while may:
        ready = [n for n, before in may.items() if may.keys().isdisjoint(before)]
        again = await asyncio.gather(*(_with_premises(trace, n, may[n], found, context) for n in ready))
        found.update(zip(ready, again, strict=True))
        may = {n: before for n, before in may.items() if n not in ready}


async def _with_premises(
    trace: LinkedTrace, n: int, may: Sequence[int], found: dict[int, StepJudgement], context: CheckContext
) -> StepJudgement:
    step, links, before = trace.steps[n], trace.links[n], found[n]
    supported = [trace.steps[k] for k in may if found[k].entailed]
    failed = [trace.steps[k].id for k in may if not found[k].entailed and trace.steps[k].id in links.steps]
    names = tuple(one.id for one in _calculated_from(trace, n, supported, found))
    if names:
        reason = f"follows by calculation from {', '.join(names)}"
        return StepJudgement(_by_rule(_claim(step, context, links.steps), Status.ENTAILED, None, reason), names)
    if not supported:
        return replace(before, verdict=_with_failed_premises(before.verdict, failed))
    names = tuple(one.id for one in supported)
    sources = [*_reduced_context(trace.sources, before.verdict), *(Source(one.id, one.text) for one in supported)]
    cited = (*links.sources, *(name for name in links.steps if name in names))
    (verdict,) = await _verify([(step, cited)], sources, trace.question, context)
    if trace.sources:
        verdict = _unflag_conclusion(verdict, trace, supported, context)
    elif verdict.status is Status.NOT_IN_CONTEXT:  # without a context it is an assumption
        verdict = replace(verdict, is_flagged=False, gap_type=None, spans=(), reason=_assumed(step.text))
    return StepJudgement(_with_failed_premises(verdict, failed), names)


def _unflag_conclusion(
    verdict: ClaimVerification, trace: LinkedTrace, supported: Sequence[Step], context: CheckContext
) -> ClaimVerification:
    """Do not flag a conclusion from entailed steps that adds no name or number of its own.

    A local verifier cannot decide whether it follows. Contradictions stay.
    """
    concludes = _CONCLUSION.match(verdict.claim_text) is not None and context.backend.free
    if not concludes or verdict.status is not Status.NOT_IN_CONTEXT:
        return verdict
    texts = [*(source.text for source in trace.sources), trace.question, *(one.text for one in supported)]
    known = {w.norm for text in texts for w in words(text)}
    named = {w.norm for name in names(verdict.claim_text) for w in words(name.text)}
    given = {value for text in texts for value in numbers_in(text)}
    fresh = named - known - CONCLUDING or numbers_in(verdict.claim_text) - given
    return verdict if fresh else replace(verdict, is_flagged=False, spans=(), reason=NOT_STATED)


def _calculated_from(
    trace: LinkedTrace, n: int, supported: Sequence[Step], found: Mapping[int, StepJudgement]
) -> Sequence[Step]:
    """The steps a calculation follows from: the cited ones, or any entailed earlier step."""
    step, links = trace.steps[n], trace.links[n]
    if supported and _repeats_result(step, trace, supported):
        return supported
    cites = links.steps or links.sources
    earlier = supported if cites else [trace.steps[k] for k in range(n) if found[k].entailed]
    if not _calculated(step, trace, earlier):
        return ()
    own = numbers_in(unmarked(step))
    return supported if cites else [one for one in earlier if own & numbers_in(unmarked(one))]


def _calculated(step: Step, trace: LinkedTrace, supported: Sequence[Step]) -> bool:
    """True for a correct calculation whose numbers all come from the context, the question or premises."""
    derived = derive(step.text, trace.question)
    if derived is None or not derived.operands or derived.result is None:
        return False
    texts = (*(s.text for s in trace.sources), trace.question, *(one.text for one in supported))
    given = {value for text in texts for value in numbers_in(text)}
    own = Counter(value for number in numbers(step.text) for value in numbers_in(step.text[number.start : number.end]))
    # "Two adults pay 2 × 15": an operand may also be stated beside the calculation.
    stated = {value for value, times in own.items() if times > 1} if set(derived.operands) & given else set()
    return set(derived.operands) <= given | stated and own.keys() <= {*given, *stated, derived.result}


def _repeats_result(step: Step, trace: LinkedTrace, supported: Sequence[Step]) -> bool:
    """True if a step only repeats the result of the last calculation ("So Tom has 4 apples")."""
    results = [found.result for one in supported if (found := derive(one.text)) and found.result is not None]
    text = unmarked(step)
    own = step_terms(text)
    behind = supported[-1] is trace.steps[trace.steps.index(step) - 1]
    if not results or not (own.refers_back or behind) or numbers_in(text) != {results[-1]}:
        return False
    texts = (*(s.text for s in trace.sources), trace.question, *(one.text for one in supported))
    known = {w.norm for text in texts for w in words(text)}
    return own.words <= known | CONCLUDING


def _reduced_context(sources: Sequence[Source], verdict: ClaimVerification) -> list[Source]:
    """The context; if it is long, only the evidence found when the step was verified against all of it."""
    if sum(len(source.text) for source in sources) <= _WHOLE_CONTEXT_CHARS:
        return list(sources)
    quotes: dict[str, list[str]] = {source.id: [] for source in sources}
    for ref in verdict.evidence:
        quotes.get(ref.source, []).append(ref.text)
    return [Source(s.id, "\n".join(quotes[s.id]), s.origin) for s in sources if quotes[s.id]]


def _with_failed_premises(verdict: ClaimVerification, failed: Sequence[str]) -> ClaimVerification:
    if not failed or verdict.status is Status.ENTAILED:
        return verdict
    many = "is" if len(failed) == 1 else "are"
    return replace(verdict, reason=f"{verdict.reason}; rests on {', '.join(failed)}, which {many} not entailed")
