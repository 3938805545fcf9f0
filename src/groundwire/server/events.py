"""Answers that come as server-sent events: one written, and a failure told as the last of them."""

from __future__ import annotations

import json

from fastapi import Request

from groundwire.errors import GroundwireError
from groundwire.server.problems import problem_of


def sse(name: str, data: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


def failed(request: Request, error: GroundwireError) -> bytes:
    """The problem document that an answer would have been, had it not begun already."""
    path, request_id = request.scope["path"], getattr(request.state, "request_id", "")
    return sse("error", json.loads(bytes(problem_of(error).response(path, request_id).body)))
