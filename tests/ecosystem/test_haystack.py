"""The Haystack component in a real pipeline."""

from __future__ import annotations

import pytest

pytest.importorskip("haystack")
pytestmark = pytest.mark.filterwarnings("ignore")

from haystack import Document, Pipeline  # noqa: E402
from tests.ecosystem.samples import GOOD, QUESTION, SOURCE, WRONG  # noqa: E402

from groundwire.integrations.haystack import GroundednessEvaluator  # noqa: E402


def pipeline() -> Pipeline:
    made = Pipeline()
    made.add_component("groundedness", GroundednessEvaluator(backend="fake"))
    return made


def test_a_pipeline_scores_answers_against_documents() -> None:
    found = pipeline().run(
        {
            "groundedness": {
                "questions": [QUESTION, QUESTION, QUESTION],
                "contexts": [[Document(content=SOURCE)], [SOURCE], [SOURCE]],
                "predicted_answers": [GOOD, WRONG, ""],
            }
        }
    )["groundedness"]
    assert (found["individual_scores"], found["score"]) == ([1.0, 0.0, None], 0.5)
    assert [result["label"] for result in found["results"]] == ["grounded", "ungrounded", "unchecked"]
    assert found["results"][2]["error"] == "the answer is empty"


def test_a_saved_pipeline_loads_with_its_settings() -> None:
    loaded = Pipeline.loads(pipeline().dumps(), allowed_modules=["groundwire.integrations.haystack"])
    assert loaded.get_component("groundedness").backend == "fake"
