"""`POST /v1/estimate` and `/v1/estimate/batch`: bare probabilities, for the backend `external`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from groundwire.server.problems import problems
from groundwire.server.responses import EstimateOut, EstimatesOut, answered
from groundwire.server.schemas import EstimateRequest, EstimatesRequest
from groundwire.server.service import Service, service
from groundwire.types import Estimate, Query

router = APIRouter(prefix="/v1/estimate", tags=["estimate"])


@router.post(
    "", summary="How likely a claim is in its context", response_model=EstimateOut, responses=problems(502)
)
async def estimate(asked: EstimateRequest, held: Annotated[Service, Depends(service)]) -> Response:
    """No sources, no bits, no verdict: what the verifier says of one claim. Another groundwire with the
    backend `external` asks this.
    """
    query = Query(asked.claim, asked.context, asked.question)
    found = await held.work(lambda: held.engine.backend.verifier.estimate([query]), len(asked.context))
    return answered(_object(found[0]))


@router.post(
    "/batch", summary="The same for several claims", response_model=EstimatesOut, responses=problems(502)
)
async def estimate_batch(asked: EstimatesRequest, held: Annotated[Service, Depends(service)]) -> Response:
    """One estimate a claim, in order; one that could not be made has an `error`."""
    queries = [Query(claim, asked.context, asked.question) for claim in asked.claims]
    size = len(asked.context) + sum(map(len, asked.claims))
    found = await held.work(lambda: held.engine.backend.verifier.estimate(queries), size)
    return answered({"estimates": [_object(one) for one in found]})


def _object(found: Estimate) -> dict[str, object]:
    """Not rounded: a caller computes with it."""
    if found.error is not None:
        return {"probability": None, "method": found.method, "error": found.error}
    return {
        "probability": found.p_yes,
        "p_no": found.p_no,
        "low": found.low,
        "high": found.high,
        "method": found.method,
        "reason": found.reason,
        "spans": [{"start": span.start, "end": span.end, "score": span.score} for span in found.spans],
        "speaks": found.speaks,
        "error": None,
    }
