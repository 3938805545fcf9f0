"""The OpenAPI document: FastAPI's own, with authentication and problem documents described."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from groundwire.server.middleware.auth import PUBLIC, scope_of
from groundwire.server.problems import KINDS, MEDIA_TYPE, FieldError, ProblemDocument
from groundwire.stores.keys import SCOPES

SUMMARY = "How many bits of evidence stand behind each claim an LLM makes."
_SCOPES = ", ".join(f"`{scope}`" for scope in SCOPES)
_PROBLEMS = "\n".join(
    f'| <span id="problem-{kind.name}">`{kind.name}`</span> | {kind.status} | {kind.title} |' for kind in KINDS.values()
)
DESCRIPTION = f"""Send an answer and its sources; get back, claim by claim, the probability with the evidence
(`p1`) and without it (`p0`), the bits of evidence required and observed, and a verdict.

**Authentication.** On loopback no key is needed. Elsewhere send one as `Authorization: Bearer gw_…` (or in
`X-Groundwire-Key`); `groundwire keys add NAME --scope check` creates one. Scopes: {_SCOPES}.

**Errors** are problem documents (RFC 9457): `type` names the kind, `detail` says what happened in one line,
`errors` lists invalid fields. A backend that fails is not an error of a check: its claims are `UNCHECKED`,
which is not the same as fine.

**Request ids.** `X-Request-Id` is taken over if you send one, and returned with every response. `traceparent`
is honoured too.

**Limits.** Above a key's rate or the server's capacity the status is 429 with `Retry-After`.

| problem | status | meaning |
|---|---|---|
{_PROBLEMS}
"""

TAGS: list[dict[str, str]] = [
    {"name": "check", "description": "Verify answers, claims and reasoning traces."},
    {"name": "facts", "description": "Facts that were verified before they were stored."},
    {"name": "knowledge", "description": "The server's knowledge base."},
    {"name": "reports", "description": "Stored reports."},
    {"name": "rag", "description": "The chatbot over your documents."},
    {"name": "sources", "description": "Extract the text of files."},
    {"name": "estimate", "description": "Bare probabilities, for another groundwire."},
    {"name": "operation", "description": "Health, readiness and metrics."},
]
_KEY = "key"
_REFERENCE = re.compile(r'("#/components/schemas/)(\w+)"')


def use_custom_openapi(app: FastAPI) -> None:
    """Replace the application's `openapi()`."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = openapi_document(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def operation_id(route: APIRoute) -> str:
    """The name that generated clients use, such as `post_claims_verify`."""
    words = re.findall(r"\w+", route.path_format.removeprefix("/v1"))
    return "_".join([min(route.methods or {"get"}).lower(), *words])


def openapi_document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        routes=app.routes,
        tags=app.openapi_tags,
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["FieldError"] = FieldError.model_json_schema()
    schemas["Problem"] = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas["Problem"].pop("$defs", None)
    components["securitySchemes"] = {_KEY: {"type": "http", "scheme": "bearer", "bearerFormat": "gw_…"}}
    for path, method, operation in operations(document):
        if scope_of(path, method.upper()) != PUBLIC:
            operation["security"] = [{_KEY: []}, {}]
        _use_problems(operation)
    return _without_suffix(document)


def _without_suffix(document: dict[str, Any]) -> dict[str, Any]:
    """Schemas are called `Report`, not `ReportOut`: the suffixes In and Out only tell classes apart here."""
    names = document["components"]["schemas"]
    short = {name: name.removesuffix("Out").removesuffix("In") for name in names}
    assert len(set(short.values())) == len(names), "two schemas would get the same name"
    document["components"]["schemas"] = {short.get(name, name): schema for name, schema in names.items()}
    text = _REFERENCE.sub(lambda found: f'{found[1]}{short.get(found[2], found[2])}"', json.dumps(document))
    renamed: dict[str, Any] = json.loads(text)
    return renamed


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def _use_problems(operation: dict[str, Any]) -> None:
    """Replace FastAPI's own description of validation errors, which this server does not send."""
    found = operation["responses"].get("422", {}).get("content", {})
    if "HTTPValidationError" in str(found.get("application/json", "")):
        found.clear()
        found[MEDIA_TYPE] = {"schema": {"$ref": "#/components/schemas/Problem"}}
