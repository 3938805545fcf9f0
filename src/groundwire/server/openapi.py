"""The OpenAPI document: what the server is, how to get in, and every error in one shape."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from groundwire.server.middleware.auth import PUBLIC, scope_of
from groundwire.server.problems import MEDIA_TYPE, Invalid, ProblemDocument
from groundwire.stores.keys import SCOPES

SUMMARY = "How many bits of evidence stand behind each claim an LLM makes."
_LISTED = ", ".join(f"`{scope}`" for scope in SCOPES)
DESCRIPTION = f"""Send an answer and what it rests on; get back, claim by claim, how likely each is with its
evidence (`p1`) and without it (`p0`), how many bits the evidence gives and how many it takes, and a verdict.

**Getting in.** On loopback no key is needed. Elsewhere send one as `Authorization: Bearer gw_…` (or in
`X-Groundwire-Key`); `groundwire keys add NAME --scope check` makes one. Scopes: {_LISTED}.

**Errors** are problem documents (RFC 9457): `type` names the kind, `detail` says what happened in one line,
`errors` what is wrong field by field. A backend that fails is no error of a check: its claims are
`UNCHECKED`, which is not the same as fine.

**Ids.** `X-Request-Id` is taken over where you send one, and comes back on every answer. `traceparent` is
taken up too.

**Limits.** Over a key's rate or the server's capacity the answer is 429 with `Retry-After`."""

TAGS: list[dict[str, str]] = [
    {"name": "check", "description": "Answers, claims and reasonings, judged."},
    {"name": "facts", "description": "Facts that were verified before they were kept."},
    {"name": "knowledge", "description": "What the server knows."},
    {"name": "reports", "description": "Reports that were kept, and what they come to."},
    {"name": "rag", "description": "The chatbot over your documents."},
    {"name": "sources", "description": "Files as sources."},
    {"name": "estimate", "description": "Bare probabilities, for another groundwire."},
    {"name": "operation", "description": "For whoever runs the server."},
]
_KEY = "key"
_REFERENCE = re.compile(r'("#/components/schemas/)(\w+)"')


def describe(app: FastAPI) -> None:
    """Have the application tell of itself in this way."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = document(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def operation_id(route: APIRoute) -> str:
    """`post_claims_verify`: what code made from the document calls it."""
    words = re.findall(r"\w+", route.path_format.removeprefix("/v1"))
    return "_".join([min(route.methods or {"get"}).lower(), *words])


def document(app: FastAPI) -> dict[str, Any]:
    made = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        routes=app.routes,
        tags=app.openapi_tags,
    )
    parts = made.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for gone in ("HTTPValidationError", "ValidationError"):
        schemas.pop(gone, None)
    schemas["Invalid"] = Invalid.model_json_schema()
    schemas["Problem"] = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas["Problem"].pop("$defs", None)
    parts["securitySchemes"] = {_KEY: {"type": "http", "scheme": "bearer", "bearerFormat": "gw_…"}}
    for path, method, operation in operations(made):
        if scope_of(path, method.upper()) != PUBLIC:
            operation["security"] = [{_KEY: []}, {}]
        _use_problems(operation)
    return _renamed(made)


def _renamed(made: dict[str, Any]) -> dict[str, Any]:
    """Answers are called `Report`, not `ReportOut`: what tells classes apart here is no news elsewhere."""
    names = made["components"]["schemas"]
    short = {name: name.removesuffix("Out") for name in names if name.removesuffix("Out") not in names}
    text = json.dumps({**made, "components": {**made["components"], "schemas": {}}})
    renamed: dict[str, Any] = json.loads(_refer(text, short))
    schemas = {short.get(name, name): schema for name, schema in names.items()}
    renamed["components"]["schemas"] = json.loads(_refer(json.dumps(schemas), short))
    return renamed


def _refer(text: str, short: dict[str, str]) -> str:
    return _REFERENCE.sub(lambda found: found[1] + short.get(found[2], found[2]) + '"', text)


def operations(made: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def _use_problems(operation: dict[str, Any]) -> None:
    """What FastAPI says of validation errors by itself is not what this server answers."""
    found = operation["responses"].get("422", {}).get("content", {})
    if "HTTPValidationError" in str(found.get("application/json", "")):
        found.clear()
        found[MEDIA_TYPE] = {"schema": {"$ref": "#/components/schemas/Problem"}}
