"""`POST /v1/guard`: an answer of the server's model, written under watch; as events or as its end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from groundwire.errors import GroundwireError
from groundwire.reports.json import event_object
from groundwire.retrieval.history import as_turns
from groundwire.server.events import failed, sse
from groundwire.server.knowing import known
from groundwire.server.problems import problems
from groundwire.server.schemas import GuardReply, GuardRequest
from groundwire.server.service import Service, service
from groundwire.streaming.guard import guard
from groundwire.types.stream import Context, StreamEvent

router = APIRouter(prefix="/v1", tags=["check"])
EVENTS = "text/event-stream"
_SSE = {
    "description": "With `stream` the events `token`, `warning`, `verdict`, `interrupted`, `reformulated` as "
    "they happen, and at last `done`, whose data are the whole reply (or `error`, a problem document).",
    "content": {
        EVENTS: {
            "schema": {
                "type": "object",
                "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
            }
        }
    },
}


@router.post("/guard", response_model=GuardReply, responses={200: _SSE, **problems(501, 502)})
async def post_guard(
    asked: GuardRequest, request: Request, held: Annotated[Service, Depends(service)]
) -> Response:
    """Let the server's model answer, and stop it where the sources say otherwise.

    Claims are judged while the answer is written. What is weak is said so, what fails is written again or
    replaced by a statement of limits; `text` of the last event is what the user should read.
    """
    events = await _guarded(asked, request, held)
    if asked.stream:
        _let_in(held)
        body = _streamed(events, held, request)
        return StreamingResponse(body, headers={"cache-control": "no-cache"}, media_type=EVENTS)
    with held.chatting.admission.admitted():
        async with aclosing(events):
            last = [event async for event in events][-1]
    return JSONResponse(event_object(last))


def _let_in(held: Service) -> None:
    """A full house is told as a status, before a stream begins."""
    if held.chatting.admission.load >= 1.0:
        with held.chatting.admission.admitted():
            return


async def _guarded(asked: GuardRequest, request: Request, held: Service) -> AsyncGenerator[StreamEvent]:
    kb = await known(asked.kb, request, held)
    context = Context(asked.given, as_turns(asked.said), kb)
    return guard(await held.chatting.writer(), asked.request, context, engine=held.engine, work=held.work)


async def _streamed(
    events: AsyncGenerator[StreamEvent], held: Service, request: Request
) -> AsyncIterator[bytes]:
    """Whoever leaves takes the model's work along."""
    try:
        with held.chatting.admission.admitted():
            async with aclosing(events):
                async for event in events:
                    yield sse(event.kind, event_object(event))
    except GroundwireError as error:
        yield failed(request, error)
