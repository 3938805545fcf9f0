"""Reports as one self-contained page, for whoever asks for HTML instead of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request, Response

from groundwire.reports.audit_html import audit_page
from groundwire.reports.html import to_html
from groundwire.reports.parse import audit_from, report_from

AS_PAGE: dict[str, Any] = {"content": {"text/html": {"schema": {"type": "string"}}}}
"""For the OpenAPI document of a route that answers in either form."""
_CSP = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"


def wants_html(request: Request) -> bool:
    """A browser names text/html first; programs that take anything get JSON."""
    first = request.headers.get("accept", "").partition(",")[0]
    return first.partition(";")[0].strip().lower() == "text/html"


def html_answer(page: str) -> Response:
    """The page brings its own style, and may do nothing else."""
    headers = {"Content-Security-Policy": _CSP, "Cache-Control": "no-store"}
    return Response(page.encode("utf-8", "replace"), headers=headers, media_type="text/html")


def page_of(stored: Mapping[str, Any]) -> str:
    """A stored report as a page, the evidence quoted from the sources that were kept with it."""
    texts = {source["id"]: source["text"] for source in stored["sources"]}

    def quote(source: str, start: int, end: int) -> str:
        return str(texts.get(source, ""))[start:end]

    if "audit" in stored:
        return audit_page(audit_from(stored["audit"], quote))
    return to_html(report_from(stored["report"], stored["answer"], quote))
