"""`POST /v1/claims/verify`: claims judged as they stand, or a text taken apart."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from groundwire.engine import Groundwire
from groundwire.reports.json import claim_object
from groundwire.server.problems import problems
from groundwire.server.responses import VerificationsOut, answered
from groundwire.server.schemas import VerifyRequest
from groundwire.server.service import Service, service
from groundwire.types import ClaimVerification

router = APIRouter(prefix="/v1/claims", tags=["check"])


@router.post(
    "/verify",
    summary="Judge claims by their evidence",
    response_model=VerificationsOut,
    responses=problems(501, 502),
)
async def verify(asked: VerifyRequest, held: Annotated[Service, Depends(service)]) -> Response:
    """One verdict a claim, in order. `claim` and `claims` are judged as they stand, `text` is taken apart."""
    engine = held.engine_for("claims").variant(profile=asked.profile, target=asked.confidence)
    found = await held.work(lambda: _verified(asked, engine), asked.size)
    claims = [claim_object(claim) for claim in found]
    return answered({"backend": engine.backend.name, "profile": engine.profile.name, "claims": claims})


async def _verified(asked: VerifyRequest, engine: Groundwire) -> list[ClaimVerification]:
    if asked.text is not None:
        return await engine.verify_claims(asked.text, asked.given, question=asked.question)
    claims = [asked.claim] if asked.claim is not None else asked.claims or []
    judged = (
        engine.verify_claim(claim, asked.given, asked.confidence, question=asked.question) for claim in claims
    )
    return list(await asyncio.gather(*judged))
