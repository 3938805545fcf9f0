"""Request ids, traces, access log, metrics and security headers for every request."""

from __future__ import annotations

import json
import logging
import re
import time
import uuid
from contextvars import ContextVar
from typing import Any

from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundwire.metrics import Metrics
from groundwire.server.problems import Problem, send_problem
from groundwire.version import __version__

ACCESS = "groundwire.access"
CLIENT_CLOSED = 499
"""Logged status of a request whose client disconnected before the response (as nginx does)."""

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_SECURITY_HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_SAFE_ID = re.compile(r"[\w.:+/=@-]{1,128}", re.ASCII)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_LATENCY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
_log = logging.getLogger(ACCESS)
_request_id: ContextVar[str] = ContextVar("groundwire_request_id", default="")


class RequestIdFilter(logging.Filter):
    """Add the request id to log records, whichever thread they come from."""

    def filter(self, record: logging.LogRecord) -> bool:
        identity, fields = _request_id.get(), getattr(record, "fields", None)
        if identity and fields is not None and "request_id" not in fields:
            record.fields = {**fields, "request_id": identity}
        return True


class HttpMetrics:
    """Metrics of the HTTP layer, in the registry of the engine."""

    def __init__(self, metrics: Metrics) -> None:
        from prometheus_client import Counter, Gauge, Histogram

        own = metrics.registry
        self.requests = Counter(
            "groundwire_http_requests", "Requests answered", ["method", "route", "status"], registry=own
        )
        self.seconds = Histogram(
            "groundwire_http_request_seconds", "Request duration", ["route"], registry=own, buckets=_LATENCY_BUCKETS
        )
        self.in_flight = Gauge("groundwire_http_requests_in_flight", "Requests in flight", registry=own)


class TelemetryMiddleware:
    """The outermost middleware: unhandled exceptions are logged here and answered with a problem."""

    def __init__(self, app: ASGIApp, metrics: HttpMetrics, log_paths: bool = False) -> None:
        self.app = app
        self._metrics = metrics
        self._log_paths = log_paths
        self._tracer = trace.get_tracer("groundwire", __version__)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")  # the client's own, if it is safe to log
        call = _TrackedRequest(scope, given if _SAFE_ID.fullmatch(given) else uuid.uuid4().hex, send)
        attributes = {"http.request.method": scope["method"], "url.path": scope["path"], "url.scheme": scope["scheme"]}
        _request_id.set(call.identity)
        with (
            self._metrics.in_flight.track_inprogress(),
            self._tracer.start_as_current_span(
                scope["method"], propagate.extract(headers), SpanKind.SERVER, attributes
            ) as span,
        ):
            try:
                await self.app(scope, receive, call.send)
            except Exception as error:  # a bug; the traceback goes to the log
                call.failure = error
                if call.status is not None:
                    raise
                problem = Problem("broken", "internal error; the server's log has the details")
                await send_problem(problem, scope, receive, call.send)
            finally:
                self._finish(call, span)

    def _finish(self, call: _TrackedRequest, span: Span) -> None:
        status = call.final_status
        # A label must not grow with what clients send: the route's template, not the path.
        route = getattr(call.scope.get("route"), "path", None) or "unmatched"
        known = call.scope["method"] if call.scope["method"] in _METHODS else "other"
        self._metrics.requests.labels(known, route, str(status)).inc()
        self._metrics.seconds.labels(route).observe(call.seconds)
        span.update_name(f"{known} {route}")
        span.set_attribute("http.route", route)
        span.set_attribute("http.response.status_code", status)
        failure = call.failure or call.state.get("failure")
        if failure is not None:
            span.record_exception(failure)
        if status >= 500:
            span.set_status(Status(StatusCode.ERROR))
        _write_log(call, status, route, failure, self._log_paths)


class _TrackedRequest:
    """One request and what is known of its response so far."""

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
        return CLIENT_CLOSED if self.status is None else self.status

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["x-request-id"] = self.identity
            for name, value in _SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        elif message["type"] == "http.response.body":
            self.sent += len(message.get("body", b""))
        await self._send(message)


def _write_log(call: _TrackedRequest, status: int, route: str, failure: Exception | None, log_paths: bool) -> None:
    """One line per request; path and query, which users type, only if `log_paths` is set."""
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
    if log_paths:
        fields |= {"path": call.scope["path"], "query": call.scope.get("query_string", b"").decode("latin-1")}
    if failure is not None:
        fields["error"] = f"{type(failure).__name__}: {failure}"
    _log.log(level, json.dumps(fields), extra={"fields": fields}, exc_info=call.failure)
