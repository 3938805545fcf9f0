"""`GET /healthz`, `/readyz` and `/metrics`: is it alive, can it work, and how is it doing."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse

from groundwire.server.problems import Problem, reading_problems, told
from groundwire.server.responses import HealthOut, ReadyOut, answered
from groundwire.server.service import OK, Service, service
from groundwire.version import __version__

router = APIRouter(tags=["operation"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", summary="Is the process alive", response_model=HealthOut)
async def healthz() -> Response:
    return answered({"status": "ok", "version": __version__})


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", summary="Can it take work", response_model=ReadyOut, responses=reading_problems(503))
async def readyz(request: Request, held: Annotated[Service, Depends(service)]) -> Response:
    """The model is loaded and the store answers. 503 while it starts or stops, and while either fails."""
    if held.life.draining:
        return told(request, Problem("unavailable", "this server is about to stop"))
    model, store = held.readiness.model, await held.readiness.store(lambda: held.database)
    if model == store == OK:
        return answered({"status": "ready", "model": model, "store": store})
    return told(request, Problem("unavailable", f"model: {model}; store: {store}", retry_after=1))


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=PlainTextResponse,
    responses=reading_problems(),
)
async def metrics(held: Annotated[Service, Depends(service)]) -> Response:
    """Claims, verdicts, batches, cache and failures of the engine, and what HTTP did."""
    body = await asyncio.to_thread(held.metrics.render)
    return Response(body, media_type="text/plain; version=0.0.4; charset=utf-8")
