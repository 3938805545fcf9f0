"""LangChain middleware: check what an agent answers against the documents and tool results it was given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Unpack

from groundwire._loop import run, run_on_shared_loop
from groundwire._optional import load
from groundwire.integrations.evaluator import EngineKwargs, judge_report, open_engine
from groundwire.integrations.guardrail import AnswerGuard, GuardDecision, GuardMode, GuardSettings
from groundwire.proxy.evidence import read_request

_FEATURE = "groundwire for LangChain"
AgentMiddleware: Any = load("langchain.agents.middleware:AgentMiddleware", feature=_FEATURE, extra="langchain")
_as_dicts: Any = load("langchain_core.messages:convert_to_openai_messages", feature=_FEATURE, extra="langchain")


class GroundednessMiddleware(AgentMiddleware):  # type: ignore[misc]
    """`create_agent(…, middleware=[…, GroundednessMiddleware("annotate")])`.

    The evidence is what the model was sent: documents in the system prompt and in messages, and results of
    tools. That is why it wraps the call of the model: after it (`after_model`) the prompt is no longer known.
    Put it last in the list, so that it sees what the other middleware adds. Label, score and reasons are in
    the message's `response_metadata["groundwire"]`.
    """

    def __init__(
        self, mode: GuardMode = "observe", *, settings: GuardSettings | None = None, **options: Unpack[EngineKwargs]
    ) -> None:
        super().__init__()
        self.tools: list[Any] = []
        self._settings = settings or GuardSettings(mode)
        self._engine = open_engine(**options)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        response = handler(request)
        for answer in _answers(response):
            _apply(answer, run(self._guard(request).decide(answer.text)))
        return response

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        response = await handler(request)
        for answer in _answers(response):
            _apply(answer, await run_on_shared_loop(self._guard(request).decide(answer.text)))
        return response

    def _guard(self, request: Any) -> AnswerGuard:
        system = [request.system_message] if request.system_message is not None else []
        messages = _as_dicts([*system, *request.messages])
        return AnswerGuard(self._engine, read_request({"messages": messages}), self._settings)


def _answers(response: Any) -> Sequence[Any]:
    """Return the messages that speak to the user; those that call tools are steps on the way."""
    found = getattr(response, "result", None) or [response]
    return [message for message in found if message.type == "ai" and not message.tool_calls]


def _apply(answer: Any, decision: GuardDecision) -> None:
    if decision.report is not None:
        found = judge_report(decision.report)
        answer.response_metadata["groundwire"] = {**found.details, "score": found.score}
    if decision.blocked or decision.text != answer.text:
        answer.content = decision.blocked or decision.text
