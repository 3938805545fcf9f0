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

from groundwire import pipeline
from groundwire.claims.extractor import extract
from groundwire.pipeline import CheckContext
from groundwire.text.dates import dates
from groundwire.text.lexicon import NEGATIONS, expressions
from groundwire.text.names import names
from groundwire.text.numbers import Number, numbers
from groundwire.text.tokens import Word, words
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


def step_terms(text: str) -> StepTerms:
    found, values = words(text), numbers(text)
    labels = _labels(found, values)
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
        bool(_REFERS_BACK.match(text)),
        bool(_STATES_CHANGE.search(without_lead_in(text))),
        bool(_CHANGES.search(text)),
    )


def _labels(found: Sequence[Word], values: Sequence[Number]) -> dict[int, int]:
    """Offsets of words and numbers that form a name ("Item 5", "room 12")."""
    ends = {word.end + 1: word for word in found if not word.is_stop}
    named = ((ends.get(number.start), number) for number in values if not number.unit)
    return {
        word.start: number.start
        for word, number in named
        if word is not None and (word.text[:1].isupper() or word.text.casefold() in _NAMED_BY_NUMBER)
    }


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


@dataclass(frozen=True, slots=True)
class StepRivals:
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
        if (sharp := _sharp(about[earlier], about[later], about[earlier : later + 1])) is not None
    ]
    return sorted(pairs, key=lambda pair: not pair.sharp)[:MAX_RIVALS]


def _sharp(a: StepTerms, b: StepTerms, between: Sequence[StepTerms]) -> bool | None:
    """True if only one number or a negation differs, False if only one word does, else None.

    A conclusion ("So …") with another figure is none if a step from `a` to `b` changes the amount.
    """
    if a.states_change or b.states_change or not a.words or not b.words:
        return None
    words_apart = (len(a.words - b.words), len(b.words - a.words))
    values_apart = (len(a.values - b.values), len(b.values - a.values))
    if words_apart == (0, 0) and values_apart == (1, 1) and a.denied == b.denied:
        return None if b.refers_back and any(one.changes for one in between) else True
    if values_apart != (0, 0):
        return None
    if a.denied != b.denied:
        return True if max(words_apart) == 0 else None
    one_word = words_apart == (1, 1) and a.first == b.first and len(a.words) > 1
    return False if one_word else None


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
    about = [step_terms(unmarked(step)) for step in trace.steps]
    texts = [*(source.text for source in trace.sources), trace.question]
    results = computed(texts, [unmarked(step) for step in trace.steps])
    found = {
        n: judged
        for n, result in enumerate(results)
        if (judged := _computed(trace, n, result, context) or _without_model(trace, n, context))
    }
    rest = [n for n in range(len(trace.steps)) if n not in found]
    for n, verdict in zip(rest, await _by_context(trace, rest, context), strict=True):
        found[n] = StepJudgement(_as_given(trace.steps[n], verdict, context))
    await _by_premises(trace, about, found, context)
    for n in range(1, len(trace.steps)):
        found[n] = _by_numbers(trace, n, found[n], context)
    return [found[n] for n in range(len(trace.steps))]


def _without_model(trace: LinkedTrace, n: int, context: CheckContext) -> StepJudgement | None:
    """Judge a step without the model: invalid citations, sentences without a claim, calculations."""
    step, links = trace.steps[n], trace.links[n]
    claim = _claim(step, context)
    if links.phantoms:
        names = ", ".join(links.phantoms)
        reason = f"cites {names}, which {'is' if len(links.phantoms) == 1 else 'are'} neither source nor step"
        return StepJudgement(replace(phantom(claim, links.phantoms), citations=step.cites, reason=reason))
    if links.circular:
        return StepJudgement(
            unmeasured(claim, Status.NOT_IN_CONTEXT, GapType.UNSUPPORTED, _circularity(step, links), RULE)
        )
    derived = None if step.text.startswith(CALL) else derive(step.text, trace.question)
    if derived and not derived.holds:
        status, kind = Status.CONTRADICTED, GapType.CONTRADICTED
        return StepJudgement(_by_rule(claim, status, kind, derived.reason))
    if derived and (derived.whole or _calculated(step, trace, ())):
        return StepJudgement(_by_rule(claim, Status.ENTAILED, None, derived.reason))
    if _PLAN.match(step.text) or not _parts(step, context) or all(word.is_stop for word in words(step.text)):
        return StepJudgement(unmeasured(claim, Status.UNVERIFIABLE, None, ASSERTS_NOTHING, RULE))
    return None


def _computed(trace: LinkedTrace, n: int, result: DerivedResult | None, context: CheckContext) -> StepJudgement | None:
    """Judge a step by its own equation, date or time: wrong, or right with numbers that were given."""
    step = trace.steps[n]
    if result is None or trace.links[n].phantoms or trace.links[n].circular or step.text.startswith(CALL):
        return None
    claim = _claim(step, context)
    if not result.holds:
        return StepJudgement(_by_rule(claim, Status.CONTRADICTED, GapType.CONTRADICTED, result.reason))
    return StepJudgement(_by_rule(claim, Status.ENTAILED, None, f"the calculation is right: {result.reason}"))


def _as_given(step: Step, verdict: ClaimVerification, context: CheckContext) -> ClaimVerification:
    """A step that states what is given is context for later steps, unless a source contradicts it."""
    if not is_given(step.text) or verdict.status in (Status.CONTRADICTED, Status.UNCHECKED):
        return verdict
    return _by_rule(_claim(step, context), Status.ENTAILED, None, "stated as given")


def _by_numbers(trace: LinkedTrace, n: int, judged: StepJudgement, context: CheckContext) -> StepJudgement:
    """Judge a conclusion by its one new number: the numbers given so far yield it, or they do not."""
    step, verdict = trace.steps[n], judged.verdict
    if verdict.method in (RULE, "citation check") or not _CONCLUSION.match(step.text):
        return judged
    earlier = [unmarked(one) for one in trace.steps[:n]]
    texts = [*(source.text for source in trace.sources), trace.question, *earlier]
    text = unmarked(step)
    known = {value for one in texts for value in numbers_in(one)}
    own = numbers_in(text)
    fresh = sorted(own - known, reverse=True)
    if not fresh and own and own <= _calculated_results(trace, n) and verdict.is_flagged:
        return replace(judged, verdict=_by_rule(_claim(step, context), Status.UNVERIFIABLE, None, NOT_STATED))
    if not fresh or len(known) < 2 or any(number.unit == "clock" for number in numbers(text)) or dates(text):
        return judged
    yielded = next((value for value in fresh if derivable(value, texts, text)), None)
    if yielded is not None:
        reason = f"a calculation on the numbers given so far yields {yielded:.10g}"
        return replace(judged, verdict=_by_rule(_claim(step, context), Status.ENTAILED, None, reason))
    if len(fresh) > 1:
        return judged
    reason = f"no calculation on the numbers given so far yields {fresh[0]:.10g}"
    return replace(judged, verdict=_by_rule(_claim(step, context), Status.NOT_IN_CONTEXT, GapType.UNSUPPORTED, reason))


def _calculated_results(trace: LinkedTrace, n: int) -> set[float]:
    """The results of correct calculations in the steps before a step."""
    found = (derive(unmarked(step), trace.question) for step in trace.steps[:n])
    return {one.result for one in found if one and one.holds and one.result is not None}


def _by_rule(claim: Claim, status: Status, kind: GapType | None, reason: str) -> ClaimVerification:
    """A certain verdict by rule."""
    return replace(unmeasured(claim, status, kind, reason, RULE), certain=True)


def _circularity(step: Step, links: StepLinks) -> str:
    others = [name for name in links.circular if name != step.id]
    itself = "itself" if len(others) < len(links.circular) else ""
    later = f"{', '.join(others)}, which rests on it or comes after it" if others else ""
    return f"cites {' and '.join(filter(None, (itself, later)))}"


def _claim(step: Step, context: CheckContext, citations: tuple[str, ...] = ()) -> Claim:
    target = context.profile.target if step.confidence is None else step.confidence
    return Claim(step.id, step.text, 0, len(step.text), citations, target)


def _parts(step: Step, context: CheckContext) -> list[Claim]:
    """The assertions of a step; citations are resolved for the step as a whole."""
    if step.text.startswith(CALL):
        return []
    said = without_lead_in(step.text)
    lead = len(step.text) - len(said)
    found = [
        replace(c, start=c.start + lead, end=c.end + lead)
        for c in extract(said, target=context.profile.target, known_sources=step.cites)
        if c.kind is ClaimKind.ASSERTION
    ]
    if step.confidence is None:
        return found
    return [replace(claim, confidence=step.confidence) for claim in found]


async def _by_context(trace: LinkedTrace, places: Sequence[int], context: CheckContext) -> list[ClaimVerification]:
    """Verify steps against the context alone, in one batch."""
    if not trace.sources:
        return [_unfounded(trace.steps[n], context) for n in places]
    wanted = [(trace.steps[n], trace.links[n].sources) for n in places]
    return await _verify(wanted, trace.sources, trace.question, context)


def _unfounded(step: Step, context: CheckContext) -> ClaimVerification:
    return unmeasured(_claim(step, context), Status.NOT_IN_CONTEXT, None, NOTHING_GIVEN, "none")


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
    for verdict in await pipeline.verify(claims, case, context):
        of.setdefault(verdict.claim_id.partition(".")[0], []).append(verdict)
    return [_worst(step, of[str(n)]) for n, (step, _) in enumerate(wanted)]


def _worst(step: Step, verdicts: Sequence[ClaimVerification]) -> ClaimVerification:
    worst = min(verdicts, key=lambda v: (not v.is_flagged, _WORST_FIRST.index(v.status)))
    placed = in_response(worst, step.text)
    evidence = tuple(dict.fromkeys(ref for verdict in verdicts for ref in verdict.evidence))
    reason = worst.reason if len(verdicts) == 1 else f"“{worst.claim_text}”: {worst.reason}"
    return replace(
        placed, claim_id=step.id, claim_text=step.text, start=0, end=len(step.text), evidence=evidence, reason=reason
    )


async def _by_premises(
    trace: LinkedTrace, about: Sequence[StepTerms], found: dict[int, StepJudgement], context: CheckContext
) -> None:
    """Verify open steps with their premises in waves, each once its possible premises are judged."""
    near, places = premises(about), {step.id: n for n, step in enumerate(trace.steps)}
    may = {
        n: [places[name] for name in trace.links[n].steps] or ([] if trace.links[n].sources else near[n]) for n in found
    }
    open_ = [
        n
        for n in sorted(found)
        if _is_open(found[n], cites=bool(trace.links[n].steps)) and (may[n] or _calculates(trace, n))
    ]
    while open_:
        waiting = set(open_)
        ready = [n for n in open_ if waiting.isdisjoint(may[n])]
        again = await asyncio.gather(*(_with_premises(trace, n, may[n], found, context) for n in ready))
        found.update(zip(ready, again, strict=True))
        open_ = [n for n in open_ if n not in set(ready)]


def _calculates(trace: LinkedTrace, n: int) -> bool:
    """True if a step calculates: its numbers may come from steps it shares no word with."""
    derived = derive(trace.steps[n].text, trace.question)
    return derived is not None and bool(derived.operands)


def _is_open(judged: StepJudgement, *, cites: bool) -> bool:
    """True if no rule decided the step and it is unsupported or cites earlier steps."""
    settled = judged.verdict.method in (RULE, "citation check")
    return not settled and (cites or not judged.entailed)


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
    judged = _as_assumption(verdict) if not trace.sources else _unflag_conclusion(verdict, trace, supported, context)
    return StepJudgement(_with_failed_premises(judged, failed), names)


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


def _as_assumption(verdict: ClaimVerification) -> ClaimVerification:
    """Without a context, an unsupported step is an assumption and is not flagged."""
    if verdict.status is not Status.NOT_IN_CONTEXT:
        return verdict
    return replace(verdict, is_flagged=False, gap_type=None, spans=(), reason=NOTHING_GIVEN)


def _with_failed_premises(verdict: ClaimVerification, failed: Sequence[str]) -> ClaimVerification:
    if not failed or verdict.status is Status.ENTAILED:
        return verdict
    many = "is" if len(failed) == 1 else "are"
    return replace(verdict, reason=f"{verdict.reason}; rests on {', '.join(failed)}, which {many} not entailed")
