"""The pages people see: plain HTML, CSS and modules, read once and packed, and what they need to know."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from groundwire.server.problems import NotFound
from groundwire.server.service import Service, service
from groundwire.version import __version__

router = APIRouter(include_in_schema=False)
_get = partial(router.api_route, methods=["GET", "HEAD"])

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_PAGES = {"check": "Check", "dashboard": "Dashboard", "audit": "Audit", "kb": "Knowledge"}
_TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "html": "text/html"}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it goes over the wire, packed once."""

    body: bytes
    packed: bytes
    kind: str
    etag: str

    @classmethod
    def of(cls, text: str, kind: str) -> Asset:
        body = text.encode()
        digest = hashlib.sha256(body).hexdigest()[:20]
        return cls(body, gzip.compress(body, 9, mtime=0), f"{kind}; charset=utf-8", f'"{digest}"')

    def response(self, request: Request) -> Response:
        headers = {"ETag": self.etag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding", **_GUARDS}
        if self.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(
                self.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=self.kind
            )
        return Response(self.body, headers=headers, media_type=self.kind)


_GUARDS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def _assets() -> Mapping[str, Asset]:
    """Every file of the page by its name; the four pages are the shell with their own part in it."""
    folder = files("groundwire.server").joinpath("page")
    texts = {item.name: item.read_text(encoding="utf-8") for item in folder.iterdir() if item.is_file()}
    shell = texts.pop("shell.html")
    for name, title in _PAGES.items():
        made = shell.replace("{{title}}", title).replace("{{script}}", name)
        texts[f"{name}.html"] = made.replace("{{main}}", texts[f"{name}.html"])
    kinds = {name: _TYPES.get(name.rpartition(".")[2]) for name in texts}
    return {name: Asset.of(text, kind) for name, text in texts.items() if (kind := kinds[name])}


ASSETS = _assets()


@_get("/")
@_get("/r/{identity}")
async def check_page(request: Request) -> Response:
    """A stored report is shown by the same page: who may read it is decided where it is read."""
    return ASSETS["check.html"].response(request)


@_get("/dashboard")
async def dashboard_page(request: Request) -> Response:
    return ASSETS["dashboard.html"].response(request)


@_get("/audit")
async def audit_page(request: Request) -> Response:
    return ASSETS["audit.html"].response(request)


@_get("/kb")
async def kb_page(request: Request) -> Response:
    return ASSETS["kb.html"].response(request)


@_get("/page/settings.json")
async def settings(held: Annotated[Service, Depends(service)]) -> Response:
    """What the page tells its reader: whether reports are kept and how much may be sent."""
    server = held.config.server
    told = {
        "version": __version__,
        "keep_reports": server.keep_reports,
        "keep_days": server.keep_days,
        "max_body_bytes": server.max_body_bytes,
        "max_source_bytes": min(held.config.limits.max_source_bytes, server.max_body_bytes),
    }
    return Response(json.dumps(told), headers={"Cache-Control": "no-cache"}, media_type="application/json")


@_get("/page/{name}")
async def asset(name: str, request: Request) -> Response:
    if name not in ASSETS or name.endswith(".html"):
        raise NotFound(f"the page has no file {name[:100]}")
    return ASSETS[name].response(request)
