"""The Langfuse adapter with the real client, against a server that keeps what it is sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("langfuse")
pytestmark = pytest.mark.filterwarnings("ignore")

from langfuse import Langfuse  # noqa: E402
from tests.ecosystem.samples import GOOD, SOURCE, WRONG  # noqa: E402

from groundwire._loop import run  # noqa: E402
from groundwire.engine import Groundwire  # noqa: E402
from groundwire.integrations.evaluator import GroundednessChecker  # noqa: E402
from groundwire.integrations.langfuse import score_trace  # noqa: E402

TRACE = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a server, and the scores that it got."""
    events: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path == "/api/public/scores":
                events.extend(json.loads(body))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(b'{"id": "s1"}')

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}", events
    http.shutdown()
    http.server_close()


def send(server: tuple[str, list[dict[str, Any]]], *found: Any) -> list[dict[str, Any]]:
    """The scores that arrive, in order."""
    address, scores = server
    # The client keeps one connection per public key for the whole process.
    client = Langfuse(public_key=f"pk-{address}", secret_key="sk", base_url=address)
    for one in found:
        score_trace(client, one, trace_id=TRACE, observation_id="0123456789abcdef")
    client.flush()
    client.shutdown()
    return scores


def test_scores_of_a_trace_arrive_with_reasons_and_claims(server: tuple[str, list[dict[str, Any]]]) -> None:
    checker = GroundednessChecker(backend="fake")
    scores = send(server, checker.check(WRONG, SOURCE))
    assert [(score["name"], score["value"], score["dataType"]) for score in scores] == [
        ("groundedness", 0.0, "NUMERIC"),
        ("groundedness_label", "ungrounded", "CATEGORICAL"),
    ]
    assert {score["traceId"] for score in scores} == {TRACE}
    assert scores[0]["comment"].startswith("NOT_IN_CONTEXT: The tower is 999")
    assert scores[0]["metadata"]["claims"][0]["text"] == WRONG


def test_a_report_that_was_not_checked_is_labelled_and_has_no_number(server: tuple[str, list[dict[str, Any]]]) -> None:
    scores = send(server, GroundednessChecker(backend="fake").check("", SOURCE))
    assert [(score["name"], score["value"]) for score in scores] == [("groundedness_label", "unchecked")]


def test_a_repaired_answer_is_sent_as_a_correction(server: tuple[str, list[dict[str, Any]]]) -> None:
    async def repaired() -> Any:
        async with Groundwire(backend="fake") as engine:
            report = await engine.check(f"{GOOD} {WRONG}", SOURCE)
            return await engine.fix(report, SOURCE)

    scores = send(server, run(repaired()))
    assert scores[-1]["dataType"] == "CORRECTION"
    assert GOOD in scores[-1]["value"]
