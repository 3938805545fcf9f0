"""`GET /healthz`, `/readyz`, `/metrics` and `/schema`: also served by `groundwire mcp --http`, which has no pages."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from groundwire.reports.schema import HealthOut, ReadyOut, report_schema
from groundwire.server.deps import ServiceDep, json_response
from groundwire.server.problems import Problem, problem_response
from groundwire.server.service import OK
from groundwire.version import __version__

router = APIRouter(tags=["operation"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", response_model=HealthOut)
async def healthz() -> Response:
    """Liveness."""
    return json_response({"status": "ok", "version": __version__})


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", response_model=ReadyOut)
async def readyz(request: Request, service: ServiceDep) -> Response:
    """Readiness.

    200 if the model is loaded and the store answers; 503 while starting, draining or failing.
    """
    if service.state.draining:
        return problem_response(request, Problem("unavailable", "this server is shutting down"))
    model, store = service.model_state, await service.store_state()
    if model == store == OK:
        # Drift does not make a server unready: its verdicts are as good as they were, their promise is not.
        drift = {"drift": str(service.drift.status)} if service.drift else {}
        return json_response({"status": "ready", "model": model, "store": store, **drift})
    return problem_response(request, Problem("unavailable", f"model: {model}; store: {store}", retry_after=1))


@router.get("/schema", response_model=dict[str, Any])
async def schema() -> Response:
    """JSON Schema of reports.

    What `groundwire schema` prints.
    """
    return json_response(report_schema())


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(service: ServiceDep) -> Response:
    """Prometheus metrics.

    Claims, verdicts, batches, cache and failures of the engine, and HTTP requests.
    """
    body = await asyncio.to_thread(service.metrics.render)
    return Response(body, media_type="text/plain; version=0.0.4; charset=utf-8")
