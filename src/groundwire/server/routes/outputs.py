"""`/v1/outputs`: an agent's answer, verified on its way to the user; at once, or asked for later."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, Field

from groundwire.errors import Overloaded
from groundwire.reports.json import output_object
from groundwire.server.responses import ReportOut, answered
from groundwire.server.knowing import known
from groundwire.server.problems import NotFound, problems, reading_problems
from groundwire.server.reports import REPORT_HEADER, keep
from groundwire.server.schemas import Answered, Text, example
from groundwire.server.service import Service, service
from groundwire.streaming.output import skipped
from groundwire.types import OutputCheck, OutputStatus

router = APIRouter(prefix="/v1/outputs", tags=["check"])
Held = Annotated[Service, Depends(service)]
Wait = Annotated[
    float, Field(ge=0.0, le=30.0, allow_inf_nan=False, description="Seconds to wait for the verdict.")
]
BUSY = "the server is busy"


class OutputRequest(Answered):
    """An agent's answer and the conversation it stands in."""

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
    """An answer is never refused: `status` says how far its verification is."""

    id: str
    status: OutputStatus
    reason: str = Field(description="Why it was skipped, or what is being waited for.")
    flagged: bool | None = Field(description="null while nobody knows.")
    flagged_claims: list[str]
    feedback: str = Field(description="For the agent that wrote it, so that it can correct itself.")
    report: ReportOut | None


@router.post(
    "",
    summary="Verify an agent's answer before it is shown",
    response_model=OutputOut,
    responses={202: {"model": OutputOut, "description": "It is being verified: ask again"}, **problems()},
)
async def verify(asked: OutputRequest, request: Request, held: Held) -> Response:
    """The answer's claims are held against its sources and what others said in the conversation. `wait` is
    how long this request may take; after it the status is `pending` (202), and `GET /v1/outputs/{id}` has
    the rest. A busy server leaves the check out (`skipped`) and says so: nothing is ever refused here.
    """
    kb = await known(asked.kb, request, held)
    if held.admission.is_busy:
        return _told(skipped(BUSY))
    try:
        found = await held.work(
            lambda: held.outputs.verify(
                asked.text,
                asked.given,
                question=asked.question,
                history=asked.said,
                patience=asked.wait,
                kb=kb,
            ),
            asked.size,
            apart=False,  # what is pending is asked for on the same loop
        )
    except Overloaded:
        return _told(skipped(BUSY))
    said = tuple(asked.said)
    kept = found.report and keep(
        held, found.report, request, sources=asked.given, question=asked.question, history=said, kind="output"
    )
    return _told(found, {REPORT_HEADER: kept} if kept else None)


@router.get(
    "/{output_id}",
    summary="What became of verifying an answer",
    response_model=OutputOut,
    responses={202: {"model": OutputOut, "description": "Still being verified"}, **reading_problems(404)},
)
async def result(
    output_id: str, held: Held, wait: Annotated[float, Query(ge=0.0, le=30.0, allow_inf_nan=False)] = 0.0
) -> Response:
    """Results are kept until a thousand newer ones have come."""
    found = await held.aside(lambda: held.outputs.result(output_id, wait))
    if found is None:
        raise NotFound("nothing is known of this output (any more)")
    return _told(found)


def _told(found: OutputCheck, headers: dict[str, str] | None = None) -> Response:
    return answered(output_object(found), 202 if found.status is OutputStatus.PENDING else 200, headers)
