"""What stands around the routes, from the outside in; each is plain ASGI, so that answers stream through."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from groundwire.server.middleware.auth import Guard, Keyring, limiter_for, wants_keys
from groundwire.server.middleware.body import Bodies
from groundwire.server.middleware.disconnect import Leaving
from groundwire.server.middleware.telemetry import HttpFigures, Telemetry
from groundwire.server.middleware.timeout import Draining, Timely
from groundwire.server.service import Service
from groundwire.stores.keys import ApiKey, Keys

_MAY_SEND = (
    "authorization", "content-type", "x-request-id", "x-groundwire-key", "x-groundwire-store",
    "x-groundwire", "x-groundwire-event", "x-groundwire-upstream", "openai-organization", "openai-project",
    *(f"x-stainless-{what}" for what in (
        "arch", "lang", "os", "package-version", "retry-count", "runtime", "runtime-version", "timeout",
    )),
)  # fmt: skip
_MAY_READ = (
    "x-request-id", "x-groundwire-report", "retry-after",
    *(f"x-groundwire-{what}" for what in (
        "mode", "status", "reason", "report-id", "claims", "flagged", "max-severity", "risk",
    )),
)  # fmt: skip


def surround(app: FastAPI, held: Service) -> None:
    """Who is added last stands outermost: read it from the bottom."""
    settings = held.config.server

    def standing() -> dict[str, ApiKey]:
        return Keys(held.database).standing()

    keyring = Keyring(standing) if wants_keys(settings) else None
    app.add_middleware(Timely, seconds=settings.request_timeout)
    app.add_middleware(Leaving)
    app.add_middleware(Bodies, config=settings)
    app.add_middleware(Guard, config=settings, keyring=keyring, limiter=limiter_for(held.config))
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=_MAY_SEND,
            expose_headers=_MAY_READ,
        )
    app.add_middleware(Draining, life=held.life)
    app.add_middleware(Telemetry, figures=HttpFigures(held.metrics), texts=held.config.log.source_text)
