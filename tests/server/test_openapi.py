"""The OpenAPI document: worth reading, true, and nothing it allows breaks the server."""

from __future__ import annotations

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

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "2"))
"""`make test-fuzz` asks for many more."""
WRITTEN = ("/v1/guard", "/v1/rag/chat")
"""A language model writes what these answer; their own tests bring one."""


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_nothing_sent_by_the_document_or_against_it_breaks_the_server(
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
            assert not (method == "post" and "requestBody" not in operation), path


def test_every_error_is_a_problem(document: Any) -> None:
    for path, methods in document["paths"].items():
        for operation in methods.values():
            for status, answer in operation["responses"].items():
                if status.startswith(("4", "5")):
                    assert list(answer["content"]) == ["application/problem+json"], (path, status)


def test_every_example_works(plain: Served, document: Any) -> None:
    """What people copy from the page."""
    schemas = document["components"]["schemas"]
    for path in ("check", "claims/verify", "traces/audit", "detect", "facts", "estimate", "estimate/batch"):
        body = document["paths"][f"/v1/{path}"]["post"]["requestBody"]["content"]["application/json"]
        (example,) = schemas[body["schema"]["$ref"].rpartition("/")[2]]["examples"]
        assert plain.client.post(f"/v1/{path}", json=example).status_code in (200, 201, 422), path


def test_the_page_of_it_needs_nobody_else(plain: Served, document: Any) -> None:
    page = plain.client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    links = re.findall(r'(?:src|href)="([^"]*)"', page.text)
    assert all(link.startswith(("/", "#", "data:")) for link in links)
    assert "<script" not in page.text
    assert plain.client.get("/docs/style.css").headers["content-type"].startswith("text/css")
    for path in document["paths"]:
        assert path in page.text
    for anchor in (link[1:] for link in links if link.startswith("#")):
        assert f'id="{anchor}"' in page.text


def test_what_users_type_is_no_markup_on_the_page(plain: Served) -> None:
    answer = plain.client.get("/docs", params={"x": "<script>alert(1)</script>"})
    assert "alert" not in answer.text
