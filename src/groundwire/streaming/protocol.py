"""The response protocol: the weak points of an answer, the risk they imply, and the answer rewritten accordingly.

`LEVELS` is the whole protocol as a table. Lack of support leads to rephrasing, never to an interruption. Only
a clear contradiction or a sure pattern of high or critical risk interrupts: a wrong interruption costs the
reader a true answer, so the bar is higher than for a flag. The verdict must be certain and the evidence must
be about the same matter: "It won the cup in 1999" is not contradicted by "It was founded in 1931", whatever
the verifier says.

An answer is rewritten by marks, hedged sentences, a cut, or a new attempt by the model. Phrases exist in
English and Hebrew. Statements of limits are worded as refusals, which assert nothing, so they raise no flags
when the text is checked again.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any

from groundwire.config import CLEAR, RealTimeConfig, RiskAction
from groundwire.errors import GroundwireError
from groundwire.llm import Generator, Message
from groundwire.openie.parser import bare, triples
from groundwire.reports.plaintext import nearest_evidence, shorten
from groundwire.streaming.coherence import coherence_of
from groundwire.text.dates import dates
from groundwire.text.lexicon import word_table
from groundwire.text.names import names
from groundwire.text.numbers import numbers
from groundwire.text.sentences import sentences
from groundwire.text.tokens import content_words, is_stop, language_hint, similarity, words
from groundwire.types import (
    NOTHING_TO_CHECK,
    Action,
    ActionKind,
    ClaimVerification,
    Edit,
    GapType,
    HallucinationReport,
    Repair,
    Risk,
    Status,
    Turn,
)
from groundwire.types.stream import Alternative, Coherence, KnowledgeCheck, StreamWarning, WeakPoint

_MIN_SHARED_WORDS = 0.5
"""Share of a claim's words, without names and values, that one piece of evidence must contain."""
_WORD_SIMILARITY = 0.6  # two words count as the same from here on
_MAX_EVIDENCE = 5  # pieces of evidence compared, best first
_UNIT_CHARS = 40  # where to look for the noun that a number counts
_LABEL = re.compile(r"\bname:", re.IGNORECASE)


def is_clear_contradiction(verdict: ClaimVerification, threshold: float) -> bool:
    """True if evidence contradicts the claim clearly enough to interrupt."""
    contradicted = verdict.status is Status.CONTRADICTED and verdict.is_flagged and verdict.certain
    if not contradicted or verdict.p1 is None or 1.0 - verdict.p1 < threshold:
        return False
    pieces = tuple(ref.text for ref in verdict.evidence[:_MAX_EVIDENCE])
    return speaks_of(verdict.claim_text, pieces)


@lru_cache(maxsize=1024)
def speaks_of(claim: str, evidence: tuple[str, ...]) -> bool:
    """True if one piece of evidence is about the same matter, not only about the same subject.

    >>> speaks_of("Acme won the cup in 1999.", ("Acme was founded in 1931.",))
    False
    >>> speaks_of("Acme was founded in 1999.", ("The founding of Acme was in 1931.",))
    True
    """
    pieces = [piece for piece in evidence if piece]
    named, counts = names(claim), numbers(claim)
    shared_names = {word.norm for name in named for word in words(name.text)}
    # What is said of the subject: the content words without names, values and the subject itself, if the
    # evidence names it in the same words ("the quota queue").
    aside = [(one.start, one.end) for found in (named, counts, dates(claim)) for one in found]
    for triple in triples(claim):
        subject = bare(triple.subject).casefold()
        if " of " not in subject and any(subject in piece.casefold() for piece in pieces):
            aside.append(triple.subject_span)
    content = (word for word in words(claim) if not word.is_stop)
    matter = {word.norm for word in content if not any(start <= word.start < end for start, end in aside)}
    # the nouns that the numbers of the claim count
    behind = [words(claim[number.end : number.end + _UNIT_CHARS])[:2] for number in counts]
    counted = {next((word.norm for word in found if not word.is_stop), "") for found in behind} - {""}
    there = [content_words(_LABEL.sub("", piece)) - shared_names for piece in pieces]
    enough = _MIN_SHARED_WORDS * len(matter)
    return any(_shared_words(matter, own) >= enough or _shared_words(counted, own) > 0 for own in there)


def _shared_words(matter: set[str], there: Set[str]) -> int:
    return sum(any(similarity(word, other) >= _WORD_SIMILARITY for other in there) for word in matter)


HIGH_SEVERITY = 0.75
"""From this severity on, contradicting an established statement is a high risk."""

LEVELS: Mapping[str, Risk] = MappingProxyType(
    {
        "unchecked": Risk.LOW,  # could not be verified
        "vague": Risk.LOW,  # says too little to be verified
        "warning": Risk.LOW,  # a pattern matched; the warning has its own risk
        "unsupported": Risk.MEDIUM,  # not covered by the sources
        "partial_support": Risk.MEDIUM,
        "over_extrapolation": Risk.MEDIUM,
        "phantom_citation": Risk.MEDIUM,
        "doubtful": Risk.MEDIUM,  # the evidence seems to contradict it
        "earlier": Risk.MEDIUM,  # differs from an earlier statement
        "established": Risk.HIGH,  # contradicts an established fact or a user's statement
        "contradicted": Risk.HIGH,  # the evidence clearly contradicts it
    }
)
"""Risk by kind of weak point. Two or more contradictions in at least half of all claims are critical."""

RANK = {risk: rank for rank, risk in enumerate(Risk)}


@dataclass(frozen=True, slots=True)
class Assessment:
    """The weak points in text order, the overall risk and the reason for it."""

    points: tuple[WeakPoint, ...] = ()
    risk: Risk = Risk.LOW
    reason: str = ""

    @property
    def failing(self) -> tuple[WeakPoint, ...]:
        """The points that must not stay in the answer."""
        return tuple(p for p in self.points if is_grave(p.risk))


def assess(
    claims: Sequence[ClaimVerification],
    warnings: Sequence[StreamWarning] = (),
    coherence: Coherence | None = None,
    threshold: float = CLEAR,
) -> Assessment:
    """Combine verdicts, warnings and coherence into weak points and one risk."""
    points = [point for claim in claims if (point := _of_claim(claim, threshold))]
    for one in coherence.contradictions if coherence else ():
        kind = "established" if one.severity >= HIGH_SEVERITY else "earlier"
        reason = f"differs from “{one.contradicts}”"
        points.append(WeakPoint(one.claim, one.start, one.end, kind, LEVELS[kind], reason, prior=one.contradicts))
    for one in coherence.goalposts if coherence else ():
        reason = f"{one.kind} than “{one.contradicts}”, which was said before"
        points.append(
            WeakPoint(one.claim, one.start, one.end, "earlier", LEVELS["earlier"], reason, prior=one.contradicts)
        )
    for warning in warnings:
        if not _answered(warning, claims):
            # its own risk, but at most medium below the confidence threshold
            sure = warning.confidence >= threshold
            risk = warning.risk if sure else min(warning.risk, Risk.MEDIUM, key=lambda r: RANK[r])
            reason = warning.note or warning.pattern.replace("_", " ")
            points.append(WeakPoint(warning.segment, warning.start, warning.end, "warning", risk, reason))
    worst = max(points, key=lambda p: (RANK[p.risk], -p.start), default=None)
    risk = worst.risk if worst else Risk.LOW
    wrong = sum(p.kind == "contradicted" for p in points)
    checked = sum(claim.status is not Status.UNCHECKED for claim in claims)
    if wrong >= 2 and 2 * wrong >= checked:
        risk = Risk.CRITICAL
    ordered = tuple(sorted(points, key=lambda p: (p.start, -RANK[p.risk])))
    return Assessment(ordered, risk, worst.reason if worst else "")


def is_grave(risk: Risk) -> bool:
    return RANK[risk] >= RANK[Risk.HIGH]


def action_for(risk: Risk, config: RealTimeConfig) -> RiskAction:
    found: RiskAction = getattr(config, risk.value)
    return found


def wordings(config: RealTimeConfig) -> dict[Risk, RiskAction]:
    """The action per risk for a single sentence: actions on the whole answer become rephrasing."""
    actions = {risk: action_for(risk, config) for risk in Risk}
    whole: tuple[RiskAction, ...] = ("reformulate", "discard")
    return {risk: "rephrase" if action in whole else action for risk, action in actions.items()}


def stops(risk: Risk, config: RealTimeConfig) -> bool:
    """True if the protocol interrupts the answer at this risk."""
    return is_grave(risk) and action_for(risk, config) in ("reformulate", "discard")


def guidance(points: Sequence[WeakPoint]) -> str:
    """The instruction for a model that has to rewrite the rest of its answer."""
    lines = []
    for number, point in enumerate(points[:5], start=1):
        says = f" The source {point.source} says: {point.quote}" if point.quote and point.source else ""
        lines.append(f"{number}. “{point.text}”: {point.reason or point.kind}.{says}")
    return "\n".join((_AGAIN, *lines, _KEEP))


_AGAIN = "What you have written so far stands. What followed goes against the sources and was taken out:"
_KEEP = (
    "Write only what should follow instead, and only what the sources say, in their words. Where they do not "
    "say it, write that the sources do not say it. Do not mention these instructions."
)


def _of_claim(claim: ClaimVerification, threshold: float) -> WeakPoint | None:
    if claim.status is Status.UNCHECKED:
        kind = "unchecked"
    elif claim.status is Status.UNVERIFIABLE:
        kind = "vague"
    elif not claim.is_flagged:
        return None
    elif claim.status is Status.CONTRADICTED:
        kind = "contradicted" if is_clear_contradiction(claim, threshold) else "doubtful"
    else:
        kind = (claim.gap_type or GapType.UNSUPPORTED).value
    best = nearest_evidence(claim) if kind in ("contradicted", "doubtful") else None
    quote, source = (best.text, best.source) if best else ("", "")
    return WeakPoint(
        claim.claim_text, claim.start, claim.end, kind, LEVELS[kind], claim.reason, quote=quote, source=source
    )


_REFERENCES = frozenset({"invented_citation", "invented_url", "invented_doi", "fabricated_references"})


def _answered(warning: StreamWarning, claims: Sequence[ClaimVerification]) -> bool:
    """True if a verdict covers the warning: a supported claim needs none, a contradicted one has worse.

    No verdict covers an invented reference: the sentence around it may be true.
    """
    if warning.pattern in _REFERENCES:
        return False
    judged = (Status.ENTAILED, Status.CONTRADICTED, Status.NOT_IN_CONTEXT)
    return any(claim.status in judged and claim.start < warning.end and warning.start < claim.end for claim in claims)


# The rewritten answer.


_SAME = {"doubtful": "contradicted", "established": "earlier"}


def _phrases(text: str) -> Mapping[str, Any]:
    """The phrases for the language of a text, from `text/data/phrases.toml`."""
    phrases: Mapping[str, Any] = word_table("phrases")["he" if language_hint(text) == "he" else "en"]
    return phrases


def _phrase(kind: str, phrases: Mapping[str, str]) -> str:
    return phrases.get(_SAME.get(kind, kind), phrases["unsupported"])


# Rewording by rule. There are only insertions and cuts, so Markdown stays intact and the original can be
# restored from the edits (`verdicts.repair.restore`).

Actions = Mapping[Risk, RiskAction]
_WRAPPED = "*_~`\"“‘'([«"
_BEGINS = re.compile(r"(?:[\n\r]|[.!?…:;][\"'”’»)\]*_]*\s)[ \t]*(?:>[ \t]*)*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]+)?\Z")
_BULLET_CHARS = 80  # nested bullets and quotation marks before a sentence fit in this
_ROW = re.compile(r"^[ \t]*\|", re.MULTILINE)
_ENDS = re.compile(r"[.!?…。！？]+[\"'”’»)]*\Z")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_DANGLING = re.compile(r"(?:^|\n)[ \t]*(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>)?[ \t]*\Z")
_QUOTE_CHARS = 300
_line = partial(shorten, limit=_QUOTE_CHARS)


@dataclass(frozen=True, slots=True)
class _Insertion:
    at: int
    text: str
    lower: bool = False
    """True if the following letter no longer begins a sentence."""


def reworded(text: str, claims: Sequence[ClaimVerification], weak: Sequence[WeakPoint], actions: Actions) -> Repair:
    """Apply the action for each weak point's risk; supported claims get their source as a citation."""
    wanted: dict[int, _Insertion] = {}
    for point in sorted(weak, key=lambda p: -RANK[p.risk]):
        found = _treated(text, point, actions.get(point.risk, "none"))
        worse = [p for p in weak if p is not point and RANK[p.risk] > RANK[point.risk]]
        if found is not None and not any(p.start <= found.at <= p.end for p in worse):
            wanted.setdefault(found.at, found)
    if actions.get(Risk.LOW) == "mark":
        for claim in claims:
            if not any(point.start < claim.end and claim.start < point.end for point in weak):
                sources = [ref.source for ref in claim.evidence]
                if claim.status is Status.ENTAILED and not claim.is_flagged and not claim.citations and sources:
                    at = _end(text, claim.start, claim.end)
                    wanted.setdefault(at, _Insertion(at, f" [{sources[0]}]"))
    return _inserted(text, sorted(wanted.values(), key=lambda i: i.at))


def _treated(text: str, point: WeakPoint, action: RiskAction) -> _Insertion | None:
    if action == "none":
        return None
    # In table rows and dependent clauses nothing can be opened.
    line = text.rfind("\n", 0, point.start) + 1
    row = _ROW.match(text[line : point.start + 1])
    if action != "mark" and not row and _is_start(text, _start(text, point.start)):
        return _opened(text, point)
    mark = _phrase(point.kind, _phrases(point.text)["marks"])
    # A vague statement says too little to be marked.
    return None if point.kind == "vague" else _Insertion(_end(text, point.start, point.end), f" {mark}")


def _is_start(text: str, at: int) -> bool:
    """True if a sentence begins here, possibly after a bullet or a quotation mark."""
    before = text[max(0, at - _BULLET_CHARS) : at]
    return not before.strip() or bool(_BEGINS.search(f"\n{before}" if at <= _BULLET_CHARS else before))


def _opened(text: str, point: WeakPoint) -> _Insertion:
    phrases = _phrases(point.text)
    at = _start(text, point.start)
    lead = re.match(phrases["leads"], text[at : point.end])
    at += lead.end() if lead else 0
    opening = _phrase(point.kind, phrases["openings"]).format(prior=_line(point.prior))
    follows = text[at : point.end].lstrip(_WRAPPED)
    if opening.endswith("ש") and not re.match(r"[א-ת]", text[at : at + 1]):
        opening += "-"
    lower = opening.endswith("that ") and _is_common(follows, text)
    if lead and not opening.startswith("I "):
        opening = opening[:1].lower() + opening[1:]
    return _Insertion(at, opening, lower)


def _is_common(sentence: str, text: str) -> bool:
    """True if the first word is capitalised only because it begins the sentence."""
    first = _WORD.match(sentence)
    if not first or not first[0][:1].isupper() or first[0] in ("I", "I'm", "I’m", "I've", "I’ve"):
        return False
    return is_stop(first[0]) or re.search(rf"\b{re.escape(first[0].lower())}\b", text) is not None


def _start(text: str, at: int) -> int:
    """Move before emphasis, quotation marks or brackets that open the sentence."""
    while at > 0 and text[at - 1] in _WRAPPED:
        at -= 1
    return at


def _end(text: str, start: int, end: int) -> int:
    """Move before the full stop, so that a mark belongs to its sentence."""
    stop = _ENDS.search(text, start, end)
    at = stop.start() if stop else end
    while text.startswith(("**", "__"), at) and not stop:
        at += 2
    return at


def _inserted(text: str, insertions: Sequence[_Insertion]) -> Repair:
    pieces: list[str] = []
    edits: list[Edit] = []
    at = length = 0
    for one in insertions:
        unchanged, cut = text[at : one.at], one.at
        if one.lower:  # after the marks that open the sentence
            cut += len(text[cut:]) - len(text[cut:].lstrip(_WRAPPED)) + 1
        begin, after = length + len(unchanged), one.text + text[one.at : cut].lower()
        pieces += [unchanged, after]
        length = begin + len(after)
        action = Action(ActionKind.FLAG, one.at, cut, annotation=one.text.strip())
        edits.append(Edit(one.at, cut, begin, length, text[one.at : cut], after, action))
        at = cut
    whole = "".join((*pieces, text[at:]))
    return Repair(text, whole, tuple(edits), tuple(edit.action for edit in edits))


def cut_at(text: str, points: Sequence[WeakPoint]) -> int:
    """Offset where to cut: the start of the sentence with the first point, including its bullet."""
    first = min(point.start for point in points)
    at = _start(text, first)
    begins = [m.end() for m in re.finditer(r"[.!?…][\"'”’»)\]*_]*\s+|\n+", text[:at])]
    at = at if _is_start(text, at) else max(begins, default=0)
    dangling = _DANGLING.search(text[:at])
    return dangling.start() if dangling else at


def stopped(text: str, points: Sequence[WeakPoint]) -> str:
    """The part before the cut, then what is not known and what the sources say instead."""
    head = text[: cut_at(text, points)].rstrip()
    phrases = _phrases(text)
    quoted = [
        phrases["sources_say"].format(quote=_line(point.quote), source=point.source)
        for point in points[:1]
        if point.quote and point.source
    ]
    tail = " ".join((phrases["stop"], *quoted, phrases["no_more"]))
    return f"{head}\n\n{tail}" if head else tail


def limits(request: str, points: Sequence[WeakPoint] = (), knowledge: KnowledgeCheck | None = None) -> str:
    """A statement of limits instead of an answer: what is missing, what the sources say, what to do."""
    phrases = _phrases(request)
    lost = knowledge.missing if knowledge else ()
    named = [one.text for one in lost if one.kind != "question"]  # the questions only if no name is missing
    missing = list(dict.fromkeys(named or [one.text for one in lost]))
    lines = [phrases["limits"]]
    if missing:
        lines.append(phrases["missing"].format(what=", ".join(f"“{_line(what)}”" for what in missing)))
    elif points:
        lines.append(phrases["against"])
    else:
        lines.append(phrases["nothing"])
    quotes = dict.fromkeys((point.quote, point.source) for point in points if point.quote and point.source)
    lines += [phrases["sources_say"].format(quote=_line(quote), source=source) for quote, source in [*quotes][:3]]
    kinds = [kind for kind, _ in knowledge.alternatives] if knowledge else []
    for kind in dict.fromkeys(kinds or (Alternative.RETRIEVE, Alternative.NARROW)):
        lines.append(phrases["instead"][kind])
    return "\n".join((" ".join(lines[:2]), *lines[2:]))


_log = logging.getLogger(__name__)
_Rewritten = tuple[str, HallucinationReport | None]
Check = Callable[[str], Awaitable[HallucinationReport]]
_GUIDANCE_CHARS = 6000  # about 1,500 tokens of instructions
_END = 1 << 60


@dataclass(frozen=True, slots=True)
class Rewriter:
    """The inputs of a reformulation: a generator (None: reword by rule), the prompt, and a check."""

    generator: Generator | None
    messages: tuple[Message, ...]
    check: Check
    config: RealTimeConfig
    history: tuple[Turn, ...] = ()
    warnings: Callable[[str], tuple[StreamWarning, ...]] = lambda _: ()

    async def assess(self, text: str, report: HallucinationReport) -> Assessment:
        """Assess a new text as the first one was: by its report, its coherence and the patterns."""
        coherence = await asyncio.to_thread(coherence_of, text, self.history, report.detection)
        warnings = await asyncio.to_thread(self.warnings, text)
        return assess(report.claims, warnings, coherence, self.config.interrupt_threshold)


async def reformulate(answer: str, found: Assessment, rewriter: Rewriter) -> _Rewritten:
    """The model's second attempt if it passes; otherwise the first one, cut and reworded by rule.

    Returns the text for the user, and the report on it before hedges and marks were inserted.
    """
    return await _by_model(answer, found, rewriter) or await _by_rule(answer, found, rewriter)


async def _by_model(answer: str, found: Assessment, rewriter: Rewriter) -> _Rewritten | None:
    if rewriter.generator is None:
        return None
    head = answer[: cut_at(answer, found.failing)].rstrip()
    hints = guidance(found.failing)[:_GUIDANCE_CHARS]
    try:
        prompt = [*rewriter.messages, Message("assistant", head or "…"), Message("user", hints)]
        (written,) = await rewriter.generator.complete(prompt, max_tokens=rewriter.config.max_tokens)
    except GroundwireError as error:
        _log.warning("the answer could not be written again: %s", type(error).__name__)
        return None
    if not written.text.strip():
        return None
    text = _joined(head, written.text.strip())
    report = await _checked(text, rewriter)
    if report is None or (report.error and report.error != NOTHING_TO_CHECK):
        return None
    second = await rewriter.assess(text, report)
    if second.failing or stops(second.risk, rewriter.config):
        return None  # no better than the first; the rule says less but nothing wrong
    return worded(text, report, second, rewriter.config), report


async def _checked(text: str, rewriter: Rewriter) -> HallucinationReport | None:
    """The report on a text; None if it cannot be checked now (overload, store unavailable)."""
    try:
        return await rewriter.check(text)
    except GroundwireError as error:
        _log.warning("what was written again could not be checked: %s", type(error).__name__)
        return None


def _joined(head: str, rest: str) -> str:
    """Join the kept part and the new one without sentences that the model repeats."""
    before = [" ".join(head[s.start : s.end].split()) for s in sentences(head)]
    fresh = [s for s in sentences(rest) if " ".join(rest[s.start : s.end].split()) not in before]
    if not fresh:
        return head or rest
    follows = rest if len(fresh) == len(sentences(rest)) else " ".join(rest[s.start : s.end] for s in fresh)
    gap = "\n\n" if "\n" in head else " "  # a paragraph break after structured text
    return f"{head}{gap}{follows}" if head else follows


async def _by_rule(answer: str, found: Assessment, rewriter: Rewriter) -> _Rewritten:
    text = stopped(answer, found.failing)
    length = len(answer[: cut_at(answer, found.failing)].rstrip())
    report = await _checked(text, rewriter)
    if report is None:
        return text, None
    second = await rewriter.assess(text, report)
    own = Assessment(tuple(point for point in second.points if point.start < length))
    return worded(text, report, own, rewriter.config, length), report


def worded(text: str, report: HallucinationReport, found: Assessment, config: RealTimeConfig, until: int = _END) -> str:
    """The answer with marks, hedges and citations inserted before offset `until`."""
    claims = [claim for claim in report.claims if claim.start < until]
    return reworded(text, claims, found.points, wordings(config)).text
