"""What is known about a claim in a context, in words (findings) and in figures (the model's features)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log1p

from groundwire.text.tokens import Word, language_hint
from groundwire.verifiers.lexical import polarity
from groundwire.verifiers.lexical.facts import Finding, Near, find_dates, find_names, find_numbers
from groundwire.verifiers.lexical.match import LexicalMatch, match
from groundwire.verifiers.lexical.pieces import Analysis, Piece, analyse

FEATURES = (
    "bias", "covered_any", "covered_best", "covered_few", "covered_alike", "alike_over_half", "alike_over_80",
    "any_over_80", "pairs", "best_and_pairs", "verbatim", "novel_words", "novel_share_sq", "length",
    "structured", "structured_covered", "numbers", "numbers_held", "numbers_elsewhere", "numbers_missing",
    "number_conflict", "dates_held", "dates_missing", "date_conflict", "names", "names_missing",
    "name_conflict", "otherwise", "any_conflict", "not_english", "not_english_covered", "silent",
)  # fmt: skip

_SAME_MATTER = 0.5
_KNOWN_ORDER = frozenset({"en", "he"})  # languages in which who did what to whom can be read off the order


@dataclass(frozen=True, slots=True)
class LexicalReading:
    """A claim read against a context: figures for the model, findings for the reason and the spans."""

    values: tuple[float, ...]
    match: LexicalMatch
    claim: Analysis
    findings: tuple[Finding, ...]
    denied_by_evidence: bool | None
    opposed: tuple[Word, str] | None
    quantified: tuple[Word, str] | None
    exchanged: bool
    language: str


def read(claim_text: str, context: Sequence[Piece], weights: Mapping[str, float]) -> LexicalReading:
    claim = analyse(claim_text)
    matched = match(claim, context, weights)
    findings = (
        *find_numbers(claim, matched.near, matched.far),
        *find_dates(claim, matched.near, matched.far),
        *find_names(claim, matched.near, matched.known),
    )
    same = _same_matter(matched)
    language = language_hint(claim_text)
    about = [near.analysis for near in same]
    everything = [near.analysis for near in matched.near]
    reading = LexicalReading(
        values=(),
        match=matched,
        claim=claim,
        findings=findings,
        denied_by_evidence=polarity.negation_differs(claim, about),
        opposed=polarity.opposite(claim, about[0], everything) if about else None,
        quantified=polarity.quantifier_differs(claim, about[0]) if about else None,
        exchanged=language in _KNOWN_ORDER
        # who did what to whom is said by sentences: a label and its value have no roles
        and any(polarity.roles_exchanged(claim, near.analysis) for near in matched.near if not near.label),
        language=language,
    )
    figures = _figures(reading)
    return replace(reading, values=tuple(figures[name] for name in FEATURES))


def _same_matter(matched: LexicalMatch) -> list[Near]:
    """The pieces on the claim's own matter, nearest first; only there do opposites mean anything."""
    found = [near for near in matched.near if near.overlap >= _SAME_MATTER]
    return sorted(found, key=lambda near: -near.overlap)


def _figures(reading: LexicalReading) -> dict[str, float]:
    m, claim = reading.match, reading.claim
    content = {word.norm for word in claim.content}
    novel = len(content - m.held)
    foreign = float(reading.language != "en" and bool(m.near))
    # In a conflict the shared words speak against the claim: how many they are must not speak for it.
    clear = 0.0 if _in_conflict(reading) else 1.0
    return {
        "bias": 1.0,
        "covered_any": clear * m.any_piece,
        "covered_best": m.best,
        "covered_few": clear * m.few,
        "covered_alike": m.alike,
        "alike_over_half": clear * max(0.0, m.alike - 0.5),
        "alike_over_80": clear * max(0.0, m.alike - 0.8),
        "any_over_80": clear * max(0.0, m.any_piece - 0.8),
        "pairs": clear * m.pairs,
        "best_and_pairs": clear * m.best * m.pairs,
        "verbatim": clear * _verbatim(claim, m),
        "otherwise": float(_says_otherwise(reading)),
        "any_conflict": 1.0 - clear,
        "novel_words": clear * log1p(novel),
        "novel_share_sq": clear * (1 - m.alike) ** 2,
        "length": log1p(len(content)),
        "structured": m.structured,
        "structured_covered": m.structured * m.alike,
        "not_english": foreign,
        "not_english_covered": foreign * m.alike,
        "silent": float(not m.near),
    } | _fact_figures(reading)  # fmt: skip


def _verbatim(claim: Analysis, m: LexicalMatch) -> bool:
    """Do all words of the claim stand in one piece, in the same order?"""
    norms = [word.norm for word in claim.words]
    return bool(norms) and any(_in_order(norms, [w.norm for w in near.analysis.words]) for near in m.near)


def _in_order(wanted: list[str], words: list[str]) -> bool:
    rest = iter(words)
    return all(norm in rest for norm in wanted)


def _fact_figures(reading: LexicalReading) -> dict[str, float]:
    numbers = [f for f in reading.findings if f.kind == "number"]
    dates = [f for f in reading.findings if f.kind == "date"]
    names = [f for f in reading.findings if f.kind == "name"]
    return {
        "numbers": float(bool(numbers)),
        "numbers_held": _count(numbers, "held"),
        "numbers_elsewhere": _count(numbers, "elsewhere"),
        "numbers_missing": _count(numbers, "missing"),
        "number_conflict": _strongest(numbers),
        "dates_held": _count(dates, "held"),
        "dates_missing": _count(dates, "missing"),
        "date_conflict": _strongest(dates),
        "names": float(any(f.verdict == "held" for f in names)),
        "names_missing": _count(names, "missing"),
        "name_conflict": _strongest(names),
    }


def _count(findings: list[Finding], verdict: str) -> float:
    return log1p(sum(f.verdict == verdict for f in findings))


def _strongest(findings: list[Finding]) -> float:
    return max((f.strength for f in findings if f.verdict == "conflict"), default=0.0)


def _says_otherwise(reading: LexicalReading) -> bool:
    """The same words, but denied, opposed, of other extent or with the roles exchanged."""
    denied = reading.denied_by_evidence is not None
    return denied or reading.exchanged or bool(reading.opposed or reading.quantified)


def _in_conflict(reading: LexicalReading) -> bool:
    facts = any(f.verdict == "conflict" and f.strength >= 0.5 for f in reading.findings)
    return facts or _says_otherwise(reading)
