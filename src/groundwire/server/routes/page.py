"""The web pages (`/`, `/audit`, `/r/{id}`) and the interactive API documentation (`/docs`).

Everything is served from this host: HTML, CSS and ES modules of this package, and Swagger UI from the package
fastapi-offline.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files

from fastapi import APIRouter, Request, Response
from fastapi.openapi.docs import get_swagger_ui_html

from groundwire.server.deps import ServiceDep
from groundwire.server.middleware import CSP
from groundwire.server.problems import NotFound
from groundwire.version import __version__

router = APIRouter(include_in_schema=False)
_get = partial(router.api_route, methods=["GET", "HEAD"])

_PAGES = {"check": "Check", "audit": "Audit"}
_MEDIA_TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "html": "text/html"}
_SWAGGER_FILES = ("swagger-ui-bundle.js", "swagger-ui.css")
_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class StaticAsset:
    """A file as it is sent, compressed once."""

    body: bytes
    gzipped: bytes
    media_type: str
    etag: str

    @classmethod
    def of(cls, body: bytes, media_type: str) -> StaticAsset:
        digest = hashlib.sha256(body).hexdigest()[:20]
        return cls(body, gzip.compress(body, 9, mtime=0), f"{media_type}; charset=utf-8", f'"{digest}"')

    def response(self, request: Request) -> Response:
        headers = {"ETag": self.etag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if self.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return Response(self.gzipped, headers=headers, media_type=self.media_type)
        return Response(self.body, headers=headers, media_type=self.media_type)


def _load_assets() -> Mapping[str, StaticAsset]:
    """All files of `page/` by name; a page is the shell with its own part filled in."""
    folder = files("groundwire.server").joinpath("page")
    texts = {item.name: item.read_text(encoding="utf-8") for item in folder.iterdir() if item.is_file()}
    # Shared with the HTML reports, so that both look the same.
    design = files("groundwire.reports").joinpath("templates", "design.css")
    texts["design.css"] = design.read_text(encoding="utf-8")
    shell = texts.pop("shell.html")
    for name, title in _PAGES.items():
        page = shell.replace("{{title}}", title).replace("{{script}}", name)
        texts[f"{name}.html"] = page.replace("{{main}}", texts[f"{name}.html"])
    types = {name: _MEDIA_TYPES.get(name.rpartition(".")[2]) for name in texts}
    return {name: StaticAsset.of(text.encode(), kind) for name, text in texts.items() if (kind := types[name])}


ASSETS = _load_assets()


@_get("/")
@_get("/r/{identity}")
async def check_page(request: Request) -> Response:
    """The same page shows a stored report; `/v1/reports` decides who may read it."""
    return ASSETS["check.html"].response(request)


@_get("/audit")
async def audit_page(request: Request) -> Response:
    return ASSETS["audit.html"].response(request)


@_get("/page/settings.json")
async def settings(service: ServiceDep) -> Response:
    """Settings that the page shows: the storage of reports and the size limits."""
    server = service.config.server
    shown = {
        "version": __version__,
        "keep_reports": server.keep_reports,
        "keep_days": server.keep_days,
        "max_body_bytes": server.max_body_bytes,
        "max_source_bytes": min(service.config.limits.max_source_bytes, server.max_body_bytes),
    }
    return Response(json.dumps(shown), headers={"Cache-Control": "no-cache"}, media_type="application/json")


@_get("/page/{name}")
async def asset(name: str, request: Request) -> Response:
    if name not in ASSETS or name.endswith(".html"):
        raise NotFound(f"no file {name[:100]!r}")
    return ASSETS[name].response(request)


@_get("/docs")
async def docs() -> Response:
    """Swagger UI over /openapi.json, without a request to any other host."""
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="groundwire: HTTP API",
        swagger_js_url="/docs/swagger-ui-bundle.js",
        swagger_css_url="/docs/swagger-ui.css",
        swagger_favicon_url="/page/icon.svg",
        swagger_ui_parameters={"validatorUrl": None},  # its badge would call validator.swagger.io
    )
    script = _INLINE_SCRIPT.search(bytes(page.body).decode())
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    # FastAPI's page starts Swagger UI in an inline script, and Swagger UI sets styles on elements.
    csp = CSP.replace("script-src 'self'", f"script-src 'self' 'sha256-{digest}'")
    page.headers["Content-Security-Policy"] = csp.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
    return page


@_get("/docs/{name}")
async def docs_asset(name: str, request: Request) -> Response:
    if name not in _SWAGGER_FILES:
        raise NotFound(f"no file {name[:100]!r}")
    return _swagger_asset(name).response(request)


@cache
def _swagger_asset(name: str) -> StaticAsset:
    body = files("fastapi_offline").joinpath("static", name).read_bytes()
    return StaticAsset.of(body, _MEDIA_TYPES[name.rpartition(".")[2]])
