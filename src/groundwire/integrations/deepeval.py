"""DeepEval adapter: a metric like its `FaithfulnessMetric`, but without a language model."""

from __future__ import annotations

from typing import Any, Unpack

from groundwire._optional import load
from groundwire.errors import BackendError
from groundwire.integrations.evaluator import EngineKwargs, GroundednessChecker, GroundednessResult

_FEATURE = "groundwire for DeepEval"
BaseMetric: Any = load("deepeval.metrics:BaseMetric", feature=_FEATURE, extra="deepeval")
Params: Any = load("deepeval.test_case:SingleTurnParams", feature=_FEATURE, extra="deepeval")


class DeepEvalGroundednessMetric(BaseMetric):  # type: ignore[misc]
    """Score a test case by the share of claims that its `retrieval_context` (or else `context`) supports.

    `reason` lists every claim with its verdict. A test case that could not be checked raises `BackendError`,
    which DeepEval records as the metric's error if `ErrorConfig(ignore_errors=True)` is set.
    """

    _required_params = [Params.INPUT, Params.ACTUAL_OUTPUT]  # noqa: RUF012 (the base class's declaration)
    include_reason = True

    def __init__(
        self,
        threshold: float = 1.0,
        async_mode: bool = True,
        checker: GroundednessChecker | None = None,
        **options: Unpack[EngineKwargs],
    ) -> None:
        self.threshold = threshold
        self.async_mode = async_mode
        # DeepEval copies a metric by passing on the attributes that have the name of a parameter, so the
        # copies share the loaded engine.
        self.checker = checker or GroundednessChecker(**options)

    def measure(self, test_case: Any, *_: Any, **__: Any) -> float:
        return self._record(self.checker.check(*_read(test_case)))

    async def a_measure(self, test_case: Any, *_: Any, **__: Any) -> float:
        return self._record(await self.checker.acheck(*_read(test_case)))

    def _record(self, found: GroundednessResult) -> float:
        if found.grounded is None or found.score is None:
            raise BackendError(found.error or found.reasoning)
        self.error = None
        self.score, self.reason = found.score, found.statements
        self.score_breakdown = {claim["id"]: claim["p1"] for claim in found.claims}
        self.success = self.is_successful()
        return found.score

    def is_successful(self) -> bool:
        """Return false for a case that could not be checked, as the base class does."""
        self.success = bool(super().is_successful())
        return self.success

    @property
    def __name__(self) -> str:  # the name that DeepEval shows
        return "Groundedness"


GroundednessMetric = DeepEvalGroundednessMetric
"""The name that DeepEval users import."""


def _read(test_case: Any) -> tuple[str, list[str], str]:
    given = test_case.retrieval_context or test_case.context or []
    texts = [item if isinstance(item, str) else item.context for item in given]
    return test_case.actual_output or "", texts, test_case.input or ""
