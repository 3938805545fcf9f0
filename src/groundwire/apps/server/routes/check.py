"""`POST /v1/check`: an answer judged claim by claim, as `groundwire check --json` prints it."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from groundwire.apps.server.schemas import CheckRequest
from groundwire.apps.server.service import Service, service
from groundwire.engine import Beside
from groundwire.report.json import to_json
from groundwire.types import HallucinationReport

router = APIRouter(prefix="/v1", tags=["check"])


@router.post("/check")
async def check(asked: CheckRequest, held: Annotated[Service, Depends(service)]) -> Response:
    """Judge every claim of an answer by its sources."""
    report = await held.work(lambda: judged(asked, held))
    body = await asyncio.to_thread(to_json, report)
    return Response(f"{body}\n", media_type="application/json")


async def judged(asked: CheckRequest, held: Service) -> HallucinationReport:
    engine = held.engine.variant(target=asked.target, profile=asked.profile)
    beside: Beside = {"history": asked.said, "kb": held.knowledge if asked.kb else None}
    report = await engine.check(
        asked.text, asked.given, question=asked.question, response_id=str(asked.id), **beside
    )
    return await engine.fix(report, asked.given, **beside) if asked.fix else report
