"""Hostile requests over raw sockets: each gets a clear response, and the server goes on."""

from __future__ import annotations

import json
import socket
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.datastructures import Headers
from tests.serving import Served

from groundwire.server.middleware import _find_problem

FINE = {"response": "It has 40 employees.", "context": "It has 40 employees."}
JSON = {"content-type": "application/json"}


def raw(server: Served, data: bytes, *, more: tuple[bytes, ...] = ()) -> tuple[int, Any]:
    """Send bytes as they are and read until the server closes; the status and the body as JSON."""
    at = urlsplit(server.url)
    with socket.create_connection((at.hostname, at.port), timeout=20) as connection:
        connection.sendall(data)
        for piece in more:
            connection.sendall(piece)
        received = b""
        while piece := connection.recv(65536):
            received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body) if body.strip() else None


def head(server: Served, *fields: str, path: str = "/v1/check") -> bytes:
    host = urlsplit(server.url).netloc
    lines = [f"POST {path} HTTP/1.1", f"host: {host}", "content-type: application/json", *fields]
    return "\r\n".join([*lines, "", ""]).encode()


def goes_on(server: Served) -> None:
    assert server.client.post("/v1/check", json=FINE).json()["flagged"] is False


def test_a_declared_length_above_the_limit_is_rejected_unread(plain: Served) -> None:
    status, problem = raw(plain, head(plain, "content-length: 9000000000"))
    assert (status, problem["type"]) == (413, "/docs#problem-too-large")
    goes_on(plain)


def test_a_chunked_body_above_the_limit_is_rejected(plain: Served) -> None:
    pieces = (b"%x\r\n%b\r\n" % (50_000, b"x" * 50_000),) * 4
    status, _ = raw(plain, head(plain, "transfer-encoding: chunked"), more=(*pieces, b"1\r\nx\r\n"))
    assert status == 413
    goes_on(plain)


@pytest.mark.parametrize("path", ["/v1/check", "/nowhere"])
def test_two_lengths_are_rejected_and_the_connection_closed(plain: Served, path: str) -> None:
    two = head(plain, "content-length: 5", "transfer-encoding: chunked", path=path)
    hidden = head(plain, "content-length: 0", path="/healthz").replace(b"POST", b"GET")
    status, problem = raw(plain, two + b"0\r\n\r\n" + hidden)  # `raw` parses all that comes as one response
    assert (status, problem["status"]) == (400, 400)
    assert "not both" in problem["detail"]
    goes_on(plain)


@pytest.mark.parametrize("size", [70_000, 900_000])
@pytest.mark.parametrize("part", ["path", "query", "header"])
def test_a_long_head_is_rejected_with_a_problem_document(plain: Served, part: str, size: int) -> None:
    long = "x" * size
    path = {"path": f"/{long}", "query": f"/v1/check?{long}", "header": "/v1/check"}[part]
    headers = [f"x-long: {long}"] if part == "header" else []
    status, problem = raw(plain, head(plain, "content-length: 0", *headers, path=path))
    assert (status, problem["type"]) == (431, "/docs#problem-long-head")
    assert len(problem["instance"]) <= 2_000
    goes_on(plain)


def test_a_slow_body_times_out(hasty: Served) -> None:
    status, problem = raw(hasty, head(hasty, "content-length: 500"), more=(b'{"response"',))
    assert (status, problem["title"]) == (408, "The request came too slowly")
    assert hasty.service.admission.inside == 0


def test_hundreds_of_slow_clients_do_not_block_others(plain: Served) -> None:
    at = urlsplit(plain.url)
    slow = [socket.create_connection((at.hostname, at.port)) for _ in range(200)]
    for connection in slow:
        connection.sendall(b"POST /v1/check HTTP/1.1\r\n")
    goes_on(plain)
    for connection in slow:
        connection.close()


def test_a_disconnect_during_the_body_is_not_an_error(plain: Served) -> None:
    at = urlsplit(plain.url)
    with socket.create_connection((at.hostname, at.port)) as connection:
        connection.sendall(head(plain, "content-length: 500") + b'{"resp')
    goes_on(plain)
    assert 'status="500"' not in plain.client.get("/metrics").text


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"response": "caf\xe9"}', 400, "not UTF-8 (byte 17)"),
        (b'{"response": "\xed\xa0\x80", "context": "x"}', 400, "not UTF-8"),
        (b'{"response": "a \\ud83d b", "context": "x"}', 400, "half a surrogate pair"),
        (b'{"response": "a", "history": [{"content": ["\\udc00"]}]}', 400, "half a surrogate pair"),
        (b'{"response": ', 400, "not JSON"),
        (b"", 422, "the body is empty"),
        (b"null", 422, "must be a JSON object"),
        (b"[]", 422, "must be a JSON object"),
        (b"[" * 100_000, 400, "nested too deeply"),
        (b'{"response": "a", "history": ' + b"[" * 5000 + b"]" * 5000 + b"}", 4, ""),
        (b'{"response": "a", "context": "b", "target": NaN}', 422, "/target"),
        (b'{"response": "a", "context": "b", "target": 1e999}', 422, "/target"),
        (b'{"response": "a", "context": "b", "target": ' + b"9" * 5000 + b"}", 4, ""),
        (b'{"response": "a", "context": "b", "id": 99999999999999999999}', 422, "/id"),
        (b'{"response": 5, "context": "b"}', 422, "/response"),
        (b'{"response": "a", "sources": {"": 5}}', 422, "/sources"),
    ],
)
def test_unusable_bodies_are_problems(plain: Served, body: bytes, status: int, said: str) -> None:
    answer = plain.client.post("/v1/check", content=body, headers=JSON)
    assert answer.status_code == status or (status == 4 and answer.status_code in (400, 422))
    assert answer.headers["content-type"] == "application/problem+json"
    assert said in answer.json()["detail"]


def test_escaped_surrogate_pairs_are_accepted(plain: Served) -> None:
    body = b'{"response": "It is \\ud83d\\ude00 here.", "context": "It is \\ud83d\\ude00 here."}'
    answer = plain.client.post("/v1/check", content=body, headers=JSON)
    assert answer.json()["flagged"] is False


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/xml"])
def test_other_content_types_are_rejected(plain: Served, kind: str) -> None:
    """A page of another site can make a browser send these without a preflight request."""
    headers = {"content-type": kind} if kind else {}
    answer = plain.client.post("/v1/check", content=json.dumps(FINE).encode(), headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (415, "/docs#problem-wrong-type")


def test_a_charset_parameter_is_accepted(plain: Served) -> None:
    headers = {"content-type": "application/json; charset=utf-8"}
    assert plain.client.post("/v1/check", content=json.dumps(FINE), headers=headers).status_code == 200


def test_values_of_a_body_are_counted_wherever_they_are() -> None:
    many = {"history": [{"content": [[1] * 50_000] * 2}], "sources": {str(number): 1 for number in range(100_000)}}
    problem = _find_problem(json.dumps(many).encode(), Headers(JSON))
    assert problem is not None
    assert problem.kind == "too-large"
    text = {"response": "x", "context": "a, b, " * 200_000}  # the commas of a text separate no values
    assert _find_problem(json.dumps(text).encode(), Headers(JSON)) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [("history", [1] * 60_000), ("sources", [{}] * 60_000), ("sources", {str(number): 1 for number in range(15_000)})],
)
def test_thousands_of_invalid_fields_cost_little(plain: Served, field: str, value: object) -> None:
    started = time.process_time()
    found = plain.client.post("/v1/check", json={"response": "x", field: value})
    assert found.status_code == 422
    assert found.json()["errors"][0]["pointer"] == f"/{field}/0"
    assert time.process_time() - started < 5  # when each error was compared with each, 8,000 took 10 s
    goes_on(plain)
