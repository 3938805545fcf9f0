"""The Ragas metric in the real Ragas."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("ragas")
pytestmark = pytest.mark.filterwarnings("ignore")

from ragas.metrics.result import MetricResult  # noqa: E402
from tests.ecosystem.samples import GOOD, QUESTION, SOURCE, WRONG, break_verifier  # noqa: E402

from groundwire.integrations.ragas import GroundednessMetric  # noqa: E402


def test_the_reason_names_every_statement() -> None:
    metric = GroundednessMetric(backend="fake")
    found = asyncio.run(
        metric.ascore(user_input=QUESTION, response=f"{GOOD} It weighs nothing.", retrieved_contexts=["Cats.", SOURCE])
    )
    assert isinstance(found, MetricResult)
    assert found.value == 0.5
    assert [line.split(":")[0] for line in str(found.reason).splitlines()] == ["ENTAILED", "NOT_IN_CONTEXT"]
    assert found.traces is not None
    assert found.traces["output"]["spans"] == [{"start": 30, "end": 48, "score": pytest.approx(0.95, abs=0.05)}]


def test_a_batch_gives_one_result_per_row() -> None:
    metric = GroundednessMetric(backend="fake")
    rows = [{"response": text, "retrieved_contexts": [SOURCE]} for text in (GOOD, WRONG)]
    assert [found.value for found in metric.batch_score(rows)] == [1.0, 0.0]


def test_what_could_not_be_checked_has_no_value_but_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    break_verifier(monkeypatch)
    found = GroundednessMetric(backend="fake").score(response=GOOD, retrieved_contexts=[SOURCE])
    assert found.value is None
    assert "too slow" in str(found.reason)
