"""A server spoken to from Python gives the package's own records, and its errors are the package's own."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loopback import Loopback, Reply, Request
from tests.serving import Served, served

import groundwire
from groundwire.client import AsyncClient, ChatEvent, Client, chat_events
from groundwire.errors import (
    BackendDown,
    BackendError,
    BackendTimeout,
    ConfigError,
    FactNotGrounded,
    GroundwireError,
    InputError,
    Overloaded,
)
from groundwire.reports.json import report_object
from groundwire.sse import SseParser
from groundwire.types import ClaimVerification, FactStatus, HallucinationReport, OutputStatus, Status, TraceAudit

ANSWER = "The tower is 450 metres tall [S0]. It stands in Paris. Is it red? See [S9]: it is iron [S9]."
SOURCES = {"S0": "The tower is 330 metres tall.", "city": '{"name": "Paris", "rivers": ["Seine"]}'}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("client")
    with served({"store.url": str(folder / "store.db"), "rag.path": str(folder / "rag.db")}) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[Client]:
    with Client(server.url) as opened:
        yield opened


@pytest.fixture
def stub() -> Iterator[Loopback]:
    """A server that answers whatever a test wants."""
    opened = Loopback()
    yield opened
    opened.close()


class TestTheSameRecords:
    @pytest.mark.parametrize(
        "beside", [{}, {"history": [{"role": "assistant", "content": "It stands in Rome."}]}, {"profile": "rag"}]
    )
    def test_a_report_is_the_one_the_package_makes(self, client: Client, beside: dict[str, Any]) -> None:
        served = client.check(ANSWER, SOURCES, question="What of it?", **beside)
        here = groundwire.check(ANSWER, SOURCES, question="What of it?", response_id="response", **beside)
        assert report_object(served) == report_object(here)
        assert [claim.key for claim in served.claims] == [claim.key for claim in here.claims]
        assert [claim.evidence for claim in served.claims] == [claim.evidence for claim in here.claims]
        assert (served.response, served.should_retry, served.retry_guidance) == (
            here.response, here.should_retry, here.retry_guidance,
        )  # fmt: skip
        assert [replace(gap, gap_bits=0) for gap in served.gaps] == [replace(g, gap_bits=0) for g in here.gaps]

    def test_a_repaired_answer_comes_with_its_edits(self, client: Client) -> None:
        served = client.check(ANSWER, SOURCES, fix=True)
        here = groundwire.check(ANSWER, SOURCES, fix=True)
        assert served.repair is not None
        assert here.repair is not None
        assert served.repair.text == here.repair.text
        assert [(e.start, e.end, e.after) for e in served.repair.edits] == [
            (e.start, e.end, e.after) for e in here.repair.edits
        ]

    def test_one_claim(self, client: Client) -> None:
        found = client.verify_claim("The tower is 330 metres tall.", SOURCES, 0.8)
        assert (found.status, found.confidence) == (Status.ENTAILED, 0.8)

    def test_the_claims_of_a_text(self, client: Client) -> None:
        found = client.verify_claims("The tower is 330 metres tall. It stands in Paris.", SOURCES)
        assert [claim.claim_id for claim in found] == ["c1", "c2"]

    def test_a_reasoning(self, client: Client) -> None:
        steps: list[dict[str, object] | str] = [
            {"claim": "The tower is 330 metres tall.", "cites": ["S0"]},
            "The tower is over 300 metres tall.",
        ]
        served = client.audit_trace(steps, "Is it tall?", SOURCES, "It is over 300 metres tall.")
        here = groundwire.audit_trace(steps, "Is it tall?", SOURCES, "It is over 300 metres tall.")
        assert (served.flagged, served.post_hoc) == (here.flagged, here.post_hoc)
        assert [step.verdict.evidence for step in served.steps] == [step.verdict.evidence for step in here.steps]
        assert [step.premises for step in served.steps] == [step.premises for step in here.steps]

    def test_detect_returns_flags(self, client: Client) -> None:
        found = client.detect("Acme was founded in 1990.", history=["Assistant: Acme was founded in 1987."])
        assert [flag.content for flag in found.flags] == ["Acme was founded in 1990."]

    def test_facts_go_in_and_can_be_read(self, client: Client) -> None:
        kept = client.remember("The tower is 330 metres tall.", SOURCES)
        assert kept.status is FactStatus.VERIFIED
        assert kept in client.facts(limit=5, status="verified")
        with pytest.raises(FactNotGrounded) as refused:
            client.remember("The tower is 900 metres tall.", SOURCES)
        assert refused.value.gap_bits is not None

    def test_outputs_at_once_and_later(self, client: Client) -> None:
        found = client.verify_output("The tower is 450 metres tall.", SOURCES, wait=20)
        assert (found.status, found.flagged) == (OutputStatus.VERIFIED, True)
        assert found.report is not None
        assert found.report.claims[0].evidence[0].text == SOURCES["S0"]
        assert client.output(found.id).feedback == found.feedback

    def test_a_stored_report(self, client: Client, server: Served) -> None:
        answer = server.client.post("/v1/check", json={"response": ANSWER, "sources": SOURCES})
        kept = client.report(answer.headers["x-groundwire-report"])
        assert isinstance(kept, HallucinationReport)
        assert kept == client.check(ANSWER, SOURCES)
        audit = server.client.post("/v1/traces/audit", json={"steps": ["It is tall."], "sources": SOURCES})
        assert isinstance(client.report(audit.headers["x-groundwire-report"]), TraceAudit)

    def test_a_chat_and_its_stream(self, client: Client) -> None:
        assert client.chat("How deep is the sea?")["sources"] == []
        events = list(client.chat_stream("How deep is the sea?"))
        assert [events[0].kind, events[-1].kind] == ["sources", "check"]

    def test_whether_it_lives(self, client: Client) -> None:
        assert client.health() == {"status": "ok", "version": groundwire.__version__}

    async def test_awaited_it_says_the_same(self, client: Client, server: Served) -> None:
        async with AsyncClient(server.url) as waiting:
            found, claim, events = await asyncio.gather(
                waiting.check(ANSWER, SOURCES),
                waiting.verify_claim("The tower is 330 metres tall.", SOURCES),
                _all(waiting, "How deep is the sea?"),
            )
        assert found == await asyncio.to_thread(client.check, ANSWER, SOURCES)
        assert claim.status is Status.ENTAILED
        assert events[-1].kind == "check"

    def test_one_awaited_client_serves_several_loops(self, server: Served) -> None:
        client = AsyncClient(server.url)
        for _ in range(2):
            assert asyncio.run(client.health())["status"] == "ok"

    @pytest.mark.parametrize("text", ["half \ud800 a pair", "\x00\x01", "🙂" * 100, "\u2028 \x85 end"])
    def test_any_text_is_answered_or_refused_in_a_line(self, client: Client, text: str) -> None:
        found: ClaimVerification | GroundwireError
        try:
            found = client.verify_claim(f"It is {text}.", {"S0": f"It is {text}."})
        except GroundwireError as error:
            found = error
        assert (
            (f"It is {text}." == found.claim_text) if isinstance(found, ClaimVerification) else "\n" not in str(found)
        )


async def _all(client: AsyncClient, question: str) -> list[ChatEvent]:
    return [event async for event in client.chat_stream(question)]


class TestErrors:
    def test_the_message_of_the_server_is_kept(self, client: Client) -> None:
        with pytest.raises(InputError) as found:
            client.check("", SOURCES)
        assert str(found.value) == "the answer is empty"
        with pytest.raises(InputError, match="target"):
            client.check(ANSWER, SOURCES, target=7.0)
        with pytest.raises(InputError, match="nothing"):
            client.output("../../v1/facts")

    def test_a_key_is_sent_and_a_missing_one_is_said(self, tmp_path: Any, stub: Loopback) -> None:
        settings = {"server.auth": "always", "hallucination.backend.type": "fake"}
        with served(settings) as locked, Client(locked.url) as stranger, pytest.raises(InputError, match="no API key"):
            stranger.check(ANSWER, SOURCES)
        stub.script(lambda _: Reply({"flags": []}))
        with Client(stub.url, api_key="gw_secret") as known:
            known.detect("It is red.")
            assert "gw_secret" not in repr(known.__dict__)
        assert stub.requests[0].headers["authorization"] == "Bearer gw_secret"

    @pytest.mark.parametrize(
        ("status", "kind"),
        [(400, InputError), (413, InputError), (403, InputError), (500, BackendError), (502, BackendError),
         (504, BackendTimeout), (408, BackendTimeout), (503, BackendDown), (429, Overloaded)],
    )  # fmt: skip
    def test_every_status_is_an_error_of_ours(self, stub: Loopback, status: int, kind: type[GroundwireError]) -> None:
        stub.script(lambda _: Reply({"detail": "said so", "hint": "do this"}, status=status))
        with Client(stub.url) as client, pytest.raises(kind, match="said so: do this"):
            client.detect("It is red.")

    @pytest.mark.parametrize("body", ["<html>", "[]", "null", '{"claims": 3}', '{"claims": []}', ""])
    def test_unexpected_bodies_are_errors(self, stub: Loopback, body: str) -> None:
        stub.script(lambda _: Reply(body))
        with Client(stub.url) as client, pytest.raises(BackendDown, match="unexpected response"):
            client.verify_claim("It is red.", "It is red.")

    def test_an_html_error_page_is_reported_by_its_status(self, stub: Loopback) -> None:
        stub.script(lambda _: Reply("<html>Bad gateway</html>", status=502))
        with Client(stub.url) as client, pytest.raises(BackendError, match="answered 502"):
            client.detect("It is red.")

    def test_a_server_that_is_not_there(self) -> None:
        with Client("http://127.0.0.1:9") as client, pytest.raises(BackendDown, match=r"cannot reach 127\.0\.0\.1:9"):
            client.detect("It is red.")

    async def test_an_error_in_a_stream_is_raised(self, stub: Loopback) -> None:
        problem = '{"status": 502, "detail": "the model is gone"}'
        stub.script(lambda _: Reply(f'event: token\ndata: {{"text": "a"}}\n\nevent: error\ndata: {problem}\n\n'))
        with Client(stub.url) as client:
            stream = client.chat_stream("What?")
            assert next(stream).data == {"text": "a"}
            with pytest.raises(BackendError, match="the model is gone"):
                next(stream)
        stub.script(lambda _: Reply({"detail": "too much"}, status=429))
        async with AsyncClient(stub.url) as waiting:
            with pytest.raises(Overloaded, match="too much"):
                await _all(waiting, "What?")

    def test_an_address_that_is_none(self) -> None:
        with pytest.raises(ConfigError):
            Client("not an address")


class TestPatience:
    @staticmethod
    def full(times: int, wait: str = "2") -> Any:
        """A server that is full so many times."""
        left = [times]

        def answer(_: Request) -> Reply:
            left[0] -= 1
            if left[0] >= 0:
                return Reply({"detail": "full"}, status=429, headers={"retry-after": wait})
            return Reply({"flags": []})

        return answer

    def test_a_full_server_is_asked_again_when_it_says(self, stub: Loopback) -> None:
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        stub.script(self.full(2))
        with Client(stub.url, sleep=sleep) as client:
            assert client.detect("It is red.").flags == ()
        assert slept == [2.0, 2.0]

    async def test_awaited_too(self, stub: Loopback) -> None:
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        stub.script(self.full(1, "7"))
        async with AsyncClient(stub.url, sleep=sleep) as client:
            assert (await client.detect("It is red.")).flags == ()
        assert slept == [7.0]

    @pytest.mark.parametrize(
        ("wait", "more", "asked"), [("2", {"retries": 1}, 2), ("20", {}, 2), ("31", {}, 1), ("2", {"retries": 0}, 1)]
    )
    def test_but_not_for_ever(self, stub: Loopback, wait: str, more: dict[str, Any], asked: int) -> None:
        async def sleep(seconds: float) -> None:
            """Without waiting."""

        stub.script(self.full(99, wait))
        with Client(stub.url, sleep=sleep, **more) as client, pytest.raises(Overloaded) as told:
            client.detect("It is red.")
        assert told.value.retry_after == float(wait)
        assert len(stub.requests) == asked


class TestEvents:
    @given(
        texts=st.lists(st.text(max_size=20), max_size=5),
        cuts=st.lists(st.integers(0, 400), max_size=8),
        ending=st.sampled_from(["\n", "\r\n"]),
    )
    def test_however_the_bytes_come_the_events_are_the_same(
        self, texts: list[str], cuts: list[int], ending: str
    ) -> None:
        import json

        lines = [
            f"event: token{ending}data: {json.dumps({'text': text}, ensure_ascii=False)}{ending}{ending}"
            for text in texts
        ]
        sent = b": a remark\n" + "".join(lines).encode("utf-8", "replace")
        parser, start = SseParser(), 0
        found: list[ChatEvent] = []
        for cut in [*sorted(cuts), len(sent)]:
            found += chat_events(parser.feed(sent[start:cut]))
            start = max(start, cut)
        wanted = [text.encode("utf-8", "replace").decode() for text in texts]
        assert [event.data["text"] for event in found] == wanted


def test_it_needs_nothing_of_the_server() -> None:
    blocked = "import sys; sys.modules.update(dict.fromkeys(['fastapi', 'uvicorn', 'starlette', 'opentelemetry']))"
    code = f"{blocked}; from groundwire.client import AsyncClient, Client; Client('http://localhost:1').close()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_help_shows_parameters_and_result() -> None:
    shown = inspect.signature(Client.verify_claim)
    assert list(shown.parameters) == ["self", "claim", "evidence", "confidence", "question", "profile"]
    assert shown.return_annotation == "ClaimVerification"


def test_both_clients_can_do_the_same() -> None:
    def names(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")} - {"close", "aclose"}

    assert names(Client) == names(AsyncClient)
