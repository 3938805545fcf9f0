"""Verification: `/v1/check`, `/claims/verify`, `/detect`, `/traces/audit`, `/estimate`; and `/sources`."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import PurePosixPath
from typing import Annotated

from fastapi import APIRouter, File, Request, Response, UploadFile
from pydantic import BaseModel, Field

from groundwire.engine import ContextKwargs, Groundwire
from groundwire.errors import InputError
from groundwire.reports.html import to_html
from groundwire.reports.json import audit_json, claim_object, flag_object, to_json
from groundwire.reports.schema import AuditOut, DetectionOut, EstimateOut, EstimatesOut, ReportOut, VerificationsOut
from groundwire.requests import as_sources
from groundwire.server.deps import ServiceDep, json_response, raw_json_response
from groundwire.server.reports import REPORT_HEADER, html_response, store_report, wants_html
from groundwire.server.schemas import (
    AuditRequestIn,
    CheckRequest,
    DetectRequest,
    EstimateRequest,
    EstimatesRequest,
    VerifyRequest,
)
from groundwire.server.service import Service
from groundwire.traces.audit import audit_trace
from groundwire.traces.steps import ParsedTrace, read_trace
from groundwire.types import ClaimVerification, Estimate, HallucinationReport, Query, Source

router = APIRouter(prefix="/v1")


@router.post("/check", response_model=ReportOut, tags=["check"])
async def check(body: CheckRequest, request: Request, service: ServiceDep) -> Response:
    """Verify every claim of an answer against its sources.

    The response is the object of `groundwire check --json`, byte for byte.

    `flagged` is true if some claim is not supported by its sources, false if none is, and null if that could
    not be checked. If the server stores reports, `X-Groundwire-Report` is the id of this one; send
    `X-Groundwire-Store: false` to store nothing. With `Accept: text/html` the response is an HTML page.
    """
    context: ContextKwargs = {"history": body.turns, "kb": await service.known(request) if body.kb else None}
    report = await service.work(lambda: _checked(body, service, context), body.size)
    report = await service.with_opinions(report, request)
    report_id = store_report(
        service, report, request, sources=body.parsed_sources, question=body.question, history=body.turns
    )
    if wants_html(request):
        return html_response(await asyncio.to_thread(to_html, report))
    text = await asyncio.to_thread(to_json, report)
    return raw_json_response(text, headers={REPORT_HEADER: report_id} if report_id else None)


async def _checked(body: CheckRequest, service: Service, context: ContextKwargs) -> HallucinationReport:
    engine = service.engine.variant(target=body.target, profile=body.profile, shares=body.shares)
    sources = body.parsed_sources
    report = await engine.check(body.text, sources, question=body.question, response_id=str(body.id), **context)
    return await engine.fix(report, sources, **context) if body.fix else report


@router.post("/claims/verify", response_model=VerificationsOut, tags=["check"])
async def verify_claims(body: VerifyRequest, service: ServiceDep) -> Response:
    """Verify claims against their evidence.

    One verdict per claim, in order. `claim` and `claims` are verified as given; from `text` the claims are
    extracted first.
    """
    engine = service.engine_for("claims").variant(profile=body.profile, target=body.confidence)
    found = await service.work(lambda: _verified(body, engine), body.size)
    claims = [claim_object(claim) for claim in found]
    return json_response({"backend": engine.backend.name, "profile": engine.profile.name, "claims": claims})


async def _verified(body: VerifyRequest, engine: Groundwire) -> list[ClaimVerification]:
    sources = body.parsed_sources
    if body.text is not None:
        return await engine.verify_claims(body.text, sources, question=body.question)
    claims = [body.claim] if body.claim is not None else body.claims or []
    verdicts = (engine.verify_claim(claim, sources, body.confidence, question=body.question) for claim in claims)
    return list(await asyncio.gather(*verdicts))


@router.post("/detect", response_model=DetectionOut, tags=["check"])
async def detect(body: DetectRequest, request: Request, service: ServiceDep) -> Response:
    """Check a response against knowledge, conversation, time and logic.

    Eight detectors; those without input to work on are listed in `detectors_skipped`.
    """
    context: ContextKwargs = {"history": body.turns, "kb": await service.known(request) if body.kb else None}
    found = await service.work(lambda: service.engine.detect(body.text, body.parsed_sources, **context), body.size)
    flags = [flag_object(flag) for flag in found.flags]
    skipped = list(found.skipped)
    return json_response({"flagged": bool(flags), "flags": flags, "detectors_skipped": skipped})


@router.post("/traces/audit", response_model=AuditOut, tags=["check"])
async def audit(body: AuditRequestIn, request: Request, service: ServiceDep) -> Response:
    """Verify the steps of a reasoning trace.

    Each step is judged by the sources it cites and by earlier supported steps; then the answer is derived
    again from the question and the steps alone. The response is the object of `groundwire audit --json`.
    """
    trace, sources = await service.parse(partial(_parse_trace, body), body.size)
    question, answer = body.question or trace.question, body.answer or trace.answer
    engine = service.engine_for("trace")
    found = await service.work(
        lambda: audit_trace(engine, trace.steps, question, sources, answer, ledger=trace.ledger), body.size
    )
    report_id = store_report(service, found, request, sources=sources, question=question)
    return raw_json_response(audit_json(found), headers={REPORT_HEADER: report_id} if report_id else None)


def _parse_trace(body: AuditRequestIn) -> tuple[ParsedTrace, tuple[Source, ...]]:
    """The steps, and the sources of the trace itself before those of the request."""
    given = body.parsed_sources
    if body.trace is None:
        steps = [s if isinstance(s, str) else s.model_dump(exclude_none=True) for s in body.steps or ()]
        return ParsedTrace(steps), given
    trace = read_trace(body.trace)
    return trace, as_sources([*as_sources(trace.sources), *given])


@router.post("/estimate", response_model=EstimateOut, tags=["estimate"])
async def estimate(body: EstimateRequest, service: ServiceDep) -> Response:
    """Probability of a claim in its context.

    The verifier's output for one claim: no bits, no verdict. Another groundwire calls this with the
    backend `external`.
    """
    query = Query(body.claim, body.context, body.question)
    (found,) = await _estimated([query], service, body.size)
    return json_response(_estimate_object(found))


@router.post("/estimate/batch", response_model=EstimatesOut, tags=["estimate"])
async def estimate_batch(body: EstimatesRequest, service: ServiceDep) -> Response:
    """Probabilities of several claims in one context.

    One estimate per claim, in order; a failed one has an `error`.
    """
    queries = [Query(claim, body.context, body.question) for claim in body.claims]
    found = await _estimated(queries, service, body.size)
    return json_response({"estimates": [_estimate_object(one) for one in found]})


async def _estimated(queries: list[Query], service: Service, size: int) -> list[Estimate]:
    return await service.work(lambda: service.engine.backend.verifier.estimate(queries), size)


def _estimate_object(found: Estimate) -> dict[str, object]:
    if found.error is not None:
        return {"probability": None, "method": found.method, "error": found.error}
    return {  # not rounded: the client computes with these numbers
        "probability": found.p_yes,
        "p_no": found.p_no,
        "low": found.low,
        "high": found.high,
        "method": found.method,
        "reason": found.reason,
        "spans": [{"start": span.start, "end": span.end, "score": span.score} for span in found.spans],
        "speaks": found.speaks,
        "undecided": found.undecided,
        "error": None,
    }


# The text of files, as the command line reads them.

_MAX_FILES = 50  # files of one upload
_MAX_NAME_CHARS = 200  # of a file's name, which becomes the name of a source


class FileText(BaseModel):
    """A source as `/v1/check` takes it; `id` only if the file itself names its sources."""

    text: str
    origin: str
    id: str | None = None


class FileError(BaseModel):
    origin: str
    detail: str


class ExtractedTexts(BaseModel):
    sources: list[FileText]
    errors: list[FileError] = Field(description="Files that cannot be read, and why.")


@router.post("/sources", response_model=ExtractedTexts, tags=["sources"])
async def texts_of(
    files: Annotated[list[UploadFile], File(description="One or more files.", max_length=_MAX_FILES)],
    service: ServiceDep,
) -> ExtractedTexts:
    """Extract the texts of files, to be sent with a check.

    Nothing is stored.
    """
    found = ExtractedTexts(sources=[], errors=[])
    with service.file_admission.admitted(sum(file.size or 0 for file in files)):
        for file in files:
            name = _name(file.filename or "")
            try:
                texts = await service.read_file(await file.read(), name)
            except InputError as error:
                found.errors.append(FileError(origin=name, detail=str(error)))
            else:
                found.sources += [FileText(text=one.text, origin=name, id=one.id) for one in texts]
    return found


def _name(given: str) -> str:
    """The last part of a file name, without the path on the client's disk."""
    last = PurePosixPath(given.replace("\\", "/")).name
    return "".join(char for char in last if char.isprintable())[-_MAX_NAME_CHARS:] or "file"
