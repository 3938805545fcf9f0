"""The guardrail in real runs of OpenAI Agents with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("agents")
pytestmark = pytest.mark.filterwarnings("ignore")

from agents import (  # noqa: E402
    Agent,
    Model,
    ModelResponse,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    Usage,
    function_tool,
)
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText  # noqa: E402
from tests.ecosystem.samples import GOOD, QUESTION, SOURCE  # noqa: E402

from groundwire.integrations.guardrail import GuardSettings  # noqa: E402
from groundwire.integrations.openai_agents import GroundednessGuard  # noqa: E402

UNFOUNDED = "It weighs nothing."


class ScriptedModel(Model):  # type: ignore[misc]
    """Calls the tool first, then answers."""

    def __init__(self, answer: str) -> None:
        content = ResponseOutputText(text=answer, type="output_text", annotations=[])
        self.outputs: list[Any] = [
            ResponseFunctionToolCall(arguments="{}", call_id="c1", name="lookup", type="function_call"),
            ResponseOutputMessage(id="m1", content=[content], role="assistant", status="completed", type="message"),
        ]

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        return ModelResponse(output=[self.outputs.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


@function_tool  # type: ignore[untyped-decorator]
def lookup() -> str:
    """Look the tower up."""
    return SOURCE


def run(answer: str, guard: GroundednessGuard) -> Any:
    agent = Agent(name="guide", model=ScriptedModel(answer), tools=[lookup], output_guardrails=[guard.guardrail])
    return asyncio.run(Runner.run(agent, QUESTION, hooks=guard, run_config=RunConfig(tracing_disabled=True)))


def test_an_answer_is_checked_against_the_results_of_the_runs_tools() -> None:
    found = run(GOOD, GroundednessGuard(backend="fake"))
    assert found.final_output == GOOD
    info = found.output_guardrail_results[0].output.output_info
    assert (info["label"], info["score"], info["blocked"]) == ("grounded", 1.0, None)
    assert info["claims"][0]["evidence"][0]["source"] == "lookup"


def test_the_tripwire_stops_what_the_tools_do_not_support() -> None:
    guard = GroundednessGuard(GuardSettings("block", block_on="flagged"), backend="fake")
    with pytest.raises(OutputGuardrailTripwireTriggered) as stopped:
        run(f"{GOOD} {UNFOUNDED}", guard)
    info = stopped.value.guardrail_result.output.output_info
    assert UNFOUNDED in info["blocked"]
    assert (info["label"], info["score"]) == ("ungrounded", 0.5)


def test_observing_lets_everything_pass() -> None:
    found = run(UNFOUNDED, GroundednessGuard(GuardSettings("observe"), backend="fake"))
    assert found.output_guardrail_results[0].output.output_info["label"] == "ungrounded"
