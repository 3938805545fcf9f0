"""Around every request: its id, its span, its line in the log, its figures, and protecting headers."""

from __future__ import annotations

import json
import logging
import re
import time
import uuid
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundwire.metrics import Metrics
from groundwire.server.problems import Problem, tell
from groundwire.version import __version__

ACCESS = "groundwire.access"
LEFT = 499
"""The status in the log where the caller left before the answer."""

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_PROTECTING = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_IDENTITY = re.compile(r"[\w.:+/=@-]{1,128}", re.ASCII)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
_log = logging.getLogger(ACCESS)
_request_id: ContextVar[str] = ContextVar("groundwire_request_id", default="")


class WithRequestId(logging.Filter):
    """For a handler: what is logged for a request, on whichever thread, says for which."""

    def filter(self, record: logging.LogRecord) -> bool:
        identity, fields = _request_id.get(), getattr(record, "fields", None)
        if identity and fields is not None and "request_id" not in fields:
            record.fields = {**fields, "request_id": identity}
        return True


class HttpFigures:
    """The server's own figures, in the registry of the engine's."""

    def __init__(self, metrics: Metrics) -> None:
        from prometheus_client import Counter, Gauge, Histogram

        own = metrics.registry
        self.requests = Counter(
            "groundwire_http_requests", "Answered", ["method", "route", "status"], registry=own
        )
        self.seconds = Histogram(
            "groundwire_http_request_seconds", "From head to end", ["route"], registry=own, buckets=_SECONDS
        )
        self.in_flight = Gauge("groundwire_http_requests_in_flight", "Under way", registry=own)


class Telemetry:
    """The outermost layer: whatever breaks inside is logged here and answered as a problem."""

    def __init__(self, app: ASGIApp, figures: HttpFigures, texts: bool = False) -> None:
        self.app = app
        self._figures = figures
        self._texts = texts
        self._tracer = trace.get_tracer("groundwire", __version__)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        call = _Call(scope, _identity(headers), send)
        _request_id.set(call.identity)
        with (
            self._figures.in_flight.track_inprogress(),
            self._tracer.start_as_current_span(
                scope["method"], propagate.extract(headers), SpanKind.SERVER, _described(scope)
            ) as span,
        ):
            try:
                await self.app(scope, receive, call.send)
            except Exception as error:  # a bug: the caller hears that it is ours, the log where it is
                call.failure = error
                if call.status is not None:
                    raise
                broken = Problem("broken", "something is broken here; the log says what")
                await tell(broken, scope, receive, call.send)
            finally:
                self._finish(call, span)

    def _finish(self, call: _Call, span: Span) -> None:
        status = call.final_status
        route, method = _route(call.scope), call.scope["method"]
        known = method if method in _METHODS else "other"
        self._figures.requests.labels(known, route, str(status)).inc()
        self._figures.seconds.labels(route).observe(call.seconds)
        span.update_name(f"{known} {route}")
        span.set_attribute("http.route", route)
        span.set_attribute("http.response.status_code", status)
        failure = call.failure or call.state.get("failure")
        if failure is not None:
            span.record_exception(failure)
        if status >= 500:
            span.set_status(Status(StatusCode.ERROR))
        _write(call, status, route, failure, self._texts)


class _Call:
    """One request on its way."""

    def __init__(self, scope: Scope, identity: str, send: Send) -> None:
        self.scope = scope
        self.identity = identity
        self.status: int | None = None
        self.sent = 0
        self.failure: Exception | None = None
        self.state: dict[str, Any] = scope.setdefault("state", {})
        self.state["request_id"] = identity
        self._send = send
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    @property
    def final_status(self) -> int:
        return LEFT if self.status is None else self.status

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["x-request-id"] = self.identity
            for name, value in _PROTECTING.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        elif message["type"] == "http.response.body":
            self.sent += len(message.get("body", b""))
        await self._send(message)


def _identity(headers: Headers) -> str:
    """The caller's own id where it is one that can be logged; else a new one."""
    given = headers.get("x-request-id", "")
    return given if _IDENTITY.fullmatch(given) else uuid.uuid4().hex


def _described(scope: Scope) -> Mapping[str, str]:
    return {"http.request.method": scope["method"], "url.path": scope["path"], "url.scheme": scope["scheme"]}


def _route(scope: Scope) -> str:
    """The route's own template: a label must not grow with what callers type."""
    return getattr(scope.get("route"), "path", None) or "unmatched"


def _write(call: _Call, status: int, route: str, failure: Exception | None, texts: bool) -> None:
    """A line for the log; what users typed into the address only where texts are asked for."""
    level = logging.ERROR if failure is not None else logging.INFO
    if not _log.isEnabledFor(level):
        return
    caller, client = call.state.get("caller"), call.scope.get("client")
    fields: dict[str, object] = {
        "event": "request",
        "request_id": call.identity,
        "method": call.scope["method"],
        "route": route,
        "status": status,
        "seconds": round(call.seconds, 4),
        "bytes": call.sent,
        "caller": caller.name if caller else None,
        "client": client[0] if client else None,
    }
    if texts:
        fields |= {"path": call.scope["path"], "query": call.scope.get("query_string", b"").decode("latin-1")}
    if failure is not None:
        fields["error"] = f"{type(failure).__name__}: {failure}"
    bug = call.failure
    _log.log(level, json.dumps(fields), extra={"fields": fields}, exc_info=bug)
