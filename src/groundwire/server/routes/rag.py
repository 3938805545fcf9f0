"""`/v1/rag/…`: the chatbot. Questions to documents, answered with sources and a verdict on each claim."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from groundwire.errors import GroundwireError, Overloaded
from groundwire.rag.chatbot import (
    Asked,
    Chatbot,
    Draft,
    Reply,
    checked,
    found_sources,
    judged,
    nothing_found,
    sources_of,
    unchecked,
)
from groundwire.rag.index import PassageIndex
from groundwire.rag.ingest import Ingest
from groundwire.rag.passages import Document
from groundwire.server.events import failed, sse
from groundwire.server.problems import NotFound, problems, reading_problems
from groundwire.server.reports import REPORT_HEADER, keep
from groundwire.server.schemas import (
    ChatReply,
    ChatRequest,
    DocumentId,
    Documents,
    KnownDocument,
    NewDocument,
    NewDocuments,
    Removed,
)
from groundwire.server.service import Service, service

router = APIRouter(prefix="/v1/rag", tags=["rag"])
Held = Annotated[Service, Depends(service)]
Event = tuple[str, object]
EVENTS = "text/event-stream"
_AT_ONCE = {"cache-control": "no-cache", "x-accel-buffering": "no"}
_SSE = {
    "description": "The reply. With `stream` as events `sources`, `token` …, `answer`, `report` and `check`, "
    "whose data are the whole reply (or `error`, a problem document).",
    "content": {EVENTS: {}},
}


@router.post("/chat", response_model=ChatReply, responses={200: _SSE, **problems(501, 502)})
async def rag_chat(asked: ChatRequest, request: Request, held: Held) -> Response:
    """Answer from the documents, and say of each claim whether they carry it."""
    bot = await held.chatting.bot()
    wanted = Asked(asked.text, asked.said, asked.top_k)
    if asked.stream:
        _let_in(held)
        events = _events(bot, wanted, held, request)
        return StreamingResponse(events, headers=_AT_ONCE, media_type=EVENTS)
    with held.chatting.admission.admitted():
        draft = await bot.write(wanted, await bot.find(wanted))
    reply, report = await _checked(draft, held, request)
    return JSONResponse(reply, headers={REPORT_HEADER: report} if report else None)


def _let_in(held: Service) -> None:
    """A full house is told as a status, before a stream begins."""
    if held.chatting.admission.load >= 1.0:
        with held.chatting.admission.admitted():
            return


async def _checked(draft: Draft, held: Service, request: Request) -> tuple[Reply, str]:
    """The reply, and the id of the kept report. Under load the check is left out, and the reply says so."""
    if not draft.hits:
        return nothing_found(draft.response), ""
    if held.admission.is_busy:
        return unchecked(draft.response, draft.hits), ""
    size = len(draft.response) + sum(len(hit.passage.text) for hit in draft.hits)
    try:
        report = await held.work(lambda: judged(draft, held.engine), size)
    except Overloaded:
        return unchecked(draft.response, draft.hits), ""
    sources = sources_of(draft.hits)
    kept = keep(held, report, request, sources=sources, question=draft.question, kind="rag")
    return checked(draft.response, draft.hits, report), kept


async def _events(bot: Chatbot, asked: Asked, held: Service, request: Request) -> AsyncIterator[bytes]:
    """What happens, as it happens; the work ends with whoever listens."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()
    working = asyncio.create_task(_work(bot, asked, held, request, queue))
    try:
        while (event := await queue.get()) is not None:
            yield sse(*event)
        await working
    except GroundwireError as error:
        yield failed(request, error)
    finally:
        working.cancel()
        with suppress(asyncio.CancelledError, GroundwireError):
            await working


async def _work(
    bot: Chatbot, asked: Asked, held: Service, request: Request, queue: asyncio.Queue[Event | None]
) -> None:
    try:
        with held.chatting.admission.admitted():
            hits = await bot.find(asked)
            queue.put_nowait(("sources", found_sources(hits)))
            draft = await bot.write(asked, hits, lambda text: queue.put_nowait(("token", {"text": text})))
        queue.put_nowait(("answer", {"response": draft.response}))
        reply, report = await _checked(draft, held, request)
        if report:
            queue.put_nowait(("report", {"id": report}))
        queue.put_nowait(("check", reply))
    finally:
        queue.put_nowait(None)


@router.post("/documents", status_code=201, response_model=Documents, responses=problems())
async def rag_ingest(given: NewDocuments, held: Held) -> Documents:
    """Take documents in. Each is committed by itself."""
    index = await held.chatting.index()
    with held.admission.admitted(sum(len(document.text) for document in given.documents)):
        taken = await asyncio.to_thread(_ingested, given.documents, index, held)
    return _listed(taken, index)


def _ingested(given: list[NewDocument], index: PassageIndex, held: Service) -> list[Document]:
    run = Ingest(index, held.config)
    return [run.text(one.id or _own_id(one.text), one.title, one.text) for one in given]


def _own_id(text: str) -> str:
    return f"text-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"


@router.get("/documents", response_model=Documents, responses=reading_problems())
async def rag_documents(held: Held) -> Documents:
    """All documents that answers are written from."""
    index = await held.chatting.index()
    return _listed(await asyncio.to_thread(index.documents), index)


@router.delete("/documents", response_model=Removed, responses=reading_problems(404))
async def rag_remove(id: Annotated[list[DocumentId], Query(max_length=1000)], held: Held) -> Removed:
    """Let documents go, by their ids."""
    index = await held.chatting.index()
    removed = await asyncio.to_thread(index.delete, id)
    if not removed:
        raise NotFound(f"there is no document {id[0]!r}")
    return Removed(removed=removed)


def _listed(found: list[Document], index: PassageIndex) -> Documents:
    known = [
        KnownDocument(id=one.id, title=one.title, passages=one.passages, characters=one.characters)
        for one in found
    ]
    return Documents(documents=known, meaning=bool(index.embedder))
