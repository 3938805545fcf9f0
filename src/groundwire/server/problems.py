"""Errors as problem documents (RFC 9457): one table from what went wrong to what a caller is told."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from groundwire.errors import (
    BackendDown,
    BackendError,
    BackendTimeout,
    ConfigError,
    FactNotGrounded,
    GroundwireError,
    InputError,
    MissingExtra,
    Overloaded,
    QueryRefused,
    RateLimited,
    StoreError,
)

MEDIA_TYPE = "application/problem+json"
_SHOWN_ERRORS = 20
_STORE_AGAIN = 5.0
_WORDS = {"extra_forbidden": "there is no such field", "model_attributes_type": "a JSON object is wanted"}
_UNPARSED = "the body is nested too deeply, or a number in it is too long"
_USUAL = {404: "there is nothing at this path", 405: "this path takes other methods"}


class NotFound(InputError):
    """There is nothing under the name that was asked for."""


class Forbidden(GroundwireError):
    """Whoever asks may not."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of problem: its short name, its status and what it means."""

    name: str
    status: int
    title: str


_KINDS = (
    Kind("malformed", 400, "The body cannot be read"),
    Kind("no-key", 401, "An API key is needed"),
    Kind("forbidden", 403, "Not allowed"),
    Kind("not-found", 404, "There is no such thing here"),
    Kind("wrong-method", 405, "The method does not fit the address"),
    Kind("too-slow", 408, "The request came too slowly"),
    Kind("conflict", 409, "It is in the way of something else"),
    Kind("too-large", 413, "The body is too large"),
    Kind("wrong-type", 415, "The body is of a kind that is not read here"),
    Kind("unusable", 422, "What was given cannot be used"),
    Kind("not-grounded", 422, "The evidence does not carry the fact"),
    Kind("too-many", 429, "Too many requests"),
    Kind("broken", 500, "Something is broken here"),
    Kind("not-installed", 501, "A part is not installed on this server"),
    Kind("backend-failed", 502, "The verifier behind the server failed"),
    Kind("unavailable", 503, "Not available now"),
    Kind("timeout", 504, "It took too long"),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _KINDS}
_BY_STATUS = {kind.status: kind.name for kind in reversed(_KINDS)} | {422: "unusable"}

_ERRORS: tuple[tuple[type[GroundwireError], str], ...] = (
    (NotFound, "not-found"),
    (Forbidden, "forbidden"),
    (ConfigError, "broken"),
    (InputError, "unusable"),
    (MissingExtra, "not-installed"),
    (StoreError, "unavailable"),
    (Overloaded, "too-many"),
    (FactNotGrounded, "not-grounded"),
    (BackendTimeout, "timeout"),
    (RateLimited, "unavailable"),
    (QueryRefused, "unusable"),
    (BackendDown, "backend-failed"),
    (BackendError, "backend-failed"),
    (GroundwireError, "broken"),
)
"""The first class that fits decides."""


class Invalid(BaseModel):
    """One thing that is wrong with a request."""

    pointer: str = Field(description="Where in the request: `/sources/S0`, or `?limit`.")
    detail: str


class ProblemDocument(BaseModel):
    """What every error answers, as `application/problem+json` (RFC 9457)."""

    model_config = ConfigDict(title="Problem")

    type: str = Field(description="What kind of problem it is; the address explains it.")
    title: str
    status: int
    detail: str = Field(description="What happened, in one line.")
    instance: str = Field(description="The path that was asked for.")
    request_id: str = Field(description="Also in the header x-request-id and in the server's log.")
    hint: str | None = Field(default=None, description="What helps.")
    errors: list[Invalid] | None = Field(default=None, description="What is wrong, field by field.")
    retry_after: int | None = Field(default=None, description="Seconds, as in the header Retry-After.")
    gap_bits: float | None = Field(default=None, description="What the evidence lacks (not-grounded).")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem about to be told."""

    kind: str
    detail: str
    hint: str = ""
    errors: tuple[tuple[str, str], ...] = ()
    retry_after: float | None = None
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
            "instance": path,
            "request_id": request_id,
            "hint": self.hint or None,
            "errors": [{"pointer": at, "detail": what} for at, what in self.errors] or None,
            "retry_after": wait,
            "gap_bits": None if self.gap_bits is None else round(self.gap_bits, 4),
        }
        told = {name: value for name, value in fields.items() if value is not None}
        headers = dict(self.headers) | ({} if wait is None else {"retry-after": str(wait)})
        body = json.dumps(told, ensure_ascii=False).encode("utf-8", "backslashreplace")
        return Response(body, kind.status, headers, MEDIA_TYPE)


def problem_of(error: GroundwireError) -> Problem:
    """What a caller is told of an error of ours."""
    kind = next(name for known, name in _ERRORS if isinstance(error, known))
    if kind == "broken":  # how this server is set up is for its log, not for its callers
        return Problem(kind, "this server cannot do that as it is set up")
    if isinstance(error, StoreError):
        return Problem(kind, "the store cannot be used now", retry_after=_STORE_AGAIN)
    return Problem(
        kind,
        error.message,
        error.hint,
        retry_after=getattr(error, "retry_after", None),
        gap_bits=getattr(error, "gap_bits", None),
    )


def told(request: Request, problem: Problem) -> Response:
    """The answer of a route."""
    return problem.response(request.scope["path"], getattr(request.state, "request_id", ""))


async def tell(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """The answer of what stands around the routes."""
    identity = scope.get("state", {}).get("request_id", "")
    await problem.response(scope["path"], identity)(scope, receive, send)


def handle_errors(app: FastAPI) -> None:
    """Have every error of a route answered as a problem document."""
    app.add_exception_handler(GroundwireError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, GroundwireError)
    problem = problem_of(error)
    if problem.status >= 500:
        request.state.failure = error
    return told(request, problem)


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(one["type"] == "json_invalid" for one in found):
        said = str(found[0].get("ctx", {}).get("error", "")) or "it is no JSON"
        return told(request, Problem("malformed", f"the body is not JSON: {said}"))
    places = [(_pointer(one["loc"], error.body), _said(one)) for one in found]
    errors = tuple(_deepest(places)[:_SHOWN_ERRORS])
    where, what = errors[0]
    return told(request, Problem("unusable", f"{where}: {what}" if where else what, errors=errors))


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = _BY_STATUS.get(error.status_code, "broken" if error.status_code >= 500 else "malformed")
    said = _USUAL.get(error.status_code) if error.detail == _phrase(error.status_code) else None
    said = _UNPARSED if error.detail == "There was an error parsing the body" else said
    return told(request, Problem(kind, said or str(error.detail), headers=error.headers or {}))


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in set(HTTPStatus) else ""


def _said(one: Mapping[str, Any]) -> str:
    words: str = _WORDS.get(one["type"]) or one["msg"].removeprefix("Value error, ")
    if one["type"] == "missing":
        return "the body is empty" if one["loc"] == ("body",) else f"'{one['loc'][-1]}' is missing"
    return words


def _pointer(location: Sequence[int | str], body: object) -> str:
    """A JSON pointer into the body; a parameter as ?name. What only names a branch of a type is left out.

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
        inside = _held(here, part)
        if inside is not _NOTHING:
            pointer += "/" + str(part).replace("~", "~0").replace("/", "~1")
            here = inside
    return pointer


_NOTHING = object()


def _held(here: object, part: int | str) -> object:
    if isinstance(here, dict):
        return here.get(part, _NOTHING)
    if isinstance(here, list) and isinstance(part, int) and 0 <= part < len(here):
        return here[part]
    return _NOTHING


def _deepest(errors: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Where a value may be of several types, the type it comes nearest to says most."""
    found = dict(reversed(errors))
    within = [where for where in found if any(other.startswith(f"{where}/") for other in found)]
    return [(where, what) for where, what in reversed(found.items()) if where not in within or not where]


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route: these problems, and those that any request may meet."""
    usual = (400, 401, 403, 408, 413, 415, 422, 429, 500, 503, 504)
    return {status: _documented(status) for status in sorted({*usual, *statuses})}


def reading_problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The same for a route without a body."""
    return {status: _documented(status) for status in sorted({400, 401, 403, 422, 429, 500, 503, *statuses})}


def _documented(status: int) -> dict[str, Any]:
    kinds = [kind for kind in _KINDS if kind.status == status]
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        "description": ", or: ".join(kind.title for kind in kinds),
        "content": {MEDIA_TYPE: {"schema": schema}},
    }
