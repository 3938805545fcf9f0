"""An answer reworded by rule: marks behind its claims, doubt before weak sentences, a stop where it fails.

Nothing but insertions and cuts: Markdown stays whole, and every edit knows where it stood, so that the
original can be had back (`policy.repair.restore`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from groundwire.config.service import RiskAction
from groundwire.streaming.phrases import mark_for, opening_for, phrases_for
from groundwire.text.tokens import is_stop
from groundwire.types import Action, ActionKind, ClaimVerification, Edit, Repair, Risk, Status
from groundwire.types.realtime import Alternative, KnowledgeCheck, WeakPoint

Actions = Mapping[Risk, RiskAction]
_WRAPPED = "*_~`\"“‘'([«"
_BEGINS = re.compile(
    r"(?:[\n\r]|[.!?…:;][\"'”’»)\]*_]*\s)[ \t]*(?:>[ \t]*)*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]+)?\Z"
)
_LOOK_BACK = 80
_ROW = re.compile(r"^[ \t]*\|", re.MULTILINE)
_ENDS = re.compile(r"[.!?…。！？]+[\"'”’»)]*\Z")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_DANGLING = re.compile(r"(?:^|\n)[ \t]*(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>)?[ \t]*\Z")
_QUOTE = 300


@dataclass(frozen=True, slots=True)
class _Insertion:
    at: int
    text: str
    lower: bool = False
    """Whether the letter that follows begins no sentence any more."""


def reworded(
    text: str, claims: Sequence[ClaimVerification], weak: Sequence[WeakPoint], actions: Actions
) -> Repair:
    """Each weak point as the level of its risk asks for; what the sources carry gets their name."""
    wanted: dict[int, _Insertion] = {}
    for point in sorted(weak, key=lambda p: -_RANK[p.risk]):
        found = _treated(text, point, actions.get(point.risk, "none"))
        if found is not None and not any(_inside(found.at, other) for other in _ranges(weak, point)):
            wanted.setdefault(found.at, found)
    if actions.get(Risk.LOW) == "mark":
        for claim in claims:
            if not any(point.start < claim.end and claim.start < point.end for point in weak):
                for attribution in _attribution(text, claim):
                    wanted.setdefault(attribution.at, attribution)
    return _inserted(text, sorted(wanted.values(), key=lambda i: i.at))


_RANK = {risk: rank for rank, risk in enumerate(Risk)}


def _ranges(weak: Sequence[WeakPoint], own: WeakPoint) -> Iterator[WeakPoint]:
    """Graver points whose words this one lies in: they speak for it."""
    return (p for p in weak if p is not own and _RANK[p.risk] > _RANK[own.risk])


def _inside(at: int, point: WeakPoint) -> bool:
    return point.start <= at <= point.end


def _treated(text: str, point: WeakPoint, action: RiskAction) -> _Insertion | None:
    if action == "none":
        return None
    if action == "mark" or not _can_open(text, point):
        mark = mark_for(point.kind, phrases_for(point.text))
        return _Insertion(_end(text, point.start, point.end), f" {mark}") if mark else None
    return _opened(text, point)


def _can_open(text: str, point: WeakPoint) -> bool:
    """Whether a sentence begins there: not in a table's row, nor where a clause leans on the one before."""
    line = text.rfind("\n", 0, point.start) + 1
    row = _ROW.match(text[line : point.start + 1])
    return not row and _is_start(text, _start(text, point.start))


def _is_start(text: str, at: int) -> bool:
    """Whether a sentence begins here, behind a bullet or a quotation's mark as it may be."""
    before = text[max(0, at - _LOOK_BACK) : at]
    return not before.strip() or bool(_BEGINS.search(f"\n{before}" if at <= _LOOK_BACK else before))


def _opened(text: str, point: WeakPoint) -> _Insertion:
    said = phrases_for(point.text)
    at = _start(text, point.start)
    lead = re.match(said.leads, text[at : point.end])
    at += lead.end() if lead else 0
    opening = opening_for(point.kind, said).format(prior=_short(point.prior))
    follows = text[at : point.end].lstrip(_WRAPPED)
    if opening.endswith("ש") and not re.match(r"[א-ת]", text[at : at + 1]):
        opening += "-"
    lower = opening.endswith("that ") and _is_common(follows, text)
    if lead and not opening.startswith("I "):
        opening = opening[:1].lower() + opening[1:]
    return _Insertion(at, opening, lower)


def _is_common(sentence: str, text: str) -> bool:
    """Whether its first word is capital only because it begins a sentence."""
    first = _WORD.match(sentence)
    if not first or not first[0][:1].isupper() or first[0] in ("I", "I'm", "I’m", "I've", "I’ve"):
        return False
    return is_stop(first[0]) or re.search(rf"\b{re.escape(first[0].lower())}\b", text) is not None


def _start(text: str, at: int) -> int:
    """Before the emphasis, quotation mark or bracket that opens the sentence."""
    while at > 0 and text[at - 1] in _WRAPPED:
        at -= 1
    return at


def _end(text: str, start: int, end: int) -> int:
    """Before the full stop, so that a mark belongs to its sentence."""
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
        kept, cut = text[at : one.at], _letter(text, one)
        begin, after = length + len(kept), one.text + text[one.at : cut].lower()
        pieces += [kept, after]
        length = begin + len(after)
        action = Action(ActionKind.FLAG, one.at, cut, annotation=one.text.strip())
        edits.append(Edit(one.at, cut, begin, length, text[one.at : cut], after, action))
        at = cut
    whole = "".join((*pieces, text[at:]))
    return Repair(text, whole, tuple(edits), tuple(edit.action for edit in edits))


def _letter(text: str, one: _Insertion) -> int:
    """The end of what is made small: the opening marks and the first letter."""
    if not one.lower:
        return one.at
    at = one.at
    while text[at] in _WRAPPED:
        at += 1
    return at + 1


def cut_at(text: str, points: Sequence[WeakPoint]) -> int:
    """Where what cannot stand begins: the sentence of the first such point, its bullet included."""
    first = min(point.start for point in points)
    at = _start(text, first)
    begins = [m.end() for m in re.finditer(r"[.!?…][\"'”’»)\]*_]*\s+|\n+", text[:at])]
    at = at if _is_start(text, at) else max(begins, default=0)
    dangling = _DANGLING.search(text[:at])
    return dangling.start() if dangling else at


def stopped(text: str, points: Sequence[WeakPoint]) -> str:
    """What stands, then what is not known and what the sources say instead."""
    kept = text[: cut_at(text, points)].rstrip()
    said = phrases_for(text)
    quoted = [
        said.sources_say.format(quote=_short(point.quote), source=point.source)
        for point in points[:1]
        if point.quote and point.source
    ]
    tail = " ".join((said.stop, *quoted, said.no_more))
    return f"{kept}\n\n{tail}" if kept else tail


def limits(request: str, points: Sequence[WeakPoint] = (), knowledge: KnowledgeCheck | None = None) -> str:
    """A transparent statement instead of an answer: what is missing, what the sources do say, what to do."""
    said = phrases_for(request)
    missing = _missing(knowledge) if knowledge else []
    lines = [said.limits]
    if missing:
        lines.append(said.missing.format(what=", ".join(f"“{_short(what)}”" for what in missing)))
    elif points:
        lines.append(said.against)
    else:
        lines.append(said.nothing)
    quotes = dict.fromkeys((point.quote, point.source) for point in points if point.quote and point.source)
    lines += [said.sources_say.format(quote=_short(quote), source=source) for quote, source in [*quotes][:3]]
    kinds = [kind for kind, _ in knowledge.alternatives] if knowledge else []
    for kind in dict.fromkeys(kinds or (Alternative.RETRIEVE, Alternative.NARROW)):
        lines.append(said.instead[kind])
    return "\n".join((" ".join(lines[:2]), *lines[2:]))


def _missing(knowledge: KnowledgeCheck) -> list[str]:
    """What is missing, by name where a name is known; else the question itself."""
    named = [lost.text for lost in knowledge.missing if lost.kind != "question"]
    return list(dict.fromkeys(named or [lost.text for lost in knowledge.missing]))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTE else f"{line[: _QUOTE - 1]}…"
