"""What the routes share: the service, JSON and SSE.

The schemas of the responses are in `groundwire.reports.schema`.
"""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from groundwire.errors import GroundwireError
from groundwire.server.problems import problem_of, problem_response
from groundwire.server.service import Service


def get_service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


ServiceDep = Annotated[Service, Depends(get_service)]


def json_response(found: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON formatted as the command line prints it."""
    return raw_json_response(json.dumps(found, ensure_ascii=False, indent=2), status, headers)


def raw_json_response(text: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response from text that is JSON already."""
    body = f"{text}\n".encode("utf-8", "backslashreplace")
    return Response(body, status, headers, "application/json")


def sse_event(name: str, data: object) -> bytes:
    """A server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


def error_event(request: Request, error: GroundwireError) -> bytes:
    """A failure after a streamed response has begun: the problem document as the last event."""
    return sse_event("error", json.loads(bytes(problem_response(request, problem_of(error)).body)))
