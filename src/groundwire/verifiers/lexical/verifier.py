"""The lexical verifier: words, numbers, dates, names and negation, weighed by a calibrated model."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.types import Estimate, Query
from groundwire.verifiers.lexical.explain import reason, spans
from groundwire.verifiers.lexical.features import LexicalReading, read
from groundwire.verifiers.lexical.model import LexicalCalibration, calibration, probabilities
from groundwire.verifiers.lexical.pieces import context_pieces

_SPEAKS = 0.34


class LexicalVerifier:
    """Judges by what words and figures tell, in any language. Offline, deterministic, no weights to load.

    Catches: other numbers, dates, names, negations, opposites, exchanged roles, what no source mentions.
    Misses: paraphrase without shared words, and inference over several steps.
    """

    def __init__(self, model: LexicalCalibration | None = None) -> None:
        self._model = model or calibration()

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        return [self.judge(query) for query in queries]

    def judge(self, query: Query) -> Estimate:
        """One query, without the event loop: the work is a few milliseconds of pure computation."""
        reading = read(query.claim, context_pieces(query.context), self._model.word_weights)
        yes, no, _ = probabilities(reading.values, self._model)
        return Estimate.point(
            yes, no, _method(reading), reason=reason(reading, yes, no),
            spans=spans(reading, yes), speaks=_speaks(reading),
        )  # fmt: skip

    def threshold_bits(self, profile: str = "default") -> float:
        """The gap above which calibration chose to flag."""
        points = self._model.operating_points
        return points.get(profile, points["default"])


def _method(reading: LexicalReading) -> str:
    return "local/lexical" if reading.language == "en" else f"local/lexical({reading.language})"


def _speaks(reading: LexicalReading) -> bool:
    return reading.match.alike >= _SPEAKS or reading.match.best >= _SPEAKS
