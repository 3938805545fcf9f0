"""The DeepEval metric in the real DeepEval."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("deepeval")
pytestmark = pytest.mark.filterwarnings("ignore")

from deepeval import assert_test, evaluate  # noqa: E402
from deepeval.evaluate import AsyncConfig, DisplayConfig, ErrorConfig  # noqa: E402
from deepeval.test_case import LLMTestCase  # noqa: E402
from tests.ecosystem.samples import GOOD, QUESTION, SOURCE, WRONG, break_verifier  # noqa: E402

from groundwire.errors import BackendError  # noqa: E402
from groundwire.integrations.deepeval import GroundednessMetric  # noqa: E402


def case(answer: str) -> LLMTestCase:
    return LLMTestCase(input=QUESTION, actual_output=answer, retrieval_context=["Cats sleep.", SOURCE])


def test_evaluate_scores_each_case_with_a_reason_for_every_claim() -> None:
    found = evaluate(
        [case(GOOD), case(f"{GOOD} It weighs nothing.")],
        [GroundednessMetric(backend="fake")],
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        async_config=AsyncConfig(run_async=True),
    )
    by_success = {result.success: result.metrics_data[0] for result in found.test_results}
    assert by_success[True].score == 1.0
    assert (by_success[False].score, by_success[False].name) == (0.5, "Groundedness")
    lines = by_success[False].reason.splitlines()
    assert [line.split(":")[0] for line in lines] == ["ENTAILED", "NOT_IN_CONTEXT"]
    assert "It weighs nothing." in lines[1]


def test_assert_test_fails_on_an_ungrounded_answer() -> None:
    metric = GroundednessMetric(backend="fake")
    assert_test(case(GOOD), [metric])
    with pytest.raises(AssertionError, match="Groundedness"):
        assert_test(case(WRONG), [metric])


def test_measure_works_alone_in_both_ways() -> None:
    metric = GroundednessMetric(threshold=0.5, backend="fake")
    assert (metric.measure(case(GOOD)), metric.is_successful()) == (1.0, True)
    assert (asyncio.run(metric.a_measure(case(WRONG))), metric.is_successful()) == (0.0, False)


def test_a_case_that_could_not_be_checked_is_an_error_and_not_a_score(monkeypatch: pytest.MonkeyPatch) -> None:
    break_verifier(monkeypatch)
    metric = GroundednessMetric(backend="fake")
    with pytest.raises(BackendError, match="too slow"):
        metric.measure(case(GOOD))
    found = evaluate(
        [case(GOOD)],
        [metric],
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        error_config=ErrorConfig(ignore_errors=True),
    )
    data = found.test_results[0].metrics_data[0]
    assert (data.success, data.score) == (False, None)
    assert "too slow" in data.error
