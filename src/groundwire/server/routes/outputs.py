"""`/v1/outputs`: verify an agent's answer before it is shown, synchronously or by polling."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from groundwire.errors import Overloaded
from groundwire.reports.json import output_object
from groundwire.reports.schema import ReportOut
from groundwire.server.deps import ServiceDep, json_response, require_kb
from groundwire.server.problems import NotFound, problems, reading_problems
from groundwire.server.reports import REPORT_HEADER, owner_of, store_report
from groundwire.server.schemas import Text, WithAnswer, example
from groundwire.streaming.output import skipped
from groundwire.types import OutputCheck, OutputStatus

router = APIRouter(prefix="/v1/outputs", tags=["check"])
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


@router.post(
    "",
    summary="Verify an agent's answer before it is shown",
    response_model=OutputOut,
    responses={202: {"model": OutputOut, "description": "Verification is pending: poll the result"}, **problems()},
)
async def verify(body: OutputRequest, request: Request, service: ServiceDep) -> Response:
    """Verify the claims against the sources and the other participants' messages. After `wait` seconds the
    status is `pending` (202), and `GET /v1/outputs/{id}` returns the result later. A busy server skips the
    verification (`skipped`) instead of rejecting the request.
    """
    kb = await require_kb(body.kb, request, service)
    if service.is_busy:
        return _output_response(skipped(_BUSY))
    try:
        found = await service.work(
            lambda: service.outputs.verify(
                body.text,
                body.parsed_sources,
                question=body.question,
                history=body.turns,
                patience=body.wait,
                kb=kb,
                owner=owner_of(request),
            ),
            body.size,
            apart=False,  # the result is read on the same loop
        )
    except Overloaded:
        return _output_response(skipped(_BUSY))
    report_id = found.report and store_report(
        service,
        found.report,
        request,
        sources=body.parsed_sources,
        question=body.question,
        history=body.turns,
        kind="output",
    )
    return _output_response(found, {REPORT_HEADER: report_id} if report_id else None)


@router.get(
    "/{output_id}",
    summary="Result of a pending verification",
    response_model=OutputOut,
    responses={202: {"model": OutputOut, "description": "Still pending"}, **reading_problems(404)},
)
async def result(
    output_id: str,
    request: Request,
    service: ServiceDep,
    wait: Annotated[float, Query(ge=0.0, le=30.0, allow_inf_nan=False)] = 0.0,
) -> Response:
    """The last thousand results are available, each to the key that asked for it."""
    found = await service.work_unmetered(lambda: service.outputs.result(output_id, wait, owner_of(request)))
    if found is None:
        raise NotFound("no such output, or its result has been dropped")
    return _output_response(found)


def _output_response(found: OutputCheck, headers: dict[str, str] | None = None) -> Response:
    return json_response(output_object(found), 202 if found.status is OutputStatus.PENDING else 200, headers)
