"""`POST /beta/litellm_basic_guardrail_api`: the service as a guardrail of LiteLLM's proxy.

LiteLLM sends the messages of a request before the call and only the texts of its response after it, so the
evidence is kept under the id of the call in between.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from groundwire.integrations.guardrail import AnswerGuard, GuardDecision, GuardSettings
from groundwire.proxy.evidence import from_chat
from groundwire.server.deps import ServiceDep, json_response
from groundwire.server.middleware.auth import Caller
from groundwire.server.problems import problems
from groundwire.server.schemas import Text
from groundwire.server.service import Service

router = APIRouter()
_log = logging.getLogger("groundwire.server")


class GuardrailRequest(BaseModel):
    """LiteLLM's generic guardrail request; what is not needed here is ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    input_type: Literal["request", "response"]
    litellm_call_id: str | None = Field(default=None, max_length=500)
    texts: list[Text] | None = None
    structured_messages: list[dict[str, Any]] | None = None
    request_data: dict[str, Any] = Field(default_factory=dict)
    additional_provider_specific_params: dict[str, Any] | None = Field(
        default=None, description="`mode`, `block_on` and `on_unchecked` of the guardrail."
    )

    @property
    def answers(self) -> list[str]:
        return self.texts or []


class GuardrailReply(BaseModel):
    """LiteLLM's generic guardrail response."""

    action: Literal["NONE", "BLOCKED", "GUARDRAIL_INTERVENED"]
    blocked_reason: str | None = None
    texts: list[str] | None = None
    stream_holdback_chars: list[int] | None = None


@router.post(
    "/beta/litellm_basic_guardrail_api",
    tags=["check"],
    summary="Guardrail of LiteLLM's proxy",
    response_model=GuardrailReply,
    responses=problems(502),
)
async def guard(body: GuardrailRequest, request: Request, service: ServiceDep) -> Response:
    """Configure LiteLLM with `guardrail: generic_guardrail_api` and `mode: [pre_call, post_call]`.

    Before the call the documents, tool results and `grounding_source` blocks of its messages are kept for ten
    minutes. After it the texts are checked against them: `BLOCKED` with a reason, `GUARDRAIL_INTERVENED` with
    other texts, or `NONE`. `stream_holdback_chars` are the characters that are not verified yet.
    """
    key = _call_key(body, request)
    if body.input_type == "request":
        evidence = await asyncio.to_thread(from_chat, {"messages": body.structured_messages or []})
        await asyncio.to_thread(service.call_evidence.put, key, evidence)
        return _reply(GuardrailReply(action="NONE"))
    settings = GuardSettings.parse(body.additional_provider_specific_params or {}, GuardSettings())
    decisions = await _decide(body, service, key, settings)
    return _reply(_combine(body.answers, decisions))


def _call_key(body: GuardrailRequest, request: Request) -> str:
    """One caller, or one of its users, must not find or replace the evidence of another."""
    caller: Caller = request.state.caller
    user = str(body.request_data.get("user_api_key_hash") or "")
    return "\x1f".join((caller.key_id, user, body.litellm_call_id or ""))


async def _decide(body: GuardrailRequest, service: Service, key: str, settings: GuardSettings) -> list[GuardDecision]:
    evidence = await asyncio.to_thread(service.call_evidence.get, key) if body.litellm_call_id else None
    if evidence is None:
        _log.warning("a guarded response has no evidence: is LiteLLM's mode [pre_call, post_call]?")
        blocks = settings.mode == "block" and settings.on_unchecked == "block"
        reason = "the answer could not be checked: its request is not known" if blocks else ""
        return [GuardDecision(text, reason) for text in body.answers]
    answer_guard = AnswerGuard(service.engine, evidence, settings)
    size = sum(map(len, body.answers)) + sum(len(source.text) for source in evidence.sources)

    async def decide() -> list[GuardDecision]:
        return [await answer_guard.decide(text, complete=None) for text in body.answers]

    return await service.work(decide, size)


def _combine(texts: list[str], decisions: list[GuardDecision]) -> GuardrailReply:
    reason = next((decision.blocked for decision in decisions if decision.blocked), None)
    if reason:
        return GuardrailReply(action="BLOCKED", blocked_reason=reason)
    new = [decision.text for decision in decisions]
    return GuardrailReply(
        action="NONE" if new == texts else "GUARDRAIL_INTERVENED",
        texts=new,
        stream_holdback_chars=[decision.holdback for decision in decisions],
    )


def _reply(found: GuardrailReply) -> Response:
    return json_response(found.model_dump(exclude_none=True))
