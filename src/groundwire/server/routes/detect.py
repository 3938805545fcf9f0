"""`POST /v1/detect`: what the eight knowledge detectors find, without measuring bits."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from groundwire.engine import Beside
from groundwire.reports.json import flag_object
from groundwire.server.responses import DetectionOut, answered
from groundwire.server.knowing import known
from groundwire.server.problems import problems
from groundwire.server.schemas import DetectRequest
from groundwire.server.service import Service, service

router = APIRouter(prefix="/v1", tags=["check"])


@router.post(
    "/detect",
    summary="Hold a response against knowledge, dialogue, time and logic",
    response_model=DetectionOut,
    responses=problems(501, 502),
)
async def detect(
    asked: DetectRequest, request: Request, held: Annotated[Service, Depends(service)]
) -> Response:
    """Eight detectors; those that have nothing to go by are named in `detectors_skipped`."""
    beside: Beside = {"history": asked.said, "kb": await known(asked.kb, request, held)}
    found = await held.work(lambda: held.engine.detect(asked.text, asked.given, **beside), asked.size)
    flags = [flag_object(flag) for flag in found.flags]
    skipped = list(found.skipped)
    return answered({"flagged": bool(flags), "flags": flags, "detectors_skipped": skipped})
