"""The MLflow scorer with the real MLflow: direct calls, traces with retrievers."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("mlflow.genai")
pytestmark = pytest.mark.filterwarnings("ignore")

from mlflow.entities import Feedback  # noqa: E402
from mlflow.genai.scorers.base import Scorer  # noqa: E402
from tests.ecosystem.samples import GOOD, QUESTION, SOURCE, WRONG, break_verifier  # noqa: E402

from groundwire.integrations.mlflow import groundedness  # noqa: E402


def test_it_is_a_scorer_that_gives_feedback() -> None:
    scorer = groundedness(backend="fake")
    assert isinstance(scorer, Scorer)
    good = scorer(inputs={"question": QUESTION}, outputs={"answer": GOOD, "context": [SOURCE]})
    assert isinstance(good, Feedback)
    assert (good.name, good.value, good.metadata["label"]) == ("groundedness", 1.0, "grounded")
    wrong = scorer(inputs={"question": QUESTION, "context": SOURCE}, outputs=WRONG)
    assert wrong.value == 0.0
    assert wrong.rationale.startswith("NOT_IN_CONTEXT: The tower is 999")


class Span:
    outputs = [{"page_content": SOURCE, "metadata": {"doc_uri": "tower.md"}}]  # noqa: RUF012


class Trace:
    def search_spans(self, span_type: str) -> list[Any]:
        return [Span()] if span_type == "RETRIEVER" else []


def test_what_the_retrievers_of_a_trace_returned_is_the_source() -> None:
    assert groundedness(backend="fake")(outputs=GOOD, trace=Trace()).value == 1.0


def test_what_could_not_be_checked_is_an_error_without_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    found = groundedness(backend="fake")(outputs=GOOD)
    assert found.value is None
    assert "no sources" in found.error.error_message or "nothing" in found.error.error_message
    break_verifier(monkeypatch)
    found = groundedness(backend="fake")(outputs={"answer": GOOD, "context": SOURCE})
    assert (found.value, "too slow" in found.error.error_message) == (None, True)
