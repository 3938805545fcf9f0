"""The LangChain middleware in a real agent with a scripted model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain.agents.middleware")
pytestmark = pytest.mark.filterwarnings("ignore")

from langchain.agents import create_agent  # noqa: E402
from langchain.agents.middleware import dynamic_prompt  # noqa: E402
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel  # noqa: E402
from langchain_core.messages import AIMessage  # noqa: E402
from langchain_core.tools import tool  # noqa: E402
from tests.ecosystem.samples import GOOD, QUESTION, SOURCE  # noqa: E402

from groundwire.integrations.guardrail import GuardSettings  # noqa: E402
from groundwire.integrations.langchain_middleware import GroundednessMiddleware  # noqa: E402

UNFOUNDED = "It weighs nothing."


class ScriptedModel(GenericFakeChatModel):  # type: ignore[misc]
    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


@tool  # type: ignore[untyped-decorator]
def lookup(name: str) -> str:
    """Look something up."""
    return SOURCE


def ask(answers: list[AIMessage], middleware: list[Any], tools: list[Any] | None = None) -> AIMessage:
    agent = create_agent(ScriptedModel(messages=iter(answers)), tools or [], middleware=middleware)
    found: AIMessage = agent.invoke({"messages": [("user", QUESTION)]})["messages"][-1]
    return found


def call_then(answer: str) -> list[AIMessage]:
    call = {"name": "lookup", "args": {"name": "tower"}, "id": "1"}
    return [AIMessage("", tool_calls=[call]), AIMessage(answer)]


def test_results_of_tools_are_the_evidence() -> None:
    found = ask(call_then(f"{GOOD} {UNFOUNDED}"), [GroundednessMiddleware(backend="fake")], [lookup])
    assert found.text == f"{GOOD} {UNFOUNDED}"
    verdict = found.response_metadata["groundwire"]
    assert (verdict["label"], verdict["score"]) == ("ungrounded", 0.5)
    assert [claim["status"] for claim in verdict["claims"]] == ["ENTAILED", "NOT_IN_CONTEXT"]


def test_documents_that_another_middleware_puts_into_the_prompt_are_evidence() -> None:
    @dynamic_prompt  # type: ignore[untyped-decorator]
    def with_documents(request: Any) -> str:
        return f"Answer from this.\n<document>{SOURCE}</document>"

    found = ask([AIMessage(GOOD)], [with_documents, GroundednessMiddleware(backend="fake")])
    assert found.response_metadata["groundwire"]["label"] == "grounded"


def test_notes_are_added_or_the_answer_is_replaced() -> None:
    noting = GroundednessMiddleware("annotate", backend="fake")
    assert UNFOUNDED in ask(call_then(UNFOUNDED), [noting], [lookup]).text.split("---")[1]
    blocking = GroundednessMiddleware(settings=GuardSettings("block", block_on="flagged"), backend="fake")
    assert ask(call_then(UNFOUNDED), [blocking], [lookup]).text.startswith("groundwire stopped this answer")
    assert ask(call_then(GOOD), [blocking], [lookup]).text == GOOD


def test_an_agent_may_run_async() -> None:
    agent = create_agent(
        ScriptedModel(messages=iter(call_then(GOOD))), [lookup], middleware=[GroundednessMiddleware(backend="fake")]
    )
    found = asyncio.run(agent.ainvoke({"messages": [("user", QUESTION)]}))["messages"][-1]
    assert found.response_metadata["groundwire"]["label"] == "grounded"
