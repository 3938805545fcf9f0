"""Ragas adapter: faithfulness without a language model, with the reason for every statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from groundwire._optional import load
from groundwire.integrations.evaluator import EngineKwargs, GroundednessChecker, GroundednessResult

_FEATURE = "groundwire for Ragas"
BaseMetric: Any = load("ragas.metrics.collections.base:BaseMetric", feature=_FEATURE, extra="ragas")
MetricResult: Any = load("ragas.metrics.result:MetricResult", feature=_FEATURE, extra="ragas")


class RagasGroundednessMetric(BaseMetric):  # type: ignore[misc]
    """`ascore(user_input=…, response=…, retrieved_contexts=[…])` gives the share of supported statements.

    `reason` has one line per statement, and `traces["output"]` the claims with evidence, bits and spans. The
    value of a response that could not be checked is None, with the reason; it is never NaN or 0.
    """

    def __init__(self, name: str = "groundedness", **options: Unpack[EngineKwargs]) -> None:
        super().__init__(name=name)
        self._checker = GroundednessChecker(**options)

    async def ascore(self, response: str, retrieved_contexts: Sequence[str], user_input: str = "", **_: Any) -> Any:
        return _result(await self._checker.acheck(response, list(retrieved_contexts), user_input))

    def score(self, response: str, retrieved_contexts: Sequence[str], user_input: str = "", **_: Any) -> Any:
        """Overridden because the base class cannot run inside an event loop."""
        return _result(self._checker.check(response, list(retrieved_contexts), user_input))


GroundednessMetric = RagasGroundednessMetric
"""The name that Ragas users import."""


def _result(found: GroundednessResult) -> Any:
    value = None if found.grounded is None else found.score
    return MetricResult(value=value, reason=found.statements, traces={"output": found.details})
