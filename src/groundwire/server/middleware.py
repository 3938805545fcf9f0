"""The middleware: telemetry, framing, draining, bodies, disconnects and time limits, and the stack of them.

All are pure ASGI, so that streaming responses are not buffered.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundwire.config import Config, ServerConfig
from groundwire.metrics import Metrics
from groundwire.server.auth import AuthMiddleware, HttpMiddleware, KeyCache, rate_limiter, requires_keys, scope_of
from groundwire.server.problems import Problem, send_problem
from groundwire.version import __version__

# ---- request ids, traces, access log, metrics and security headers

ACCESS = "groundwire.access"
CLIENT_CLOSED = 499  # logged status of a request whose client disconnected before the response (as nginx does)

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


class TelemetryMiddleware(HttpMiddleware):
    """The outermost middleware: unhandled exceptions are logged here and answered with a problem."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry, log_paths: bool) -> None:
        super().__init__(app)
        labels = ["method", "route", "status"]
        self._requests = Counter("groundwire_http_requests", "Requests answered", labels, registry=registry)
        name, buckets = "groundwire_http_request_seconds", _LATENCY_BUCKETS
        self._seconds = Histogram(name, "Request duration", ["route"], registry=registry, buckets=buckets)
        self._in_flight = Gauge("groundwire_http_requests_in_flight", "Requests in flight", registry=registry)
        self._log_paths = log_paths
        self._tracer = trace.get_tracer("groundwire", __version__)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")  # the client's own, if it is safe to log
        call = _TrackedRequest(scope, given if _SAFE_ID.fullmatch(given) else uuid.uuid4().hex, send)
        attributes = {"http.request.method": scope["method"], "url.path": scope["path"], "url.scheme": scope["scheme"]}
        _request_id.set(call.identity)
        with (
            self._in_flight.track_inprogress(),
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
        self._requests.labels(known, route, str(status)).inc()
        self._seconds.labels(route).observe(call.seconds)
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


# ---- when a request ends early: its time is up, its client has gone, or the server is shutting down

_UNLIMITED_SCOPES = frozenset({"proxy", "rag", "rag:write"})
"""Their routes wait for a language model and have time limits of their own."""
_UNLIMITED_PATHS = frozenset({"/v1/guard"})  # routes of other scopes that wait for a language model
_SERVED_WHILE_DRAINING = frozenset({"/healthz", "/readyz", "/metrics"})
_CLOSE = {"connection": "close"}
_DRAINING = Problem("unavailable", "this server is shutting down", retry_after=1, headers=_CLOSE)
_CUT_OFF = Problem("unavailable", "this server shut down before the request was done", retry_after=1, headers=_CLOSE)


class ServerState:
    """The number of requests in flight, and whether the server is shutting down."""

    def __init__(self) -> None:
        self.draining = False
        self.in_flight = 0


class DrainMiddleware(HttpMiddleware):
    """Count requests; while the server drains, reject new ones and let the others finish."""

    def __init__(self, app: ASGIApp, state: ServerState) -> None:
        super().__init__(app)
        self._state = state

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in _SERVED_WHILE_DRAINING:
            await self.app(scope, receive, send)
            return
        if self._state.draining:
            await send_problem(_DRAINING, scope, receive, send)
            return
        self._state.in_flight += 1
        try:
            await self._call(scope, receive, send)
        finally:
            self._state.in_flight -= 1

    async def _call(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def track_start(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, track_start)
        except asyncio.CancelledError:
            # uvicorn cancels requests that outlast the grace period
            if started or not self._state.draining:
                raise
            await send_problem(_CUT_OFF, scope, receive, send)


class TimeoutMiddleware(HttpMiddleware):
    """Limit the time to the first response byte; streaming afterwards is not limited."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        super().__init__(app)
        self._seconds = seconds

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path in _UNLIMITED_PATHS or scope_of(path, scope["method"]) in _UNLIMITED_SCOPES:
            await self.app(scope, receive, send)
            return
        started = False

        async def lift_limit(message: Message) -> None:
            nonlocal started
            if not started:
                started = True
                limit.reschedule(None)
            await send(message)

        try:
            async with asyncio.timeout(self._seconds) as limit:
                await self.app(scope, receive, lift_limit)
        except TimeoutError:
            if started or not limit.expired():  # a TimeoutError of the application itself
                raise
            problem = Problem("timeout", f"no response within {self._seconds:g} s")
            await send_problem(problem, scope, receive, send)


_DISCONNECT: Message = {"type": "http.disconnect"}
_EXEMPT = frozenset({"/mcp"})
"""MCP clients hang up as soon as they have their response, and their session must survive that."""


class CancelOnDisconnectMiddleware(HttpMiddleware):
    """Once the request body has been read, listen for the disconnect and cancel the handler."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in _EXEMPT:
            await self.app(scope, receive, send)
            return
        listener = _DisconnectListener(receive, send)
        handler = asyncio.ensure_future(self.app(scope, listener.receive, listener.send))
        listener.on_disconnect = handler.cancel
        try:
            await handler
        except asyncio.CancelledError:
            handler.cancel()
            if not listener.disconnected:  # the server itself is stopping
                raise
        finally:
            await listener.stop()


class _DisconnectListener:
    """The messages of one request. After the end of the body only the disconnect can follow."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._response_sent = False
        self._listening: asyncio.Task[None] | None = None
        self._disconnected = asyncio.Event()
        self.on_disconnect: Callable[[], object] = lambda: None

    @property
    def disconnected(self) -> bool:
        return self._disconnected.is_set()

    async def receive(self) -> Message:
        if self._listening is not None:
            await self._disconnected.wait()
            return _DISCONNECT
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self._listening = asyncio.create_task(self._listen())
        elif message["type"] == "http.disconnect":
            self._disconnected.set()
        return message

    async def send(self, message: Message) -> None:
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._response_sent = True  # what runs after the response is not the client's to cancel

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._disconnected.set()
        if not self._response_sent:
            self.on_disconnect()

    async def stop(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            with suppress(asyncio.CancelledError):
                await self._listening


# ---- bodies, read whole before any work begins: a slow or large one holds neither the engine nor a place in its queue

MIN_BYTES_PER_SECOND = 64_000  # slowest accepted transfer: this many received bytes extend the deadline by a second
_MAX_FULL_SIZE_BODIES = 16  # bodies of the largest size that may be in memory at once
MAX_VALUES = 200_000  # entries of all lists and objects of a body together: each may become an error of its own
_CONTENT_TYPES = re.compile(r"application/(?:[\w.-]+\+)?json|application/x-ndjson|multipart/form-data")
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_BUSY = Problem("unavailable", "too many large bodies at once", retry_after=1, headers=_CLOSE)
_TWO_LENGTHS = Problem(
    "malformed", "a request has either content-length or transfer-encoding, not both", headers=_CLOSE
)


MAX_HEAD_BYTES = 65_536
_LONG_HEAD = Problem(
    "long-head", f"the address and the headers may have at most {MAX_HEAD_BYTES:,} bytes", headers=_CLOSE
)


class FramingMiddleware(HttpMiddleware):
    """Reject requests with a long head, or with two lengths of their body, before anything else is said to them.

    A proxy in front may believe the other length: what it takes for the body would be our next request.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = {name for name, _ in scope["headers"]}
        if b"content-length" in names and b"transfer-encoding" in names:
            await send_problem(_TWO_LENGTHS, scope, receive, send)
        elif _head_bytes(scope) > MAX_HEAD_BYTES:
            await send_problem(_LONG_HEAD, scope, receive, send)
        else:
            await self.app(scope, receive, send)


def _head_bytes(scope: Scope) -> int:
    address = len(scope["raw_path"]) + len(scope["query_string"])
    return address + sum(len(name) + len(value) for name, value in scope["headers"])


class BodyLimitMiddleware(HttpMiddleware):
    """Read each body and pass it on in one piece."""

    def __init__(self, app: ASGIApp, config: ServerConfig) -> None:
        super().__init__(app)
        self._max_bytes = config.max_body_bytes
        self._seconds = config.body_timeout
        self._bytes_in_memory = 0

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        body = self._rejected(scope, headers) or await self._read(receive)
        if isinstance(body, Problem):
            await send_problem(body, scope, receive, send)
        elif body is not None:  # None: the client disconnected before the end of the body
            pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

            async def replay() -> Message:
                return pending.pop() if pending else await receive()

            # The proxy forwards bodies unread, so they need not be JSON.
            proxied = scope_of(scope["path"], scope["method"]) == "proxy"
            problem = None if proxied else _find_problem(body, headers)
            try:
                if problem is not None:
                    await send_problem(problem, scope, receive, send)
                else:
                    await self.app(scope, replay, send)
            finally:
                self._bytes_in_memory -= len(body)

    def _rejected(self, scope: Scope, headers: Headers) -> Problem | None:
        """A problem that is known before the first byte of the body."""
        if "\x00" in scope["path"] or b"%00" in scope.get("query_string", b""):
            return Problem("malformed", "the URL contains a NUL character")  # databases reject it
        length = headers.get("content-length")
        if length is not None and length.isdecimal() and int(length) > self._max_bytes:
            return self._too_large()
        return None

    def _too_large(self) -> Problem:
        return Problem("too-large", f"a body may have at most {self._max_bytes:,} bytes", headers=_CLOSE)

    async def _read(self, receive: Receive) -> bytes | Problem | None:
        """The whole body, or None if the client disconnected. A returned body stays counted."""
        loop, pieces, size = asyncio.get_running_loop(), [], 0
        deadline, complete = loop.time() + self._seconds, False
        try:
            while not complete:
                async with asyncio.timeout_at(deadline + size / MIN_BYTES_PER_SECOND):
                    message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                piece: bytes = message.get("body", b"")
                pieces.append(piece)
                size, self._bytes_in_memory = size + len(piece), self._bytes_in_memory + len(piece)
                if size > self._max_bytes:
                    return self._too_large()
                if self._bytes_in_memory > self._max_bytes * _MAX_FULL_SIZE_BODIES:
                    return _BUSY
                complete = not message.get("more_body", False)
            return b"".join(pieces)
        except TimeoutError:
            detail = f"the body did not arrive within {self._seconds:g} s"
            return Problem("too-slow", detail, headers=_CLOSE)
        finally:
            self._bytes_in_memory -= 0 if complete else size


def _find_problem(body: bytes, headers: Headers) -> Problem | None:
    """A problem that makes a body unusable for every route."""
    if not body:
        return None
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if not _CONTENT_TYPES.fullmatch(media_type):
        detail = f"unsupported content type {media_type[:100]!r}" if media_type else "no content type given"
        return Problem("wrong-type", detail, "send content-type: application/json")
    if not media_type.endswith("json"):
        return None
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return Problem("malformed", f"the body is not UTF-8 (byte {error.start})")
    escaped = _ESCAPED_SURROGATE.search(body)
    long = sum(map(body.count, (b",", b"[", b"{"))) > MAX_VALUES  # at least as many as there are entries
    if not escaped and not long:
        return None
    try:
        value = json.loads(body)
        if long and _has_more_values(value, MAX_VALUES):
            return Problem("too-large", f"the lists and objects of a body may have at most {MAX_VALUES:,} entries")
        if escaped:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return Problem("malformed", "the body contains half a surrogate pair")
    except (ValueError, RecursionError):
        return None  # invalid JSON is reported by the route that parses it
    return None


def _has_more_values(value: object, limit: int) -> bool:
    """True if the lists and objects in parsed JSON have more than `limit` entries together."""
    containers, count = [value], 0
    while containers and count <= limit:
        match containers.pop():
            case dict() as fields:
                count += len(fields)
                containers.extend(fields.values())
            case list() as items:
                count += len(items)
                containers.extend(items)
    return count > limit


# ---- the stack

_REQUEST_HEADERS = (
    "authorization", "content-type", "x-request-id", "x-groundwire-key", "x-groundwire-store",
    "x-groundwire-share", "x-groundwire", "x-groundwire-mode", "x-groundwire-event", "x-groundwire-upstream",
    "openai-organization", "openai-project",
    # what the OpenAI SDK for browsers sends through the proxy
    *(f"x-stainless-{name}" for name in (
        "arch", "lang", "os", "package-version", "retry-count", "runtime", "runtime-version", "timeout",
    )),
)  # fmt: skip
_RESPONSE_HEADERS = (
    "x-request-id", "x-groundwire-report", "retry-after",
    *(f"x-groundwire-{name}" for name in (
        "mode", "status", "reason", "report-id", "claims", "flagged", "max-severity", "risk",
    )),
)  # fmt: skip


def middleware_stack(config: Config, metrics: Metrics, state: ServerState, keys: KeyCache) -> list[Middleware]:
    """The stack in the order in which a request passes it."""
    server = config.server
    cors = Middleware(
        CORSMiddleware,
        allow_origins=server.cors_origins,
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=_REQUEST_HEADERS,
        expose_headers=_RESPONSE_HEADERS,
    )
    return [
        Middleware(TelemetryMiddleware, registry=metrics.registry, log_paths=config.log.include_text),
        Middleware(FramingMiddleware),
        Middleware(DrainMiddleware, state=state),
        *([cors] if server.cors_origins else []),
        Middleware(
            AuthMiddleware, config=server, keys=keys if requires_keys(server) else None, limiter=rate_limiter(config)
        ),
        Middleware(BodyLimitMiddleware, config=server),
        Middleware(CancelOnDisconnectMiddleware),
        Middleware(TimeoutMiddleware, seconds=server.request_timeout),
    ]
