"""LangChain: a string evaluator, a step for chains, and a function for LangSmith's `evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from groundwire._optional import load
from groundwire.api import Options
from groundwire.integrations.evaluator import Judge, Judged, as_sources

_FEATURE = "groundwire for LangChain"
StringEvaluator: Any = load(
    "langchain_classic.evaluation.schema:StringEvaluator", feature=_FEATURE, extra="langchain"
)
RunnableLambda: Any = load("langchain_core.runnables:RunnableLambda", feature=_FEATURE, extra="langchain")

_ANSWER = ("answer", "output", "result", "response", "text")
_CONTEXT = ("context", "documents", "source_documents", "sources", "contexts")
_QUESTION = ("question", "input", "query")


class GroundednessEvaluator(StringEvaluator):  # type: ignore[misc]
    """`evaluate_strings(prediction=answer, reference=sources, input=question)`.

    The score is the share of claims that the sources carry, None where nobody could check; `value` is
    grounded, ungrounded or unchecked. `reference` takes a text, texts by id, or LangChain documents.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        self._judge = Judge(**options)

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
        """A question may be given and need not be: no warning either way."""
        if reference is None:
            raise ValueError("the sources are missing: give them as `reference`")

    def _evaluate_strings(
        self,
        *,
        prediction: str,
        reference: Any = None,
        input: str | None = None,
        **_: Any,
    ) -> dict[str, Any]:
        return _result(self._judge.judge(prediction, as_sources(reference), input or ""))

    async def _aevaluate_strings(
        self,
        *,
        prediction: str,
        reference: Any = None,
        input: str | None = None,
        **_: Any,
    ) -> dict[str, Any]:
        return _result(await self._judge.ajudge(prediction, as_sources(reference), input or ""))


def _result(found: Judged) -> dict[str, Any]:
    return {
        "score": found.score,
        "value": found.value,
        "reasoning": found.reasoning,
        "report": found.report,
    }


def grounded(key: str = "grounding", **options: Unpack[Options]) -> Any:
    """A step for the end of a chain: takes its dictionary (answer, context, question) and adds the verdict.

    `chain | grounded()`: what came in goes out, with `score`, `value`, `reasoning` and `report` under `key`.
    """
    judge = Judge(**options)

    def step(state: Mapping[str, Any]) -> dict[str, Any]:
        return {**state, key: _result(judge.judge(*_asked(state)))}

    async def astep(state: Mapping[str, Any]) -> dict[str, Any]:
        return {**state, key: _result(await judge.ajudge(*_asked(state)))}

    return RunnableLambda(step, afunc=astep, name="groundwire")


def _asked(state: Mapping[str, Any]) -> tuple[str, Any, str]:
    """The answer, the sources and the question of a chain's state, by the names chains give them."""
    answer = _first(state, _ANSWER)
    text = getattr(answer, "content", answer)
    question = _first(state, _QUESTION)
    return str(text or ""), as_sources(_first(state, _CONTEXT)), question if isinstance(question, str) else ""


def _first(state: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((state[name] for name in names if state.get(name) is not None), None)


def groundedness(**options: Unpack[Options]) -> Any:
    """An evaluator for `langsmith.evaluate(…, evaluators=[groundedness()])`.

    It reads the answer and its context from the outputs of a run, and the question from its inputs.
    """
    judge = Judge(**options)

    def evaluate(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> dict[str, Any]:
        found = judge.judge(*_asked({**inputs, **outputs}))
        return {"key": "groundedness", "score": found.score, "value": found.value, "comment": found.reasoning}

    return evaluate
