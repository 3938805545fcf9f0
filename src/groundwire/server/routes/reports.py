"""`/v1/reports`: reports that were kept, listed, read, marked and deleted; `/v1/stats`: what they come to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from groundwire.cli.feedback import mark
from groundwire.cli.reported import named_in
from groundwire.reports.json import feedback_object
from groundwire.server.problems import NotFound, problems, reading_problems
from groundwire.server.reports import (
    AS_PAGE,
    ReportList,
    StatsOut,
    StoredOut,
    html_answer,
    opened,
    owner_of,
    page_of,
    stats_object,
    summary_object,
    wants_html,
)
from groundwire.server.responses import FeedbackOut, answered
from groundwire.server.service import Service, service
from groundwire.stores.keys import ADMIN
from groundwire.stores.reports import HOUR, Reports, Stretch, Summary

router = APIRouter(prefix="/v1", tags=["reports"])

Held = Annotated[Service, Depends(service)]
Identity = Annotated[str, Path(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
Flagged = Literal["true", "false", "unknown"]
_FLAGGED = {"true": True, "false": False, "unknown": None}
T = TypeVar("T")


class Opinion(BaseModel):
    """What a person says of the verdict on a claim."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"claim": "c1", "right": False, "note": "S2 says so"}]},
    )

    claim: str = Field(min_length=1, max_length=64, description="The claim's key, or its id (`c1`).")
    right: Annotated[bool, Field(strict=True)]
    note: str = Field(default="", max_length=2000)


@router.get("/reports", summary="The newest reports", response_model=ReportList, responses=reading_problems())
async def reports(
    request: Request,
    held: Held,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str, Query(max_length=64, description="The `next` of the list before.")] = "",
    flagged: Annotated[Flagged | None, Query(description="`unknown`: could not be checked.")] = None,
    kind: Annotated[str, Query(max_length=20, description="`check`, `audit`, …")] = "",
) -> Response:
    """Those that the caller's key made; all of them for a key with the scope `admin`, or without keys."""
    only: dict[str, Any] = {} if flagged is None else {"flagged": _FLAGGED[flagged]}
    only |= {"kind": kind} if kind else {}
    found = await _read(
        held,
        lambda kept: kept.recent(limit + 1, before=before, owner=_owner(request), only=only),
    )
    page = [summary for summary in found[:limit] if summary.created >= held.keeper.oldest]
    rest = page[-1].id if len(found) > limit and page else None
    return answered({"reports": [summary_object(s, held.config) for s in page], "next": rest})


@router.get(
    "/reports/{identity}",
    summary="One report",
    response_model=StoredOut,
    responses={200: AS_PAGE, **reading_problems(404)},
)
async def report(identity: Identity, request: Request, held: Held) -> Response:
    """The report with all that was given: whoever has its id and may read reports may read this one.

    With `Accept: text/html` it is one self-contained page.
    """
    summary, body = await _found(held, identity)
    found = await asyncio.to_thread(opened, summary, body, held)
    if wants_html(request):
        return html_answer(await asyncio.to_thread(page_of, found))
    return answered(found)


@router.delete(
    "/reports/{identity}", summary="Forget a report", status_code=204, responses=reading_problems(404)
)
async def forget(identity: Identity, request: Request, held: Held) -> Response:
    """Only the key that made it may, or one with the scope `admin`."""
    await asyncio.to_thread(held.keeper.flush)
    gone = await _read(held, lambda kept: kept.delete(identity, _owner(request)))
    if not gone:
        raise _unknown(identity)
    return Response(status_code=204)


@router.post(
    "/reports/{identity}/feedback",
    summary="Say whether a verdict is right",
    response_model=FeedbackOut,
    responses=problems(404),
)
async def feedback(identity: Identity, said: Opinion, held: Held) -> Response:
    """The opinion is kept beyond the report: `groundwire calibrate --from-feedback` learns from it."""
    _, body = await _found(held, identity)

    def keep() -> dict[str, Any]:
        judged, verdict = named_in(body, said.claim)
        return feedback_object(mark(judged, verdict, said.right, said.note, held.config))

    return answered(await asyncio.to_thread(keep))


@router.get(
    "/stats", summary="Hallucination rate over time", response_model=StatsOut, responses=reading_problems()
)
async def stats(
    request: Request, held: Held, days: Annotated[int, Query(ge=1, le=365, description="How far back.")] = 7
) -> Response:
    """Counted by hours up to two days, by days beyond; by type and by source, the most flagged first."""
    step = 1 if days <= 2 else 24
    since = max(time.time() - days * 24 * HOUR, held.keeper.oldest)
    found = await _read(held, lambda kept: kept.figures(Stretch(since, step, _owner(request))))
    return answered(stats_object(found, since, step))


def _owner(request: Request) -> str | None:
    caller = getattr(request.state, "caller", None)
    return None if caller is None or caller.may(ADMIN) else owner_of(request)


async def _read(held: Service, job: Callable[[Reports], T]) -> T:
    return await asyncio.to_thread(lambda: job(Reports(held.database)))


async def _found(held: Service, identity: str) -> tuple[Summary, str]:
    """A report that was kept and is not too old, whether or not it is written yet."""
    waiting = await asyncio.to_thread(held.keeper.waiting, identity)
    if waiting is not None:
        return waiting.summary, waiting.body
    found = await _read(held, lambda kept: kept.get(identity))
    if found is None or found[0].created < held.keeper.oldest:
        raise _unknown(identity)
    return found


def _unknown(identity: str) -> NotFound:
    return NotFound(f"there is no report {identity}", hint="it may be too old, or deleted")
