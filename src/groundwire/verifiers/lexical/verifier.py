"""The lexical verifier: words, numbers, dates, names and negation, weighted by a calibrated linear model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp
from typing import Literal

from groundwire.text.tokens import Word
from groundwire.types import Estimate, Query, Span
from groundwire.verifiers.lexical.facts import Finding
from groundwire.verifiers.lexical.features import FEATURES, LexicalReading, read
from groundwire.verifiers.lexical.pieces import context_pieces

_SETTLED = 0.86
"""P(yes) from which shared words settle a claim: of 1,999 pairs of HebNLI, a third of each label, 67 have it
and 56 of these are entailed (140 of 178 from 0.8)."""
_DENIED = 0.8
"""Share of the claim in one piece from which a negation on one side only settles it: 16 of 21 such pairs of
HebNLI are contradictions. Another number, date or name settles it too: 22 of 29."""
_UNDECIDED = "shared words do not settle this; the embedded model reads English only"
_FEW = 0.6
"""Share of the claim in one piece under which the sources do not say it: 1,075 of 1,411 such pairs of HebNLI
without a conflict are not entailed."""
_SPEAKS = 0.34
"""Covered share of a claim's content words, by weight, from which the context is about its topic: a third."""
_SILENT_YES = 0.17
"""P(yes) at most of a claim that the context is not about, in other languages than English, which the weights
were not fitted on: 133 of 775 such pairs of HebNLI are entailed."""
_DENIED_YES = 0.25
"""P(yes) at most of a claim that differs in a role, a negation or a fact: 38 of 51 such pairs of HebNLI are
contradictions."""
_SUPPORTED = 0.5
"""P(yes) from which a claim is explained as supported: more likely than not."""
_CLOSE = 0.8
"""Share of the claim in a single piece from which the reason is "the evidence says so"."""
_OFF_TOPIC = 0.2
"""Share of the claim in the whole context below which the reason is "not mentioned in the sources"."""
_JOIN_GAP = 14
"""Characters up to which two marked spans are joined: about two words."""
_MIN_NOVEL = 2
"""New words from which a run is marked; a single one is often a synonym."""


class LexicalVerifier:
    """Compares words and figures, in any language. Offline, deterministic, no network weights to load.

    Catches: different numbers, dates, names, negations, opposites, exchanged roles, unmentioned content.
    Misses: paraphrase without shared words, and inference over several steps.

    Args:
        model: the calibration, by default the one that ships with the package.
    """

    def __init__(self, model: LexicalCalibration | None = None) -> None:
        self._model = model or calibration()

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        return [self.judge(query) for query in queries]

    def judge(self, query: Query) -> Estimate:
        """Judge one query synchronously: a few milliseconds of computation."""
        reading = read(query.claim, context_pieces(query.context), self._model.word_weights)
        yes, no, _ = probabilities(reading.values, self._model)
        settled = settled_by(reading, yes) if reading.language != "en" else None
        if reading.language != "en" and not _speaks(reading):
            yes = min(yes, _SILENT_YES)
        if settled in ("roles", "negation", "fact"):
            yes, no = min(yes, _DENIED_YES), max(no, 1.0 - _DENIED_YES)
        return Estimate.point(
            yes, no, _method(reading), reason=reason(reading, yes, no),
            spans=spans(reading, yes), speaks=_speaks(reading),
            undecided="" if reading.language == "en" or settled else _UNDECIDED,
        )  # fmt: skip

    def threshold_bits(self, profile: str = "default") -> float:
        """The budget gap, in bits, above which a claim is flagged; chosen by calibration."""
        points = self._model.operating_points
        return points.get(profile, points["default"])


def _method(reading: LexicalReading) -> str:
    return "local/lexical" if reading.language == "en" else f"local/lexical({reading.language})"


Settling = Literal["words", "silence", "roles", "negation", "fact"]


def settled_by(reading: LexicalReading, p_yes: float) -> Settling | None:
    """What decides a claim in another language than English; None where nothing that words show does.

    `words`: nearly all are shared. `silence`: few are. `roles`, `negation`, `fact`: the claim differs from
    the evidence in who did it, in a negation, or in a number, date or name.
    """
    if reading.exchanged:
        return "roles"
    if any(finding.verdict == "conflict" for finding in reading.findings):
        return "fact"
    if reading.denied_by_evidence is not None:
        return "negation" if reading.match.best >= _DENIED else None
    if p_yes >= _SETTLED:
        return "words"
    return "silence" if reading.match.best < _FEW else None


def _speaks(reading: LexicalReading) -> bool:
    return reading.match.alike >= _SPEAKS or reading.match.best >= _SPEAKS


@dataclass(frozen=True, slots=True)
class LexicalCalibration:
    """Three logits, linear in the features; computed by training/lexical.py.

    `coefficients`: one (yes, no, unsure) row per feature. `doubt`: the minimum probability of each answer,
    since words alone never make anything certain. `operating_points`: profile → threshold in bits.
    """

    coefficients: tuple[tuple[float, float, float], ...]
    doubt: tuple[float, float, float]
    word_weights: Mapping[str, float]
    operating_points: Mapping[str, float]


@cache
def calibration() -> LexicalCalibration:
    """The calibration that ships with the package."""
    raw = json.loads(files("groundwire.verifiers.lexical").joinpath("calibration.json").read_text("utf-8"))
    rows = raw["coefficients"]
    return LexicalCalibration(
        coefficients=tuple((rows[name][0], rows[name][1], rows[name][2]) for name in FEATURES),
        doubt=(raw["doubt"][0], raw["doubt"][1], raw["doubt"][2]),
        word_weights=raw["word_weights"],
        operating_points=raw["operating_points"],
    )


def probabilities(values: Sequence[float], model: LexicalCalibration) -> tuple[float, float, float]:
    """P(yes), P(no), P(unsure)."""
    logits = [sum(value * row[k] for value, row in zip(values, model.coefficients, strict=True)) for k in range(3)]
    top = max(logits)
    exps = [exp(logit - top) for logit in logits]
    share = (1.0 - sum(model.doubt)) / sum(exps)
    yes, no, unsure = (doubt + share * e for doubt, e in zip(model.doubt, exps, strict=True))
    return yes, no, unsure


def reason(reading: LexicalReading, p_yes: float, p_no: float) -> str:
    """The most important reason for the estimate, in words."""
    if not reading.match.pieces:
        return "there is no evidence"
    if p_yes >= _SUPPORTED:
        return "the evidence says so" if reading.match.best >= _CLOSE else "supported by the sources"
    return _conflict(reading) or _missing(reading) or ("contradicted by the evidence" if p_no > p_yes else "")


def _conflict(reading: LexicalReading) -> str:
    conflicts = [f for f in reading.findings if f.verdict == "conflict"]
    if reading.exchanged:
        return "the evidence has the roles the other way round"
    if conflicts:
        return f"evidence says {max(conflicts, key=lambda f: f.strength).instead.strip()}"
    if reading.denied_by_evidence is not None:
        return "negated in the evidence" if reading.denied_by_evidence else "negated in the claim, not in the evidence"
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
    if reading.match.any_piece < _OFF_TOPIC:
        return "not mentioned in the sources"
    return "not in the sources: " + ", ".join(f"'{w}'" for w in words[:3]) if words else ""


def spans(reading: LexicalReading, p_yes: float) -> tuple[Span, ...]:
    """The unsupported parts: facts in conflict or missing, runs of new words, else the whole claim."""
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
    found = tuple(Span(start, end, score) for start, end, weight in merged if weight >= _MIN_NOVEL)
    return found or _whole(reading.claim.text, score)


def _marked(reading: LexicalReading) -> Iterator[tuple[int, int, int]]:
    """(start, end, weight); a single new word weighs too little to be marked, a fact is enough by itself."""
    yield from ((f.start, f.end, _MIN_NOVEL) for f in reading.findings if _is_bad(f))
    for found in (reading.opposed, reading.quantified):
        if found:
            yield found[0].start, found[0].end, _MIN_NOVEL
    yield from ((word.start, word.end, 1) for word in _novel(reading))


def _is_bad(finding: Finding) -> bool:
    return finding.verdict in ("conflict", "missing")


def _novel(reading: LexicalReading) -> list[Word]:
    known = reading.match.known | reading.match.covered
    return [word for word in reading.claim.content if word.norm not in known]


def _whole(text: str, score: float) -> tuple[Span, ...]:
    start = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    return (Span(start, end, score),) if end > start else ()
