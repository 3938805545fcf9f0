"""The OpenAPI document: complete and correct, and no request it allows breaks the server."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.serving import Served

from groundwire.server.problems import KINDS

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "2"))
"""`make test-fuzz` asks for many more."""
WRITTEN = ("/v1/guard", "/v1/rag/chat")
"""These need a language model; their own tests provide one."""


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_no_request_inside_or_outside_the_schema_breaks_the_server(
    plain: Served, mode: schemathesis.GenerationMode
) -> None:
    described = schemathesis.openapi.from_url(f"{plain.url}/openapi.json")
    few = settings(
        max_examples=EXAMPLES,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    tried = 0
    for found in described.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        if operation.path in WRITTEN:
            continue
        with suppress(Unsatisfiable):  # without a parameter there is nothing to break

            @few
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case: schemathesis.Case[Any]) -> None:
                case.call_and_validate(checks=CHECKS)

            ask()
            tried += 1
    assert tried > 10


@pytest.fixture(scope="module")
def document(plain: Served) -> Any:
    return plain.client.get("/openapi.json").json()


def test_every_operation_is_described(document: Any) -> None:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], path
            assert operation["tags"], path
            assert operation["operationId"], path
            needs_body = method == "post" and not path.endswith("/share")
            assert "requestBody" in operation or not needs_body, path


def test_every_error_is_a_problem(document: Any) -> None:
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert list(operation["responses"]["default"]["content"]) == ["application/problem+json"], path
            assert not [status for status in operation["responses"] if status.startswith(("4", "5"))], path


def test_every_example_works(plain: Served, document: Any) -> None:
    schemas = document["components"]["schemas"]
    for path in ("check", "claims/verify", "traces/audit", "detect", "facts", "estimate", "estimate/batch"):
        body = document["paths"][f"/v1/{path}"]["post"]["requestBody"]["content"]["application/json"]
        (example,) = schemas[body["schema"]["$ref"].rpartition("/")[2]]["examples"]
        assert plain.client.post(f"/v1/{path}", json=example).status_code in (200, 201, 422), path


def test_the_docs_page_loads_nothing_from_other_hosts(plain: Served) -> None:
    page = plain.client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    links = re.findall(r'(?:src|href)="([^"]*)"', page.text)
    assert links
    for link in links:
        assert link.startswith("/"), link
        assert plain.client.get(link).status_code == 200, link
    assert "/openapi.json" in page.text


def test_the_policy_of_the_docs_page_allows_its_own_inline_script_only(plain: Served) -> None:
    page = plain.client.get("/docs")
    (script,) = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = page.headers["content-security-policy"]
    assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


def test_other_files_of_the_docs_assets_are_not_served(plain: Served) -> None:
    assert plain.client.get("/docs/redoc.standalone.js").status_code == 404


def test_every_kind_of_problem_is_documented(document: Any) -> None:
    for name in KINDS:
        assert f'id="problem-{name}"' in document["info"]["description"]
