"""`GET /docs`: the OpenAPI document as a page to read, without a script and without a third party's host."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from groundwire.server.docs_page import STYLE, docs_page

router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def docs(request: Request) -> Response:
    return HTMLResponse(docs_page(request.app.openapi(), str(request.base_url).rstrip("/")))


@router.get("/docs/style.css")
async def style() -> Response:
    return Response(STYLE, media_type="text/css", headers={"cache-control": "max-age=3600"})
