"""MLflow adapter: a scorer for `mlflow.genai.evaluate(data=…, scorers=[groundedness()])`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Unpack

from groundwire._optional import load
from groundwire.integrations.evaluator import EngineKwargs, GroundednessChecker, read_record
from groundwire.requests import as_sources

_FEATURE = "groundwire for MLflow"
_scorer: Any = load("mlflow.genai:scorer", feature=_FEATURE, extra="mlflow")
Feedback: Any = load("mlflow.entities:Feedback", feature=_FEATURE, extra="mlflow")


def groundedness(name: str = "groundedness", **options: Unpack[EngineKwargs]) -> Any:
    """Return a scorer whose feedback is the share of supported claims, with a rationale for every claim.

    The sources are the `context` (or `documents`, `sources`, …) of `outputs` or `inputs`, or else what the
    retrievers of the trace returned. An output that could not be checked is a feedback with an error and no
    value.
    """
    checker = GroundednessChecker(**options)

    @_scorer(name=name)  # type: ignore[untyped-decorator]
    def score(inputs: Any = None, outputs: Any = None, trace: Any = None) -> Any:
        answer, sources, question = read_record(inputs, outputs)
        found = checker.check(answer, sources or as_sources(list(_retrieved(trace))), question)
        return Feedback(
            name=name,
            value=None if found.grounded is None else found.score,
            error=found.error if found.grounded is None else None,
            rationale=found.statements,
            metadata={"label": found.value, "flagged_claims": str(len(found.spans))},
        )

    return score


def _retrieved(trace: Any) -> Iterator[Any]:
    spans = trace.search_spans(span_type="RETRIEVER") if trace is not None else ()
    for span in spans:
        yield from span.outputs if isinstance(span.outputs, list) else ()
