"""`POST /v1/traces/audit`: a reasoning judged step by step, and whether its answer follows from it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from groundwire.errors import InputError
from groundwire.reports.json import audit_json
from groundwire.retrieval.load import from_mapping
from groundwire.server.responses import AuditOut, written
from groundwire.server.problems import problems
from groundwire.server.reports import REPORT_HEADER, keep
from groundwire.server.schemas import AuditRequest
from groundwire.server.service import Service, service
from groundwire.traces.formats import Draft, read_trace
from groundwire.types import Source

router = APIRouter(prefix="/v1/traces", tags=["check"])


@router.post(
    "/audit",
    summary="Judge the steps of a reasoning",
    response_model=AuditOut,
    responses=problems(501, 502),
)
async def audit(
    asked: AuditRequest, request: Request, held: Annotated[Service, Depends(service)]
) -> Response:
    """Each step is judged by what it cites and by the steps before it that held; then the answer is derived
    anew from the question and the steps alone. The answer is the object of `groundwire audit --json`.
    """
    draft, sources = _read(asked)
    question, answer = asked.question or draft.question, asked.answer or draft.answer
    engine = held.engine_for("trace")
    size = asked.size + len(asked.trace or "") + sum(len(str(step)) for step in asked.steps or ())
    found = await held.work(lambda: engine.audit_trace(draft.steps, question, sources, answer), size)
    kept = keep(held, found, request, sources=sources, question=question)
    return written(audit_json(found), headers={REPORT_HEADER: kept} if kept else None)


def _read(asked: AuditRequest) -> tuple[Draft, tuple[Source, ...]]:
    """The steps, with the sources that a trace brings itself before those given beside it."""
    if asked.trace is None:
        steps = [s if isinstance(s, str) else s.model_dump(exclude_none=True) for s in asked.steps or ()]
        return Draft(steps), asked.given
    draft = read_trace(asked.trace)
    own = tuple(from_mapping(draft.sources)) if draft.sources else ()
    taken = {source.id for source in own}
    clash = next((source.id for source in asked.given if source.id in taken), None)
    if clash:
        raise InputError(f"the trace has a source {clash} of its own", hint="give the other an id of its own")
    return draft, (*own, *asked.given)
