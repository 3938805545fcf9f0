"""`/v1/reports`: list, read, share, rate and delete stored reports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from groundwire.reports.feedback import add_feedback, claim_of_stored_report
from groundwire.reports.json import feedback_object
from groundwire.reports.schema import FeedbackOut, ReportList, StoredOut
from groundwire.server.deps import ServiceDep, json_response
from groundwire.server.problems import NotFound
from groundwire.server.reports import (
    HTML_RESPONSE,
    html_response,
    owner_of,
    stored_report_object,
    stored_report_page,
    summary_object,
    wants_html,
)
from groundwire.server.service import Service
from groundwire.stores.keys import ADMIN
from groundwire.stores.reports import ReportStore, ReportSummary

router = APIRouter(prefix="/v1/reports", tags=["reports"])

Identity = Annotated[str, Path(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
Flagged = Literal["true", "false", "unknown"]
_FLAGGED = {"true": True, "false": False, "unknown": None}
T = TypeVar("T")


SHARE_HEADER = "X-Groundwire-Share"  # request header with the token of a shared report


class ShareOut(BaseModel):
    """Access to one report for callers that did not create it."""

    token: str = Field(description="To be sent as `X-Groundwire-Share`.")
    path: str = Field(description="The page that shows the report; the token is in the fragment.")


class FeedbackRequest(BaseModel):
    """A user's judgement of the verdict on a claim."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"claim": "c1", "right": False, "note": "S2 says so"}]}
    )

    claim: str = Field(min_length=1, max_length=64, description="The claim's key, or its id (`c1`).")
    right: Annotated[bool, Field(strict=True)]
    note: str = Field(default="", max_length=2000)


@router.get("", response_model=ReportList)
async def reports(
    request: Request,
    service: ServiceDep,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str, Query(max_length=64, description="`next` of the previous page.")] = "",
    flagged: Annotated[Flagged | None, Query(description="`unknown`: could not be checked.")] = None,
    kind: Annotated[str, Query(max_length=20, description="`check`, `audit`, …")] = "",
) -> Response:
    """List reports, newest first.

    The reports of the caller's key; all reports with the scope `admin` or without keys.
    """
    only: dict[str, Any] = {} if flagged is None else {"flagged": _FLAGGED[flagged]}
    only |= {"kind": kind} if kind else {}
    found = await _read(
        service, lambda reports: reports.recent(limit + 1, before=before, owner=_owner(request), only=only)
    )
    page = [summary for summary in found[:limit] if summary.created >= service.report_writer.oldest]
    rest = page[-1].id if len(found) > limit and page else None
    return json_response({"reports": [summary_object(s, service.config) for s in page], "next": rest})


@router.get("/{identity}", response_model=StoredOut, responses={200: HTML_RESPONSE})
async def report(identity: Identity, request: Request, service: ServiceDep) -> Response:
    """One report.

    The report with its input, for the key that created it, for the scope `admin`, and for any caller with
    the scope `reports` who sends a token of `POST /v1/reports/{identity}/share` in `X-Groundwire-Share`.

    With `Accept: text/html` the response is a self-contained page.
    """
    summary, body = await _found(service, identity, request, request.headers.get(SHARE_HEADER, ""))
    found = await asyncio.to_thread(stored_report_object, summary, body, service)
    if wants_html(request):
        return html_response(await asyncio.to_thread(stored_report_page, found))
    return json_response(found)


@router.delete("/{identity}", status_code=204)
async def delete(identity: Identity, request: Request, service: ServiceDep) -> Response:
    """Delete a report.

    Allowed for the key that created it and for the scope `admin`.
    """
    await asyncio.to_thread(service.report_writer.flush)
    gone = await _read(service, lambda reports: reports.delete(identity, _owner(request)))
    if not gone:
        raise _unknown(identity)
    return Response(status_code=204)


@router.post("/{identity}/share", response_model=ShareOut, status_code=201)
async def share(identity: Identity, request: Request, service: ServiceDep) -> Response:
    """Share a report.

    Make a token that lets other keys read the report, but not rate, share or delete it. It is shown once.

    Allowed for the key that created the report and for the scope `admin`.
    """
    await asyncio.to_thread(service.report_writer.flush)
    token = await _read(service, lambda reports: reports.share(identity, _owner(request)))
    if not token:
        raise _unknown(identity)
    return json_response({"token": token, "path": f"/r/{identity}#{token}"}, 201)


@router.delete("/{identity}/share", status_code=204)
async def unshare(identity: Identity, request: Request, service: ServiceDep) -> Response:
    """Stop sharing a report.

    Revoke every token of the report.
    """
    if not await _read(service, lambda reports: reports.unshare(identity, _owner(request))):
        raise NotFound(f"no shared report {identity}")
    return Response(status_code=204)


@router.post("/{identity}/feedback", response_model=FeedbackOut)
async def feedback(identity: Identity, body: FeedbackRequest, request: Request, service: ServiceDep) -> Response:
    """Rate a verdict as right or wrong.

    Allowed for the key that created the report and for the scope `admin`. Feedback outlives the report:
    `groundwire calibrate --from-feedback` learns from it.
    """
    summary, stored = await _found(service, identity, request)

    def record() -> dict[str, Any]:
        judged, verdict = claim_of_stored_report(stored, body.claim)
        given = add_feedback(judged, verdict, body.right, body.note, service.config, owner=summary.owner)
        return feedback_object(given)

    return json_response(await asyncio.to_thread(record))


def _owner(request: Request) -> str | None:
    caller = getattr(request.state, "caller", None)
    return None if caller is None or caller.may(ADMIN) else owner_of(request)


async def _read(service: Service, job: Callable[[ReportStore], T]) -> T:
    return await asyncio.to_thread(lambda: job(ReportStore(service.database)))


async def _found(service: Service, identity: str, request: Request, token: str = "") -> tuple[ReportSummary, str]:
    """A report that has not expired, written or still pending, which the caller or the token may read."""
    owner = _owner(request)
    pending = await asyncio.to_thread(service.report_writer.pending, identity)
    if pending is not None and owner in (None, pending.summary.owner):
        return pending.summary, pending.body
    found = await _read(service, lambda reports: reports.get(identity, owner, token))
    if found is None or found[0].created < service.report_writer.oldest:
        raise _unknown(identity)
    return found


def _unknown(identity: str) -> NotFound:
    return NotFound(f"no report {identity}", hint="it may have expired, been deleted, or belong to another key")
