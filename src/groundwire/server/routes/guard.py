"""`POST /v1/guard`: an answer of the server's model, verified while it is generated."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from groundwire.errors import GroundwireError
from groundwire.reports.json import event_object
from groundwire.reports.schema import GuardReply
from groundwire.retrieval.history import as_turns
from groundwire.server.deps import EVENT_STREAM, ServiceDep, error_event, require_kb, sse_event
from groundwire.server.problems import problems
from groundwire.server.schemas import GuardRequest
from groundwire.server.service import Service
from groundwire.streaming.guard import guard
from groundwire.types.stream import Context, StreamEvent

router = APIRouter(prefix="/v1", tags=["check"])
_SSE = {
    "description": "With `stream` the events `token`, `warning`, `verdict`, `interrupted`, `reformulated` as "
    "they happen, and finally `done` with the whole reply (or `error` with a problem document).",
    "content": {
        EVENT_STREAM: {
            "schema": {"type": "object", "properties": {"event": {"type": "string"}, "data": {"type": "string"}}}
        }
    },
}


@router.post("/guard", response_model=GuardReply, responses={200: _SSE, **problems(501, 502)})
async def post_guard(body: GuardRequest, request: Request, service: ServiceDep) -> Response:
    """Let the server's model answer, and interrupt it when the sources contradict it.

    Claims are verified while the answer is generated. Weak ones are marked; failed ones are rewritten or
    replaced by a statement of limits. `text` of the last event is what the user should read.
    """
    events = await _guarded(body, request, service)
    if body.stream:
        service.chat.require_capacity()
        stream = _streamed(events, service, request)
        return StreamingResponse(stream, headers={"cache-control": "no-cache"}, media_type=EVENT_STREAM)
    with service.chat.admission.admitted():
        async with aclosing(events):
            last = [event async for event in events][-1]
    return JSONResponse(event_object(last))


async def _guarded(body: GuardRequest, request: Request, service: Service) -> AsyncGenerator[StreamEvent]:
    kb = await require_kb(body.kb, request, service)
    context = Context(body.parsed_sources, as_turns(body.turns), kb)
    return guard(await service.chat.model(), body.request, context, engine=service.engine, work=service.work)


async def _streamed(events: AsyncGenerator[StreamEvent], service: Service, request: Request) -> AsyncIterator[bytes]:
    """The events as they happen; closing the stream stops the model."""
    try:
        with service.chat.admission.admitted():
            async with aclosing(events):
                async for event in events:
                    yield sse_event(event.kind, event_object(event))
    except GroundwireError as error:
        yield error_event(request, error)
