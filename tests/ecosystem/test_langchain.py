"""The LangChain adapter against the real packages. `make test-ecosystem` installs them and runs this."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest

pytest.importorskip("langchain_classic")
pytestmark = pytest.mark.filterwarnings("ignore")

from groundwire.errors import ConfigError  # noqa: E402
from groundwire.integrations.langchain import GroundednessEvaluator, grounded, groundedness  # noqa: E402

SOURCE = "The tower is 330 metres tall. It stands in Paris."
GOOD, WRONG = "The tower is 330 metres tall.", "The tower is 999 metres tall."


def documents() -> list[Any]:
    from langchain_core.documents import Document

    return [
        Document("The bridge was opened in 1937.", metadata={"source": "bridge.md"}),
        Document(SOURCE, metadata={"source": "tower.md"}),
    ]


def test_it_is_a_string_evaluator() -> None:
    from langchain_classic.evaluation import StringEvaluator

    evaluator = GroundednessEvaluator()
    assert isinstance(evaluator, StringEvaluator)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        good = evaluator.evaluate_strings(prediction=GOOD, reference=SOURCE)
        wrong = evaluator.evaluate_strings(prediction=WRONG, reference=documents(), input="How tall?")
    assert (good["score"], good["value"]) == (1.0, "grounded")
    assert (wrong["score"], wrong["value"]) == (0.0, "ungrounded")
    assert "evidence says 330" in wrong["reasoning"]
    assert wrong["report"]["claims"][0]["evidence"][0]["source"] == "S1"


def test_sources_are_cited_by_their_place_and_by_their_file() -> None:
    evaluator = GroundednessEvaluator(backend="fake")
    for answer in (f"{GOOD[:-1]} [S1].", f"{GOOD[:-1]} [tower.md]."):
        assert evaluator.evaluate_strings(prediction=answer, reference=documents())["value"] == "grounded"
    phantom = evaluator.evaluate_strings(prediction=f"{GOOD[:-1]} [S7].", reference=documents())
    assert "S7" in phantom["reasoning"]


def test_it_works_async_and_many_at_once() -> None:
    evaluator = GroundednessEvaluator(backend="fake", target=0.9)

    async def both() -> list[dict[str, Any]]:
        asked = (evaluator.aevaluate_strings(prediction=text, reference=SOURCE) for text in (GOOD, WRONG))
        return list(await asyncio.gather(*asked))

    assert [found["value"] for found in asyncio.run(both())] == ["grounded", "ungrounded"]


def test_a_row_that_cannot_be_judged_says_why() -> None:
    evaluator = GroundednessEvaluator(backend="fake")
    found = evaluator.evaluate_strings(prediction="", reference=SOURCE)
    assert (found["score"], found["value"], found["reasoning"]) == (None, "unchecked", "the answer is empty")
    with pytest.raises(ValueError, match="sources are missing"):
        evaluator.evaluate_strings(prediction=GOOD)


def test_wrong_settings_are_said_before_the_first_row() -> None:
    with pytest.raises(ConfigError):
        GroundednessEvaluator(target=7)


def test_a_chain_ends_with_the_verdict() -> None:
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import RunnablePassthrough

    chain = RunnablePassthrough.assign(answer=lambda _: AIMessage(WRONG)) | grounded(backend="local")
    state = {"question": "How tall is the tower?", "context": documents()}
    found = chain.invoke(state)
    assert found["question"] == state["question"]
    assert found["grounding"]["value"] == "ungrounded"
    assert asyncio.run(chain.ainvoke(state))["grounding"] == found["grounding"]
    assert len(chain.batch([state, state])) == 2


def test_langsmith_takes_its_function() -> None:
    from langsmith.evaluation import EvaluationResult

    evaluate = groundedness(backend="fake")
    found = evaluate({"question": "How tall?"}, {"answer": GOOD, "documents": [SOURCE]})
    result = EvaluationResult(**found)
    assert (result.key, result.score, result.value) == ("groundedness", 1.0, "grounded")
