"""Say in words why, and mark which characters of the claim the evidence does not carry."""

from __future__ import annotations

from collections.abc import Iterator

from groundwire.text.tokens import Word
from groundwire.types import Span
from groundwire.verifiers.lexical.facts import Finding
from groundwire.verifiers.lexical.features import LexicalReading

_JOIN_GAP = 14
_MIN_NOVEL = 2
_SUPPORTED = 0.5


def reason(reading: LexicalReading, p_yes: float, p_no: float) -> str:
    """The one thing a reader should know first."""
    if not reading.match.pieces:
        return "no evidence to judge by"
    if p_yes >= _SUPPORTED:
        return "the evidence says so" if reading.match.best >= 0.8 else "the sources cover it"
    return (
        _against(reading) or _missing(reading) or ("the evidence speaks against it" if p_no > p_yes else "")
    )


def _against(reading: LexicalReading) -> str:
    conflicts = [f for f in reading.findings if f.verdict == "conflict"]
    if reading.exchanged:
        return "the evidence has the roles the other way round"
    if conflicts:
        return f"evidence says {max(conflicts, key=lambda f: f.strength).instead.strip()}"
    if reading.denied_by_evidence is not None:
        return (
            "negated in the evidence"
            if reading.denied_by_evidence
            else "negated in the claim, not in the evidence"
        )
    if reading.opposed:
        return f"evidence says '{reading.opposed[1]}', not '{reading.opposed[0].text}'"
    if reading.quantified:
        return f"evidence says '{reading.quantified[1]}', not '{reading.quantified[0].text}'"
    return ""


def _missing(reading: LexicalReading) -> str:
    text = reading.claim.text
    facts = [text[f.start : f.end] for f in reading.findings if f.verdict == "missing"]
    if facts:
        return f"'{facts[0]}' is not in the sources"
    words = [word.text for word in _novel(reading)]
    if reading.match.any_piece < 0.2:
        return "the sources do not speak of it"
    return "not in the sources: " + ", ".join(f"'{w}'" for w in words[:3]) if words else ""


def spans(reading: LexicalReading, p_yes: float) -> tuple[Span, ...]:
    """What nothing carries: facts in conflict or missing, runs of new words, else all of the claim."""
    score = round(1.0 - p_yes, 4)
    if p_yes >= _SUPPORTED:
        return ()
    marked = sorted(_marked(reading))
    merged: list[tuple[int, int, int]] = []
    for start, end, weight in marked:
        if merged and start - merged[-1][1] <= _JOIN_GAP:
            first, last, total = merged[-1]
            merged[-1] = (first, max(last, end), total + weight)
        else:
            merged.append((start, end, weight))
    kept = tuple(Span(start, end, score) for start, end, weight in merged if weight >= _MIN_NOVEL)
    return kept or _whole(reading.claim.text, score)


def _marked(reading: LexicalReading) -> Iterator[tuple[int, int, int]]:
    """(start, end, weight); a lone new word weighs too little to be marked, a fact is enough by itself."""
    yield from ((f.start, f.end, _MIN_NOVEL) for f in reading.findings if _is_bad(f))
    for found in (reading.opposed, reading.quantified):
        if found:
            yield found[0].start, found[0].end, _MIN_NOVEL
    yield from ((word.start, word.end, 1) for word in _novel(reading))


def _is_bad(finding: Finding) -> bool:
    return finding.verdict in ("conflict", "missing")


def _novel(reading: LexicalReading) -> list[Word]:
    known = reading.match.known | reading.match.held
    return [word for word in reading.claim.content if word.norm not in known]


def _whole(text: str, score: float) -> tuple[Span, ...]:
    start = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    return (Span(start, end, score),) if end > start else ()
