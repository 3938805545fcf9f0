"""Haystack adapter: a component with the sockets of its `FaithfulnessEvaluator`, without a language model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundwire._optional import load
from groundwire.config import BackendName, ProfileName
from groundwire.integrations.evaluator import GroundednessChecker
from groundwire.requests import as_sources

component: Any = load("haystack:component", feature="groundwire for Haystack", extra="haystack")


@component
class HaystackGroundednessEvaluator:
    """`contexts` are texts or documents per answer.

    `individual_scores` has None for an answer that could not be checked, and `score` is the mean of the
    others (None if there are none). `results` has label, error, spans and claims of each answer.
    """

    def __init__(
        self, backend: BackendName | None = None, profile: ProfileName | None = None, target: float | None = None
    ) -> None:
        # A pipeline is saved by these parameters.
        self.backend, self.profile, self.target = backend, profile, target
        self._checker = GroundednessChecker(backend=backend, profile=profile, target=target)

    @component.output_types(score=float, individual_scores=list[float], results=list[dict[str, Any]])  # type: ignore[untyped-decorator]
    def run(self, questions: list[str], contexts: list[list[Any]], predicted_answers: list[str]) -> Mapping[str, Any]:
        cases = zip(questions, contexts, predicted_answers, strict=True)
        found = [self._checker.check(answer, as_sources(list(given)), question) for question, given, answer in cases]
        scores = [None if result.grounded is None else result.score for result in found]
        known = [score for score in scores if score is not None]
        return {
            "score": sum(known) / len(known) if known else None,
            "individual_scores": scores,
            "results": [result.details for result in found],
        }


GroundednessEvaluator = HaystackGroundednessEvaluator
"""The name that Haystack users import."""
