"""pydantic-evals adapter: an evaluator for `Dataset(evaluators=[Groundedness()])`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from groundwire._optional import load
from groundwire.config import BackendName, ProfileName
from groundwire.errors import BackendError
from groundwire.integrations.evaluator import GroundednessChecker, read_record
from groundwire.requests import as_sources

_FEATURE = "groundwire for pydantic-evals"
Evaluator: Any = load("pydantic_evals.evaluators:Evaluator", feature=_FEATURE, extra="pydantic-evals")
Reason: Any = load("pydantic_evals.evaluators:EvaluationReason", feature=_FEATURE, extra="pydantic-evals")


@dataclass(repr=False)
class Groundedness(Evaluator):  # type: ignore[misc]
    """A score, the share of supported claims, and an assertion that no claim is flagged.

    The sources come from the case: the value of `sources` in its metadata, inputs or output, or else any of
    `context`, `documents`, … there. A case that could not be checked is a failure, not a low score.
    """

    sources: str = "sources"
    backend: BackendName | None = None
    profile: ProfileName | None = None
    target: float | None = None
    _checker: GroundednessChecker = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._checker = GroundednessChecker(backend=self.backend, profile=self.profile, target=self.target)

    async def evaluate(self, ctx: Any) -> dict[str, Any]:
        records = (ctx.inputs, ctx.metadata, ctx.output)
        answer, sources, question = read_record(*records)
        own = next((r[self.sources] for r in records if isinstance(r, dict) and r.get(self.sources)), None)
        found = await self._checker.acheck(answer, as_sources(own) or sources, question)
        if found.grounded is None or found.score is None:
            raise BackendError(found.error or found.reasoning)
        return {
            "groundedness": Reason(value=found.score, reason=found.statements),
            "grounded": Reason(value=found.grounded, reason=found.reasoning),
        }
