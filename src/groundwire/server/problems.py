"""Errors as problem documents (RFC 9457): one table from exception classes to kinds of problems."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from groundwire import errors
from groundwire.errors import FactNotGrounded, GroundwireError, InputError, StoreError

MEDIA_TYPE = "application/problem+json"
_MAX_FIELD_ERRORS = 20
_MAX_READ_ERRORS = 1000  # a body of numbers where texts belong has an error for each of them
"""Field errors listed in one response; a wrong type in a long list would repeat itself a thousand times."""
_MAX_INSTANCE_CHARS = 2_000  # a path may be as long as a request's head
_STORE_RETRY_SECONDS = 5.0
_MESSAGES = {"extra_forbidden": "unknown field", "model_attributes_type": "must be a JSON object"}
_UNPARSED = "the body is nested too deeply, or a number in it is too long"
DOCUMENTED: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem document",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
"""The OpenAPI `responses` of every route: all of its errors."""
_DETAILS = {404: "nothing at this path", 405: "this path does not support the method"}


class NotFound(InputError):
    """The requested resource does not exist."""


class Forbidden(GroundwireError):
    """The caller lacks a scope."""


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One kind of problem. `name` is part of the `type` in responses, so it never changes."""

    name: str
    status: int
    title: str


_KINDS = (
    ProblemKind("malformed", 400, "The request cannot be read"),
    ProblemKind("no-key", 401, "An API key is needed"),
    ProblemKind("forbidden", 403, "Not allowed"),
    ProblemKind("not-found", 404, "Not found"),
    ProblemKind("wrong-method", 405, "Method not allowed"),
    ProblemKind("too-slow", 408, "The request came too slowly"),
    ProblemKind("conflict", 409, "Conflict"),
    ProblemKind("too-large", 413, "The body is too large"),
    ProblemKind("wrong-type", 415, "Unsupported content type"),
    ProblemKind("unusable", 422, "The request is not valid"),
    ProblemKind("not-grounded", 422, "The fact is not supported by its evidence"),
    ProblemKind("too-many", 429, "Too many requests"),
    ProblemKind("long-head", 431, "The address and the headers are too long"),
    ProblemKind("broken", 500, "Internal error"),
    ProblemKind("not-installed", 501, "A component is not installed on this server"),
    ProblemKind("backend-failed", 502, "The verifier behind the server failed"),
    ProblemKind("unavailable", 503, "Temporarily unavailable"),
    ProblemKind("timeout", 504, "Timed out"),
)
KINDS: Mapping[str, ProblemKind] = {kind.name: kind for kind in _KINDS}
_BY_STATUS = {kind.status: kind.name for kind in reversed(_KINDS)} | {422: "unusable"}

_ERRORS: tuple[tuple[type[GroundwireError], str], ...] = (
    (NotFound, "not-found"),
    (Forbidden, "forbidden"),
    (errors.ConfigError, "broken"),
    (InputError, "unusable"),
    (errors.MissingExtra, "not-installed"),
    (StoreError, "unavailable"),
    (errors.Overloaded, "too-many"),
    (FactNotGrounded, "not-grounded"),
    (errors.BackendTimeout, "timeout"),
    (errors.RateLimited, "unavailable"),
    (errors.QueryRefused, "unusable"),
    (errors.BackendDown, "backend-failed"),
    (errors.BackendError, "backend-failed"),
    (GroundwireError, "broken"),
)
"""The first class that matches decides."""


class FieldError(BaseModel):
    """One invalid field of a request."""

    pointer: str = Field(description="Where in the request: `/sources/S0`, or `?limit`.")
    detail: str


class ProblemDocument(BaseModel):
    """The body of every error response, as `application/problem+json` (RFC 9457)."""

    model_config = ConfigDict(title="Problem")

    type: str = Field(description="The kind of problem; /docs lists them.")
    title: str
    status: int
    detail: str = Field(description="What happened, in one line.")
    instance: str = Field(description="The path of the request.")
    request_id: str = Field(description="Also in the header x-request-id and in the server's log.")
    hint: str | None = Field(default=None, description="How to fix it.")
    errors: list[FieldError] | None = Field(default=None, description="Invalid fields, one by one.")
    retry_after: int | None = Field(default=None, description="Seconds, as in the header Retry-After.")
    code: str | None = Field(default=None, description="`ErrFactNotGrounded` if the memory gate refused a fact.")
    gap_bits: float | None = Field(default=None, description="Bits of evidence missing (not-grounded).")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem that occurred, ready to be sent."""

    kind: str
    detail: str
    hint: str = ""
    errors: tuple[tuple[str, str], ...] = ()
    retry_after: float | None = None
    code: str | None = None
    gap_bits: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        return KINDS[self.kind].status

    def response(self, path: str, request_id: str) -> Response:
        kind = KINDS[self.kind]
        wait = None if self.retry_after is None else max(1, math.ceil(self.retry_after))
        fields: dict[str, object] = {
            "type": f"/docs#problem-{kind.name}",
            "title": kind.title,
            "status": kind.status,
            "detail": self.detail,
            "instance": path[:_MAX_INSTANCE_CHARS],
            "request_id": request_id,
            "hint": self.hint or None,
            "errors": [{"pointer": at, "detail": what} for at, what in self.errors] or None,
            "retry_after": wait,
            "code": self.code,
            "gap_bits": None if self.gap_bits is None else round(self.gap_bits, 4),
        }
        present = {name: value for name, value in fields.items() if value is not None}
        headers = dict(self.headers) | ({} if wait is None else {"retry-after": str(wait)})
        body = json.dumps(present, ensure_ascii=False).encode("utf-8", "backslashreplace")
        return Response(body, kind.status, headers, MEDIA_TYPE)


def problem_of(error: GroundwireError) -> Problem:
    """The problem that an exception is reported as."""
    kind = next(name for known, name in _ERRORS if isinstance(error, known))
    if kind == "broken":  # the server's configuration is for its log, not for its callers
        return Problem(kind, "this server is not configured for that")
    if isinstance(error, StoreError):
        return Problem(kind, "the store is not available", retry_after=_STORE_RETRY_SECONDS)
    return Problem(
        kind,
        error.message,
        error.hint,
        retry_after=getattr(error, "retry_after", None),
        code=error.status if isinstance(error, FactNotGrounded) else None,
        gap_bits=getattr(error, "gap_bits", None),
    )


def problem_response(request: Request, problem: Problem) -> Response:
    """For routes."""
    return problem.response(request.scope["path"], getattr(request.state, "request_id", ""))


async def send_problem(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """For middleware."""
    identity = scope.get("state", {}).get("request_id", "")
    await problem.response(scope["path"], identity)(scope, receive, send)


def handle_errors(app: FastAPI) -> None:
    """Respond to every exception of a route with a problem document."""
    app.add_exception_handler(GroundwireError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, GroundwireError)
    problem = problem_of(error)
    if problem.status >= 500:
        request.state.failure = error
    return problem_response(request, problem)


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(one["type"] == "json_invalid" for one in found):
        reason = str(found[0].get("ctx", {}).get("error", "")) or "syntax error"
        return problem_response(request, Problem("malformed", f"the body is not JSON: {reason}"))
    places = [(_pointer(one["loc"], error.body), _message(one)) for one in found[:_MAX_READ_ERRORS]]
    errors = tuple(_deepest(places)[:_MAX_FIELD_ERRORS])
    where, what = errors[0]
    return problem_response(request, Problem("unusable", f"{where}: {what}" if where else what, errors=errors))


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = _BY_STATUS.get(error.status_code, "broken" if error.status_code >= 500 else "malformed")
    detail = str(error.detail)
    known = error.status_code in set(HTTPStatus)
    if known and detail == HTTPStatus(error.status_code).phrase:  # Starlette's default text only repeats the status
        detail = _DETAILS.get(error.status_code, detail)
    elif detail == "There was an error parsing the body":
        detail = _UNPARSED
    return problem_response(request, Problem(kind, detail, headers=error.headers or {}))


def _message(one: Mapping[str, Any]) -> str:
    if one["type"] == "missing":
        return "the body is empty" if one["loc"] == ("body",) else f"'{one['loc'][-1]}' is missing"
    message: str = _MESSAGES.get(one["type"]) or one["msg"].removeprefix("Value error, ")
    return message


def _pointer(location: Sequence[int | str], body: object) -> str:
    """A JSON pointer into the body, or ?name for a parameter, without Pydantic's names of union branches.

    >>> _pointer(("body", "sources", "dict[str,str]", "a/b"), {"sources": {"a/b": 5}})
    '/sources/a~1b'
    >>> _pointer(("query", "limit"), None), _pointer(("body",), None)
    ('?limit', '')
    """
    place, *path = location
    if place in ("query", "path", "header", "cookie"):
        return "?" + ".".join(map(str, path))
    pointer, here = "", body
    for part in path:
        child = _child(here, part)
        if child is not _MISSING:
            pointer += "/" + str(part).replace("~", "~0").replace("/", "~1")
            here = child
    return pointer


_MISSING = object()


def _child(here: object, part: int | str) -> object:
    if isinstance(here, dict):
        return here.get(part, _MISSING)
    if isinstance(here, list) and isinstance(part, int) and 0 <= part < len(here):
        return here[part]
    return _MISSING


def _deepest(errors: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Of the errors of a union, keep those of the branch that matched furthest into the value."""
    found = dict(reversed(errors))
    outer = {where[: slash.start()] for where in found for slash in re.finditer("/", where)}
    return [(where, what) for where, what in reversed(found.items()) if where not in outer or not where]
