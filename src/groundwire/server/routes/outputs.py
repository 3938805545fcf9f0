"""Answers of other models, verified before they are shown: an agent's (`/v1/outputs`), synchronously or by polling, and
those of a gateway (`/beta/litellm_basic_guardrail_api`).
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from groundwire.errors import Overloaded
from groundwire.integrations.guardrail import AnswerGuard, GuardDecision, GuardSettings
from groundwire.proxy.evidence import read_request
from groundwire.reports.json import output_object
from groundwire.reports.schema import ReportOut
from groundwire.server.auth import Caller
from groundwire.server.deps import ServiceDep, json_response
from groundwire.server.problems import NotFound
from groundwire.server.reports import REPORT_HEADER, owner_of, store_report
from groundwire.server.schemas import Text, WithAnswer, example
from groundwire.server.service import Service
from groundwire.streaming.output import skipped
from groundwire.types import OutputCheck, OutputStatus

router = APIRouter(tags=["check"])
_log = logging.getLogger("groundwire.server")
Wait = Annotated[float, Field(ge=0.0, le=30.0, allow_inf_nan=False, description="Seconds to wait for the verdict.")]
_BUSY = "the server is busy"


class OutputRequest(WithAnswer):
    """An agent's answer and its conversation."""

    model_config = example(
        response="Your order of 3 lamps ships on Monday.",
        history=[
            {"role": "user", "content": "When do my lamps come?"},
            {"role": "tool", "content": "order 17: 3 lamps, ships Tuesday"},
        ],
    )

    question: Text = ""
    wait: Wait = 0.0


class OutputOut(BaseModel):
    """The state of a verification: `status` is `skipped` if the server was busy."""

    id: str
    status: OutputStatus
    reason: str = Field(description="Why it was skipped or is pending.")
    flagged: bool | None = Field(description="null until it is known.")
    flagged_claims: list[str]
    feedback: str = Field(description="Instructions for the agent to correct its answer.")
    report: ReportOut | None


_PENDING = {"model": OutputOut, "description": "Verification is pending: poll the result"}


@router.post("/v1/outputs", response_model=OutputOut, responses={202: _PENDING})
async def verify_output(body: OutputRequest, request: Request, service: ServiceDep) -> Response:
    """Verify an agent's answer before it is shown.

    Verify the claims against the sources and the other participants' messages. After `wait` seconds the
    status is `pending` (202), and `GET /v1/outputs/{id}` returns the result later. A busy server skips the
    verification (`skipped`) instead of rejecting the request.
    """
    kb = await service.known(request) if body.kb else None
    if service.is_busy:
        return _output_response(skipped(_BUSY))
    given: dict[str, Any] = {"question": body.question, "history": body.turns}

    async def verify() -> OutputCheck:
        owner = owner_of(request)
        return await service.outputs.verify(
            body.text, body.parsed_sources, patience=body.wait, kb=kb, owner=owner, **given
        )

    try:
        found = await service.work(verify, body.size, apart=False)  # the result is read on the same loop
    except Overloaded:
        return _output_response(skipped(_BUSY))
    report_id = found.report and store_report(
        service, found.report, request, sources=body.parsed_sources, kind="output", **given
    )
    return _output_response(found, {REPORT_HEADER: report_id} if report_id else None)


@router.get("/v1/outputs/{output_id}", response_model=OutputOut, responses={202: _PENDING})
async def result(
    output_id: str,
    request: Request,
    service: ServiceDep,
    wait: Annotated[float, Query(ge=0.0, le=30.0, allow_inf_nan=False)] = 0.0,
) -> Response:
    """Result of a pending verification.

    The last thousand results are available, each to the key that asked for it.
    """
    found = await service.work_unmetered(lambda: service.outputs.result(output_id, wait, owner_of(request)))
    if found is None:
        raise NotFound("no such output, or its result has been dropped")
    return _output_response(found)


def _output_response(found: OutputCheck, headers: dict[str, str] | None = None) -> Response:
    return json_response(output_object(found), 202 if found.status is OutputStatus.PENDING else 200, headers)


# ---- LiteLLM
#
# LiteLLM sends the messages of a request before the call and only the texts of its response after it, so the
# evidence is kept under the id of the call in between.


class GuardrailRequest(BaseModel):
    """LiteLLM's generic guardrail request; what is not needed here is ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    input_type: Literal["request", "response"]
    litellm_call_id: str | None = Field(default=None, max_length=500)
    texts: Annotated[list[Text], Field(fail_fast=True)] | None = None
    structured_messages: Annotated[list[dict[str, Any]], Field(fail_fast=True)] | None = None
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


@router.post("/beta/litellm_basic_guardrail_api", response_model=GuardrailReply)
async def litellm_guardrail(body: GuardrailRequest, request: Request, service: ServiceDep) -> Response:
    """Guardrail of LiteLLM's proxy.

    Configure LiteLLM with `guardrail: generic_guardrail_api` and `mode: [pre_call, post_call]`.

    Before the call the documents, tool results and `grounding_source` blocks of its messages are kept for ten
    minutes. After it the texts are checked against them: `BLOCKED` with a reason, `GUARDRAIL_INTERVENED` with
    other texts, or `NONE`. `stream_holdback_chars` are the characters that are not verified yet.
    """
    key = _call_key(body, request)
    if body.input_type == "request":
        read = partial(read_request, {"messages": body.structured_messages or []})
        evidence = await service.parse(read, len(await request.body()))
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
