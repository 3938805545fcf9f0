"""Rewrite an answer as the protocol asks: marks, hedged sentences, a cut, or a new attempt by the model.

Phrases exist in English and Hebrew. Statements of limits are worded as refusals, which assert nothing, so
they raise no flags when the text is checked again.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from groundwire.config import RealTimeConfig, RiskAction
from groundwire.errors import GroundwireError
from groundwire.llm import Generator, Message
from groundwire.streaming.coherence import coherence_of
from groundwire.streaming.protocol import RANK, Assessment, assess, guidance, stops, wordings
from groundwire.streaming.session import again
from groundwire.text.lexicon import word_table
from groundwire.text.sentences import sentences
from groundwire.text.tokens import is_stop, language_hint
from groundwire.types import (
    NOTHING_TO_CHECK,
    Action,
    ActionKind,
    ClaimVerification,
    Edit,
    HallucinationReport,
    Repair,
    Risk,
    Status,
    Turn,
)
from groundwire.types.stream import Alternative, KnowledgeCheck, StreamWarning, WeakPoint


@dataclass(frozen=True, slots=True)
class Phrases:
    """The phrases of one language, from `text/data/phrases.toml`."""

    marks: Mapping[str, str]
    openings: Mapping[str, str]
    leads: str
    stop: str
    sources_say: str
    no_more: str
    limits: str
    missing: str
    nothing: str
    against: str
    instead: Mapping[str, str]
    alternatives: Mapping[str, str]


_SAME = {"doubtful": "contradicted", "established": "earlier"}


def phrases_for(text: str) -> Phrases:
    return Phrases(**word_table("phrases")["he" if language_hint(text) == "he" else "en"])


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
                for attribution in _attribution(text, claim):
                    wanted.setdefault(attribution.at, attribution)
    return _inserted(text, sorted(wanted.values(), key=lambda i: i.at))


def _treated(text: str, point: WeakPoint, action: RiskAction) -> _Insertion | None:
    if action == "none":
        return None
    if action == "mark" or not _can_open(text, point):
        mark = _phrase(point.kind, phrases_for(point.text).marks)
        vague = point.kind == "vague"  # says too little to be marked
        return None if vague else _Insertion(_end(text, point.start, point.end), f" {mark}")
    return _opened(text, point)


def _can_open(text: str, point: WeakPoint) -> bool:
    """True if the point begins a sentence; false in table rows and dependent clauses."""
    line = text.rfind("\n", 0, point.start) + 1
    row = _ROW.match(text[line : point.start + 1])
    return not row and _is_start(text, _start(text, point.start))


def _is_start(text: str, at: int) -> bool:
    """True if a sentence begins here, possibly after a bullet or a quotation mark."""
    before = text[max(0, at - _BULLET_CHARS) : at]
    return not before.strip() or bool(_BEGINS.search(f"\n{before}" if at <= _BULLET_CHARS else before))


def _opened(text: str, point: WeakPoint) -> _Insertion:
    phrases = phrases_for(point.text)
    at = _start(text, point.start)
    lead = re.match(phrases.leads, text[at : point.end])
    at += lead.end() if lead else 0
    opening = _phrase(point.kind, phrases.openings).format(prior=_short(point.prior))
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


def _attribution(text: str, claim: ClaimVerification) -> Iterator[_Insertion]:
    sources = list(dict.fromkeys(ref.source for ref in claim.evidence))
    if claim.status is Status.ENTAILED and not claim.is_flagged and not claim.citations and sources:
        yield _Insertion(_end(text, claim.start, claim.end), f" [{sources[0]}]")


def _inserted(text: str, insertions: Sequence[_Insertion]) -> Repair:
    pieces: list[str] = []
    edits: list[Edit] = []
    at = length = 0
    for one in insertions:
        unchanged, cut = text[at : one.at], _letter(text, one)
        begin, after = length + len(unchanged), one.text + text[one.at : cut].lower()
        pieces += [unchanged, after]
        length = begin + len(after)
        action = Action(ActionKind.FLAG, one.at, cut, annotation=one.text.strip())
        edits.append(Edit(one.at, cut, begin, length, text[one.at : cut], after, action))
        at = cut
    whole = "".join((*pieces, text[at:]))
    return Repair(text, whole, tuple(edits), tuple(edit.action for edit in edits))


def _letter(text: str, one: _Insertion) -> int:
    """End of the part to lower-case: the opening marks and the first letter."""
    if not one.lower:
        return one.at
    at = one.at
    while text[at] in _WRAPPED:
        at += 1
    return at + 1


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
    phrases = phrases_for(text)
    quoted = [
        phrases.sources_say.format(quote=_short(point.quote), source=point.source)
        for point in points[:1]
        if point.quote and point.source
    ]
    tail = " ".join((phrases.stop, *quoted, phrases.no_more))
    return f"{head}\n\n{tail}" if head else tail


def limits(request: str, points: Sequence[WeakPoint] = (), knowledge: KnowledgeCheck | None = None) -> str:
    """A statement of limits instead of an answer: what is missing, what the sources say, what to do."""
    phrases = phrases_for(request)
    missing = _missing(knowledge) if knowledge else []
    lines = [phrases.limits]
    if missing:
        lines.append(phrases.missing.format(what=", ".join(f"“{_short(what)}”" for what in missing)))
    elif points:
        lines.append(phrases.against)
    else:
        lines.append(phrases.nothing)
    quotes = dict.fromkeys((point.quote, point.source) for point in points if point.quote and point.source)
    lines += [phrases.sources_say.format(quote=_short(quote), source=source) for quote, source in [*quotes][:3]]
    kinds = [kind for kind, _ in knowledge.alternatives] if knowledge else []
    for kind in dict.fromkeys(kinds or (Alternative.RETRIEVE, Alternative.NARROW)):
        lines.append(phrases.instead[kind])
    return "\n".join((" ".join(lines[:2]), *lines[2:]))


def _missing(knowledge: KnowledgeCheck) -> list[str]:
    """The missing names, or the questions if no name is missing."""
    named = [lost.text for lost in knowledge.missing if lost.kind != "question"]
    return list(dict.fromkeys(named or [lost.text for lost in knowledge.missing]))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTE_CHARS else f"{line[: _QUOTE_CHARS - 1]}…"


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
        (written,) = await rewriter.generator.complete(
            again(rewriter.messages, head or "…", hints), max_tokens=rewriter.config.max_tokens
        )
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
