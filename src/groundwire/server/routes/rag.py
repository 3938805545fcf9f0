"""`/v1/rag/…`: the chatbot. Answers from documents, with sources and a verdict on each claim."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from groundwire.errors import GroundwireError, Overloaded
from groundwire.rag.chatbot import (
    Chatbot,
    ChatReply,
    ChatRequest,
    DraftAnswer,
    hit_sources,
    reply_sources,
    reply_with_check,
    reply_without_check,
    reply_without_passages,
    verify_draft,
)
from groundwire.rag.index import IndexedDocument, PassageIndex
from groundwire.rag.ingest import Ingest
from groundwire.reports.schema import ChatReplyOut, Documents, KnownDocument, Removed
from groundwire.server.deps import EVENT_STREAM, ServiceDep, error_event, sse_event
from groundwire.server.problems import NotFound, problems, reading_problems
from groundwire.server.reports import REPORT_HEADER, store_report
from groundwire.server.schemas import ChatRequestIn, DocumentId, NewDocument, NewDocuments
from groundwire.server.service import Service

router = APIRouter(prefix="/v1/rag", tags=["rag"])
Event = tuple[str, object]
_UNBUFFERED = {"cache-control": "no-cache", "x-accel-buffering": "no"}
_SSE = {
    "description": "The reply. With `stream` the events `sources`, `token` …, `answer`, `report`, `check`; "
    "the last has the whole reply (or `error` with a problem document).",
    "content": {EVENT_STREAM: {}},
}


@router.post("/chat", response_model=ChatReplyOut, responses={200: _SSE, **problems(501, 502)})
async def rag_chat(body: ChatRequestIn, request: Request, service: ServiceDep) -> Response:
    """Answer from the documents, with a verdict on each claim."""
    bot = await service.chat.bot()
    question = ChatRequest(body.text, body.turns, body.top_k)
    if body.stream:
        service.chat.require_capacity()
        events = _events(bot, question, service, request)
        return StreamingResponse(events, headers=_UNBUFFERED, media_type=EVENT_STREAM)
    with service.chat.admission.admitted():
        draft = await bot.write(question, await bot.find(question))
    reply, report_id = await _checked(draft, service, request)
    return JSONResponse(reply, headers={REPORT_HEADER: report_id} if report_id else None)


async def _checked(draft: DraftAnswer, service: Service, request: Request) -> tuple[ChatReply, str]:
    """The reply and the id of the stored report. A busy server skips the check, and the reply says so."""
    if not draft.hits:
        return reply_without_passages(draft.response), ""
    if service.is_busy:
        return reply_without_check(draft.response, draft.hits), ""
    size = len(draft.response) + sum(len(hit.passage.text) for hit in draft.hits)
    try:
        report = await service.work(lambda: verify_draft(draft, service.engine), size)
    except Overloaded:
        return reply_without_check(draft.response, draft.hits), ""
    sources = hit_sources(draft.hits)
    report_id = store_report(service, report, request, sources=sources, question=draft.question, kind="rag")
    return reply_with_check(draft.response, draft.hits, report), report_id


async def _events(bot: Chatbot, question: ChatRequest, service: Service, request: Request) -> AsyncIterator[bytes]:
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
            queue.put_nowait(("sources", reply_sources(hits)))
            draft = await bot.write(question, hits, lambda text: queue.put_nowait(("token", {"text": text})))
        queue.put_nowait(("answer", {"response": draft.response}))
        reply, report = await _checked(draft, service, request)
        if report:
            queue.put_nowait(("report", {"id": report}))
        queue.put_nowait(("check", reply))
    finally:
        queue.put_nowait(None)


@router.post("/documents", status_code=201, response_model=Documents, responses=problems())
async def rag_ingest(body: NewDocuments, service: ServiceDep) -> Documents:
    """Ingest documents. Each is committed separately."""
    index = await service.chat.index()
    with service.admission.admitted(sum(len(document.text) for document in body.documents)):
        taken = await asyncio.to_thread(_ingested, body.documents, index, service)
    return _listed(taken, index)


def _ingested(given: list[NewDocument], index: PassageIndex, service: Service) -> list[IndexedDocument]:
    run = Ingest(index, service.config)
    return [run.text(one.id or _content_id(one.text), one.title, one.text) for one in given]


def _content_id(text: str) -> str:
    return f"text-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"


@router.get("/documents", response_model=Documents, responses=reading_problems())
async def rag_documents(service: ServiceDep) -> Documents:
    """List the ingested documents."""
    index = await service.chat.index()
    return _listed(await asyncio.to_thread(index.documents), index)


@router.delete("/documents", response_model=Removed, responses=reading_problems(404))
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
