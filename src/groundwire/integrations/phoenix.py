"""Phoenix adapter: an evaluator whose scores `evaluate_dataframe` and span annotations take."""

from __future__ import annotations

from typing import Any, Unpack

from pydantic import BaseModel

from groundwire._optional import load
from groundwire.integrations.evaluator import EngineKwargs, GroundednessChecker, GroundednessResult
from groundwire.requests import as_sources

_FEATURE = "groundwire for Phoenix"
Evaluator: Any = load("phoenix.evals.evaluators:Evaluator", feature=_FEATURE, extra="phoenix")
Score: Any = load("phoenix.evals.evaluators:Score", feature=_FEATURE, extra="phoenix")
NAME = "groundedness"


class PhoenixInput(BaseModel):
    """The fields of a row; `bind_evaluator` maps other columns to them."""

    output: str
    context: str | list[str] | dict[str, str]
    input: str = ""


class PhoenixGroundednessEvaluator(Evaluator):  # type: ignore[misc]
    """Score = share of supported claims, label = grounded, ungrounded or unchecked (then without a score)."""

    def __init__(self, **options: Unpack[EngineKwargs]) -> None:
        super().__init__(name=NAME, kind="code", direction="maximize", input_schema=PhoenixInput)
        self._checker = GroundednessChecker(**options)

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Any]:
        return [_score(self._checker.check(*_read(eval_input)))]

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Any]:
        return [_score(await self._checker.acheck(*_read(eval_input)))]


GroundednessEvaluator = PhoenixGroundednessEvaluator
"""The name that Phoenix users import."""


def _read(row: dict[str, Any]) -> tuple[str, Any, str]:
    return row["output"], as_sources(row["context"]), row.get("input") or ""


def _score(found: GroundednessResult) -> Any:
    return Score(
        name=NAME,
        score=None if found.grounded is None else found.score,
        label=found.value,
        explanation=found.statements,
        metadata=found.details,
        kind="code",
        direction="maximize",
    )
