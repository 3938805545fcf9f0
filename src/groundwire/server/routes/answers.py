"""Answers of the server's own language model: `/v1/guard`, verified while they are generated, and `/v1/rag/…`, from
documents, with sources and a verdict on each claim.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from groundwire.errors import GroundwireError, Overloaded
from groundwire.rag import chatbot
from groundwire.rag.chatbot import Chatbot, ChatReply, ChatRequest, DraftAnswer
from groundwire.rag.index import IndexedDocument, PassageIndex
from groundwire.rag.ingest import Ingest
from groundwire.reports.json import event_object
from groundwire.reports.schema import Documents, GuardReply, KnownDocument, Removed
from groundwire.requests import as_turns
from groundwire.server.deps import ServiceDep, error_event, sse_event
from groundwire.server.problems import NotFound
from groundwire.server.reports import REPORT_HEADER, store_report
from groundwire.server.schemas import ChatRequestIn, DocumentId, GuardRequest, NewDocuments
from groundwire.server.service import Service
from groundwire.streaming.guard import guard
from groundwire.types.stream import Context, StreamEvent

router = APIRouter()
rag = APIRouter(prefix="/v1/rag", tags=["rag"])
Event = tuple[str, object]
EVENT_STREAM = "text/event-stream"
_EVENT = {"type": "object", "properties": {"event": {"type": "string"}, "data": {"type": "string"}}}
_GUARD_EVENTS: dict[str, Any] = {
    "description": "With `stream` the events `token`, `warning`, `verdict`, `interrupted`, `reformulated` as "
    "they happen, and finally `done` with the whole reply (or `error` with a problem document).",
    "content": {EVENT_STREAM: {"schema": _EVENT}},
}
_CHAT_EVENTS: dict[str, Any] = {
    "description": "The reply. With `stream` the events `sources`, `token` …, `answer`, `report`, `check`; "
    "the last has the whole reply (or `error` with a problem document).",
    "content": {EVENT_STREAM: {}},
}


def _event_stream(events: AsyncIterator[bytes]) -> Response:
    unbuffered = {"cache-control": "no-cache", "x-accel-buffering": "no"}
    return StreamingResponse(events, headers=unbuffered, media_type=EVENT_STREAM)


@router.post("/v1/guard", response_model=GuardReply, tags=["check"], responses={200: _GUARD_EVENTS})
async def post_guard(body: GuardRequest, request: Request, service: ServiceDep) -> Response:
    """Let the server's model answer, and interrupt it when the sources contradict it.

    Claims are verified while the answer is generated. Weak ones are marked; failed ones are rewritten or
    replaced by a statement of limits. `text` of the last event is what the user should read.
    """
    kb = await service.known(request) if body.kb else None
    context = Context(body.parsed_sources, as_turns(body.turns), kb)
    model = await service.chat.model()
    events = guard(model, body.request, context, engine=service.engine, work=service.work)
    if body.stream:
        service.chat.require_capacity()
        return _event_stream(_guard_events(events, service, request))
    with service.chat.admission.admitted():
        async with aclosing(events):
            last = [event async for event in events][-1]
    return JSONResponse(event_object(last))


async def _guard_events(
    events: AsyncGenerator[StreamEvent], service: Service, request: Request
) -> AsyncIterator[bytes]:
    """The events as they happen; closing the stream stops the model."""
    try:
        with service.chat.admission.admitted():
            async with aclosing(events):
                async for event in events:
                    yield sse_event(event.kind, event_object(event))
    except GroundwireError as error:
        yield error_event(request, error)


# ---- the chatbot


@rag.post("/chat", response_model=ChatReply, responses={200: _CHAT_EVENTS})
async def rag_chat(body: ChatRequestIn, request: Request, service: ServiceDep) -> Response:
    """Answer from the documents, with a verdict on each claim."""
    bot = await service.chat.bot()
    question = ChatRequest(body.text, body.turns, body.top_k)
    if body.stream:
        service.chat.require_capacity()
        return _event_stream(_chat_events(bot, question, service, request))
    with service.chat.admission.admitted():
        draft = await bot.write(question, await bot.find(question))
    reply, report_id = await _checked(draft, service, request)
    return JSONResponse(reply, headers={REPORT_HEADER: report_id} if report_id else None)


async def _checked(draft: DraftAnswer, service: Service, request: Request) -> tuple[ChatReply, str]:
    """The reply and the id of the stored report. A busy server skips the check, and the reply says so."""
    if not draft.hits:
        return chatbot.reply_without_passages(draft.response), ""
    if service.is_busy:
        return chatbot.reply_without_check(draft.response, draft.hits), ""
    size = len(draft.response) + sum(len(hit.passage.text) for hit in draft.hits)
    try:
        report = await service.work(lambda: chatbot.verify_draft(draft, service.engine), size)
    except Overloaded:
        return chatbot.reply_without_check(draft.response, draft.hits), ""
    sources = chatbot.hit_sources(draft.hits)
    report_id = store_report(service, report, request, sources=sources, question=draft.question, kind="rag")
    return chatbot.reply_with_check(draft.response, draft.hits, report), report_id


async def _chat_events(bot: Chatbot, question: ChatRequest, service: Service, request: Request) -> AsyncIterator[bytes]:
    """The events as they happen; closing the stream cancels the work."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()
    task = asyncio.create_task(_work(bot, question, service, request, queue))
    try:
        while (event := await queue.get()) is not None:
            yield sse_event(*event)
        await task
    except GroundwireError as error:
        yield error_event(request, error)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, GroundwireError):
            await task


async def _work(
    bot: Chatbot, question: ChatRequest, service: Service, request: Request, queue: asyncio.Queue[Event | None]
) -> None:
    try:
        with service.chat.admission.admitted():
            hits = await bot.find(question)
            queue.put_nowait(("sources", chatbot.reply_sources(hits)))
            draft = await bot.write(question, hits, lambda text: queue.put_nowait(("token", {"text": text})))
        queue.put_nowait(("answer", {"response": draft.response}))
        reply, report = await _checked(draft, service, request)
        if report:
            queue.put_nowait(("report", {"id": report}))
        queue.put_nowait(("check", reply))
    finally:
        queue.put_nowait(None)


@rag.post("/documents", response_model=Documents, status_code=201)
async def rag_ingest(body: NewDocuments, service: ServiceDep) -> Documents:
    """Ingest documents.

    Each is committed separately.
    """
    index = await service.chat.index()

    def ingest() -> list[IndexedDocument]:
        run = Ingest(index, service.config)
        return [run.text(one.id or _content_id(one.text), one.title, one.text) for one in body.documents]

    return _listed(await service.parse(ingest, body.size), index)


def _content_id(text: str) -> str:
    return f"text-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"


@rag.get("/documents", response_model=Documents)
async def rag_documents(service: ServiceDep) -> Documents:
    """List the ingested documents."""
    index = await service.chat.index()
    return _listed(await asyncio.to_thread(index.documents), index)


@rag.delete("/documents", response_model=Removed)
async def rag_remove(id: Annotated[list[DocumentId], Query(max_length=1000)], service: ServiceDep) -> Removed:
    """Remove documents by id."""
    index = await service.chat.index()
    removed = await asyncio.to_thread(index.delete, id)
    if not removed:
        raise NotFound(f"no document {id[0]!r}")
    return Removed(removed=removed)


def _listed(found: list[IndexedDocument], index: PassageIndex) -> Documents:
    known = [
        KnownDocument(id=one.id, title=one.title, passages=one.passages, characters=one.characters) for one in found
    ]
    return Documents(documents=known, meaning=bool(index.embedder))


router.include_router(rag)
