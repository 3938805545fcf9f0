"""LlamaIndex: an evaluator of responses, as its own `FaithfulnessEvaluator` is, without a model to ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from groundwire._optional import load
from groundwire.api import Options
from groundwire.integrations.evaluator import Judge, Judged

_FEATURE = "groundwire for LlamaIndex"
BaseEvaluator: Any = load("llama_index.core.evaluation:BaseEvaluator", feature=_FEATURE, extra="llamaindex")
EvaluationResult: Any = load(
    "llama_index.core.evaluation:EvaluationResult", feature=_FEATURE, extra="llamaindex"
)


class GroundednessEvaluator(BaseEvaluator):  # type: ignore[misc]
    """`passing` where no claim is flagged; the score is the share of claims that the contexts carry.

    What could not be checked is an invalid result with its reason, never a passing one.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        self._judge = Judge(**options)

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        """There are no prompts: nobody is asked."""

    def evaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        **_: Any,
    ) -> Any:
        """Without LlamaIndex's way from async to sync, which cannot be gone inside a running loop."""
        found = self._judge.judge(response or "", list(contexts or ()), query or "")
        return _result(found, query, response, contexts)

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        **_: Any,
    ) -> Any:
        found = await self._judge.ajudge(response or "", list(contexts or ()), query or "")
        return _result(found, query, response, contexts)


def _result(found: Judged, query: str | None, response: str | None, contexts: Sequence[str] | None) -> Any:
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
