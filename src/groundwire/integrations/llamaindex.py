"""LlamaIndex adapter: an evaluator like its `FaithfulnessEvaluator`, but without a language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from groundwire._optional import load
from groundwire.integrations.evaluator import EngineKwargs, GroundednessChecker, GroundednessResult

_FEATURE = "groundwire for LlamaIndex"
BaseEvaluator: Any = load("llama_index.core.evaluation:BaseEvaluator", feature=_FEATURE, extra="llamaindex")
EvaluationResult: Any = load("llama_index.core.evaluation:EvaluationResult", feature=_FEATURE, extra="llamaindex")


class LlamaIndexGroundednessEvaluator(BaseEvaluator):  # type: ignore[misc]
    """`passing` if no claim is flagged; the score is the share of claims that the contexts support.

    An answer that could not be checked is an invalid result with a reason, never a passing one.
    """

    def __init__(self, **options: Unpack[EngineKwargs]) -> None:
        self._checker = GroundednessChecker(**options)

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        """There are no prompts, because no language model is called."""

    def evaluate(
        self, query: str | None = None, response: str | None = None, contexts: Sequence[str] | None = None, **_: Any
    ) -> Any:
        """Overridden because the base class cannot run inside an event loop."""
        found = self._checker.check(response or "", list(contexts or ()), query or "")
        return _result(found, query, response, contexts)

    async def aevaluate(
        self, query: str | None = None, response: str | None = None, contexts: Sequence[str] | None = None, **_: Any
    ) -> Any:
        found = await self._checker.acheck(response or "", list(contexts or ()), query or "")
        return _result(found, query, response, contexts)


GroundednessEvaluator = LlamaIndexGroundednessEvaluator
"""The name that LlamaIndex users import."""


def _result(found: GroundednessResult, query: str | None, response: str | None, contexts: Sequence[str] | None) -> Any:
    unchecked = found.grounded is None
    return EvaluationResult(
        query=query,
        response=response,
        contexts=contexts,
        passing=found.grounded,
        score=found.score,
        feedback=found.reasoning,
        invalid_result=unchecked,
        invalid_reason=found.reasoning if unchecked else None,
    )
