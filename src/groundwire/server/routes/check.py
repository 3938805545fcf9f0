"""`POST /v1/check`: an answer judged claim by claim, as `groundwire check --json` prints it."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from groundwire.engine import Beside
from groundwire.reports.html import to_html
from groundwire.reports.json import to_json
from groundwire.server.knowing import known
from groundwire.server.problems import problems
from groundwire.server.reports import REPORT_HEADER, html_answer, keep, wants_html
from groundwire.server.responses import ReportOut, written
from groundwire.server.schemas import CheckRequest
from groundwire.server.service import Service, service
from groundwire.types import HallucinationReport

router = APIRouter(prefix="/v1", tags=["check"])


@router.post(
    "/check",
    summary="Judge every claim of an answer by its sources",
    response_model=ReportOut,
    responses=problems(501, 502),
)
async def check(
    asked: CheckRequest, request: Request, held: Annotated[Service, Depends(service)]
) -> Response:
    """The answer is the object of `groundwire check --json`, byte for byte.

    `flagged` is true where some claim is not carried by what it rests on, false where none is, and null where
    that could not be found out. Where the server keeps reports, `X-Groundwire-Report` names this one; send
    `X-Groundwire-Store: false` to have nothing kept. With `Accept: text/html` it is a page of its own.
    """
    beside: Beside = {"history": asked.said, "kb": await known(asked.kb, request, held)}
    report = await held.work(lambda: judged(asked, held, beside), asked.size)
    report = await held.with_opinions(report)
    kept = keep(
        held, report, request, sources=asked.given, question=asked.question, history=tuple(asked.said)
    )
    if wants_html(request):
        return html_answer(await asyncio.to_thread(to_html, report))
    body = await asyncio.to_thread(to_json, report)
    return written(body, headers={REPORT_HEADER: kept} if kept else None)


async def judged(asked: CheckRequest, held: Service, beside: Beside) -> HallucinationReport:
    engine = held.engine.variant(target=asked.target, profile=asked.profile)
    report = await engine.check(
        asked.text, asked.given, question=asked.question, response_id=str(asked.id), **beside
    )
    return await engine.fix(report, asked.given, **beside) if asked.fix else report
