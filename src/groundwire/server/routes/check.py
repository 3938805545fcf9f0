"""`POST /v1/check`: an answer judged claim by claim, as `groundwire check --json` prints it."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from groundwire.engine import Beside, Groundwire
from groundwire.errors import InputError
from groundwire.reports.html import to_html
from groundwire.reports.json import audit_json, claim_object, flag_object, to_json
from groundwire.retrieval.load import from_mapping
from groundwire.server.knowing import known
from groundwire.server.problems import problems
from groundwire.server.reports import REPORT_HEADER, html_answer, keep, wants_html
from groundwire.server.responses import (
    AuditOut,
    DetectionOut,
    EstimateOut,
    EstimatesOut,
    ReportOut,
    VerificationsOut,
    answered,
    written,
)
from groundwire.server.schemas import (
    AuditRequest,
    CheckRequest,
    DetectRequest,
    EstimateRequest,
    EstimatesRequest,
    VerifyRequest,
)
from groundwire.server.service import Service, service
from groundwire.traces.formats import Draft, read_trace
from groundwire.types import ClaimVerification, Estimate, HallucinationReport, Query, Source

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


# `POST /v1/claims/verify`: claims judged as they stand, or a text taken apart.

claims_router = APIRouter(prefix="/v1/claims", tags=["check"])


@claims_router.post(
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


# `POST /v1/detect`: what the eight knowledge detectors find, without measuring bits.

detect_router = APIRouter(prefix="/v1", tags=["check"])


@detect_router.post(
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


# `POST /v1/estimate` and `/v1/estimate/batch`: bare probabilities, for the backend `external`.

estimate_router = APIRouter(prefix="/v1/estimate", tags=["estimate"])


@estimate_router.post(
    "", summary="How likely a claim is in its context", response_model=EstimateOut, responses=problems(502)
)
async def estimate(asked: EstimateRequest, held: Annotated[Service, Depends(service)]) -> Response:
    """No sources, no bits, no verdict: what the verifier says of one claim. Another groundwire with the
    backend `external` asks this.
    """
    query = Query(asked.claim, asked.context, asked.question)
    found = await held.work(lambda: held.engine.backend.verifier.estimate([query]), len(asked.context))
    return answered(_object(found[0]))


@estimate_router.post(
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


# `POST /v1/traces/audit`: a reasoning judged step by step, and whether its answer follows from it.

traces_router = APIRouter(prefix="/v1/traces", tags=["check"])


@traces_router.post(
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
