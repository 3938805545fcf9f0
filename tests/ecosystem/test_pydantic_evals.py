"""The pydantic-evals evaluator in a real data set."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pydantic_evals")
pytestmark = pytest.mark.filterwarnings("ignore")

from pydantic_evals import Case, Dataset  # noqa: E402
from tests.ecosystem.samples import GOOD, QUESTION, SOURCE, WRONG, break_verifier  # noqa: E402

from groundwire.integrations.pydantic_evals import Groundedness  # noqa: E402

ANSWERS = {"good": GOOD, "wrong": WRONG}


def evaluate() -> Any:
    cases = [Case(name=name, inputs=name, metadata={"sources": [SOURCE]}) for name in ANSWERS]
    dataset: Any = Dataset(name="tower", cases=cases, evaluators=[Groundedness(backend="fake")])
    report = dataset.evaluate_sync(lambda name: ANSWERS[name], progress=False)
    return {case.name: case for case in report.cases}


def test_a_data_set_has_scores_assertions_and_reasons() -> None:
    found = evaluate()
    assert [found[name].scores["groundedness"].value for name in ANSWERS] == [1.0, 0.0]
    assert [found[name].assertions["grounded"].value for name in ANSWERS] == [True, False]
    assert found["wrong"].scores["groundedness"].reason.startswith("NOT_IN_CONTEXT: The tower is 999")


def test_question_and_context_may_come_from_the_inputs() -> None:
    case = Case(name="one", inputs={"question": QUESTION, "context": SOURCE})
    dataset: Any = Dataset(name="tower", cases=[case], evaluators=[Groundedness(backend="fake")])
    report = dataset.evaluate_sync(lambda inputs: {"answer": GOOD}, progress=False)
    assert report.cases[0].scores["groundedness"].value == 1.0


def test_a_case_that_could_not_be_checked_is_a_failure_of_the_evaluator(monkeypatch: pytest.MonkeyPatch) -> None:
    break_verifier(monkeypatch)
    case = evaluate()["good"]
    assert case.scores == {}
    (failure,) = case.evaluator_failures
    assert failure.error_type == "BackendError"
    assert "too slow" in failure.error_message
