"""LangChain adapters: a string evaluator, a runnable for chains, and an evaluator for LangSmith."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from groundwire._optional import load
from groundwire.integrations.evaluator import EngineKwargs, GroundednessChecker, GroundednessResult, read_record
from groundwire.requests import as_sources

_FEATURE = "groundwire for LangChain"
StringEvaluator: Any = load("langchain_classic.evaluation.schema:StringEvaluator", feature=_FEATURE, extra="langchain")
RunnableLambda: Any = load("langchain_core.runnables:RunnableLambda", feature=_FEATURE, extra="langchain")


class LangChainGroundednessEvaluator(StringEvaluator):  # type: ignore[misc]
    """`evaluate_strings(prediction=answer, reference=sources, input=question)`.

    The score is the share of claims that the sources support, or None if they could not be checked; `value`
    is grounded, ungrounded or unchecked. `reference` takes a text, texts by id, or LangChain documents.
    """

    def __init__(self, **options: Unpack[EngineKwargs]) -> None:
        self._checker = GroundednessChecker(**options)

    @property
    def evaluation_name(self) -> str:
        return "groundedness"

    @property
    def requires_input(self) -> bool:
        return False

    @property
    def requires_reference(self) -> bool:
        return True

    def _check_evaluation_args(self, reference: Any = None, input_: str | None = None) -> None:  # noqa: ARG002
        """Do not warn about the optional question."""
        if reference is None:
            raise ValueError("sources are missing: pass them as `reference`")

    def _evaluate_strings(
        self, *, prediction: str, reference: Any = None, input: str | None = None, **_: Any
    ) -> dict[str, Any]:
        return _result(self._checker.check(prediction, as_sources(reference), input or ""))

    async def _aevaluate_strings(
        self, *, prediction: str, reference: Any = None, input: str | None = None, **_: Any
    ) -> dict[str, Any]:
        return _result(await self._checker.acheck(prediction, as_sources(reference), input or ""))


GroundednessEvaluator = LangChainGroundednessEvaluator
"""The name that LangChain users import."""


def _result(found: GroundednessResult) -> dict[str, Any]:
    return {"score": found.score, "value": found.value, "reasoning": found.reasoning, "report": found.report}


def grounded(key: str = "grounding", **options: Unpack[EngineKwargs]) -> Any:
    """A runnable for the end of a chain: `chain | grounded()`.

    It takes the chain's dictionary (answer, context, question) and adds `score`, `value`, `reasoning` and
    `report` under `key`.
    """
    checker = GroundednessChecker(**options)

    def step(state: Mapping[str, Any]) -> dict[str, Any]:
        return {**state, key: _result(checker.check(*read_record(state)))}

    async def astep(state: Mapping[str, Any]) -> dict[str, Any]:
        return {**state, key: _result(await checker.acheck(*read_record(state)))}

    return RunnableLambda(step, afunc=astep, name="groundwire")


def groundedness(**options: Unpack[EngineKwargs]) -> Any:
    """An evaluator for `langsmith.evaluate(…, evaluators=[groundedness()])`.

    It reads the answer and its context from a run's outputs, and the question from its inputs.
    """
    checker = GroundednessChecker(**options)

    def evaluate(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> dict[str, Any]:
        found = checker.check(*read_record(inputs, outputs))
        return {"key": "groundedness", "score": found.score, "value": found.value, "comment": found.reasoning}

    return evaluate
