"""The Phoenix evaluator over a real data frame."""

from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("phoenix.evals")
pytestmark = pytest.mark.filterwarnings("ignore")

import pandas as pd  # noqa: E402
from phoenix.evals import bind_evaluator, evaluate_dataframe  # noqa: E402
from phoenix.evals.utils import to_annotation_dataframe  # noqa: E402
from tests.ecosystem.samples import GOOD, QUESTION, SOURCE, WRONG, break_verifier  # noqa: E402

from groundwire.integrations.phoenix import GroundednessEvaluator  # noqa: E402


def test_a_data_frame_gets_scores_that_are_span_annotations() -> None:
    evaluator = bind_evaluator(
        evaluator=GroundednessEvaluator(backend="fake"), input_mapping={"output": "answer", "context": "docs"}
    )
    frame = pd.DataFrame({"context.span_id": ["a", "b"], "answer": [GOOD, WRONG], "docs": [SOURCE, SOURCE]}).set_index(
        "context.span_id"
    )
    found = evaluate_dataframe(frame, [evaluator], hide_tqdm_bar=True)
    scores = [json.loads(cell) if isinstance(cell, str) else cell for cell in found["groundedness_score"]]
    assert [score["score"] for score in scores] == [1.0, 0.0]
    annotations = to_annotation_dataframe(found)
    assert list(annotations["label"]) == ["grounded", "ungrounded"]
    assert list(annotations["annotator_kind"]) == ["CODE", "CODE"]


def test_what_could_not_be_checked_has_a_label_and_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    break_verifier(monkeypatch)
    evaluator = GroundednessEvaluator(backend="fake")
    row = {"output": GOOD, "context": [SOURCE], "input": QUESTION}
    for scores in (evaluator.evaluate(row), asyncio.run(evaluator.async_evaluate(row))):
        assert (scores[0].score, scores[0].label) == (None, "unchecked")
        assert "too slow" in scores[0].explanation
