"""Compare a claim with a context: findings for the explanation, features for the model."""

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

_SAME_MATTER = 0.5  # share of the claim's content words from which a piece is on its topic; by convention
_CONFLICT = 0.5  # strength from which a differing fact is a conflict; by convention
_KNOWN_ORDER = frozenset({"en", "he"})  # languages whose word order or markers show who did what to whom


@dataclass(frozen=True, slots=True)
class LexicalReading:
    """A claim compared with a context: features for the model, findings for the reason and the spans."""

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
    """Compare a claim with the pieces of a context; `weights` of words, 1 by default."""
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
        # only sentences have roles; a label and its value have none
        and any(polarity.roles_exchanged(claim, near.analysis) for near in matched.near if not near.label),
        language=language,
    )
    values = _values(reading)
    return replace(reading, values=tuple(values[name] for name in FEATURES))


def _same_matter(matched: LexicalMatch) -> list[Near]:
    """The pieces on the claim's topic, nearest first; only there are opposites contradictions."""
    found = [near for near in matched.near if near.overlap >= _SAME_MATTER]
    return sorted(found, key=lambda near: -near.overlap)


def _values(reading: LexicalReading) -> dict[str, float]:
    m, claim = reading.match, reading.claim
    content = {word.norm for word in claim.content}
    novel = len(content - m.covered)
    foreign = float(reading.language != "en" and bool(m.near))
    # In a conflict the shared words show a contradiction, so they must not count as support.
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
    } | _fact_values(reading)  # fmt: skip


def _verbatim(claim: Analysis, m: LexicalMatch) -> bool:
    """Return True if one piece contains all words of the claim in the same order."""
    norms = [word.norm for word in claim.words]
    return bool(norms) and any(_in_order(norms, [w.norm for w in near.analysis.words]) for near in m.near)


def _in_order(wanted: list[str], words: list[str]) -> bool:
    rest = iter(words)
    return all(norm in rest for norm in wanted)


def _fact_values(reading: LexicalReading) -> dict[str, float]:
    numbers = [f for f in reading.findings if f.kind == "number"]
    dates = [f for f in reading.findings if f.kind == "date"]
    names = [f for f in reading.findings if f.kind == "name"]
    return {
        "numbers": float(bool(numbers)),
        "numbers_held": _count(numbers, "found"),
        "numbers_elsewhere": _count(numbers, "elsewhere"),
        "numbers_missing": _count(numbers, "missing"),
        "number_conflict": _strongest(numbers),
        "dates_held": _count(dates, "found"),
        "dates_missing": _count(dates, "missing"),
        "date_conflict": _strongest(dates),
        "names": float(any(f.verdict == "found" for f in names)),
        "names_missing": _count(names, "missing"),
        "name_conflict": _strongest(names),
    }


def _count(findings: list[Finding], verdict: str) -> float:
    return log1p(sum(f.verdict == verdict for f in findings))


def _strongest(findings: list[Finding]) -> float:
    return max((f.strength for f in findings if f.verdict == "conflict"), default=0.0)


def _says_otherwise(reading: LexicalReading) -> bool:
    """Return True for the same words with a negation, an opposite, another quantifier or exchanged roles."""
    denied = reading.denied_by_evidence is not None
    return denied or reading.exchanged or bool(reading.opposed or reading.quantified)


def _in_conflict(reading: LexicalReading) -> bool:
    facts = any(f.verdict == "conflict" and f.strength >= _CONFLICT for f in reading.findings)
    return facts or _says_otherwise(reading)
