"""The LlamaIndex adapter against the real package. `make test-ecosystem` installs it and runs this."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("llama_index.core")
pytestmark = pytest.mark.filterwarnings("ignore")

from groundwire.integrations.llamaindex import GroundednessEvaluator  # noqa: E402

SOURCE = "The tower is 330 metres tall. It stands in Paris."
GOOD, WRONG = "The tower is 330 metres tall.", "The tower is 999 metres tall."


def test_it_is_an_evaluator_with_its_result() -> None:
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult

    evaluator = GroundednessEvaluator()
    assert isinstance(evaluator, BaseEvaluator)
    wrong = evaluator.evaluate(query="How tall?", response=WRONG, contexts=["Cats sleep.", SOURCE])
    assert isinstance(wrong, EvaluationResult)
    assert (wrong.passing, wrong.score, wrong.invalid_result) == (False, 0.0, False)
    assert "evidence says 330" in str(wrong.feedback)
    good = evaluator.evaluate(response=GOOD, contexts=[SOURCE])
    assert (good.passing, good.score) == (True, 1.0)


def test_it_reads_a_response_with_its_nodes() -> None:
    from llama_index.core.base.response.schema import Response
    from llama_index.core.schema import NodeWithScore, TextNode

    response = Response(WRONG, source_nodes=[NodeWithScore(node=TextNode(text=SOURCE), score=0.9)])
    evaluator = GroundednessEvaluator(backend="local")
    assert evaluator.evaluate_response(query="How tall?", response=response).passing is False

    async def asked() -> bool | None:
        found = await evaluator.aevaluate_response(query="How tall?", response=response)
        assert evaluator.evaluate(response=GOOD, contexts=[SOURCE]).passing  # inside a running loop, too
        passing: bool | None = found.passing
        return passing

    assert asyncio.run(asked()) is False


def test_the_batch_runner_takes_it() -> None:
    from llama_index.core.evaluation import BatchEvalRunner

    runner = BatchEvalRunner({"groundedness": GroundednessEvaluator(backend="fake")}, workers=2)
    found = asyncio.run(
        runner.aevaluate_response_strs(
            queries=["a", "b", "c"], response_strs=[GOOD, WRONG, ""], contexts_list=[[SOURCE]] * 3
        )
    )["groundedness"]
    assert [result.passing for result in found] == [True, False, None]
    assert (found[2].invalid_result, found[2].invalid_reason) == (True, "the answer is empty")


def test_there_are_no_prompts_to_change() -> None:
    evaluator = GroundednessEvaluator(backend="fake")
    assert evaluator.get_prompts() == {}
    evaluator.update_prompts({})
