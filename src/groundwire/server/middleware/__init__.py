"""The middleware stack, outermost first. All are pure ASGI so that streaming responses are not buffered."""

from __future__ import annotations

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from groundwire.config import Config
from groundwire.metrics import Metrics
from groundwire.server.middleware.auth import AuthMiddleware, KeyCache, rate_limiter, requires_keys
from groundwire.server.middleware.body import BodyLimitMiddleware, FramingMiddleware
from groundwire.server.middleware.telemetry import HttpMetrics, TelemetryMiddleware
from groundwire.server.middleware.timeout import (
    CancelOnDisconnectMiddleware,
    DrainMiddleware,
    ServerState,
    TimeoutMiddleware,
)

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
        Middleware(TelemetryMiddleware, metrics=HttpMetrics(metrics), log_paths=config.log.include_text),
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
