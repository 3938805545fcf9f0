"""The service: loops for short and long requests, and feedback attached to reports."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.serving import Served, served

from groundwire._loop import check_cancelled
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import Overloaded, StoreError
from groundwire.server.service import LONG_CHARS, FeedbackEnricher, Service
from groundwire.stores.database import Database
from groundwire.stores.feedback import FeedbackReport, FeedbackStore, ReviewedVerdict
from groundwire.types import Feedback, HallucinationReport, Status


@pytest.fixture
def service() -> Service:
    fake = {"hallucination.backend.type": "fake", "server.keep_reports": False}
    return Service(Config.load(overrides=fake))


async def test_long_requests_neither_block_short_ones_nor_take_their_places(service: Service) -> None:
    begun, read = threading.Event(), threading.Event()

    async def long() -> str:
        begun.set()
        await asyncio.sleep(0)
        read.wait()  # blocks its loop
        return "long"

    async def short() -> str:
        return "short"

    service.start()
    try:
        waiting = [asyncio.create_task(service.work(long, 10**9)) for _ in range(2)]
        await asyncio.to_thread(begun.wait)
        assert await service.work(short, LONG_CHARS) == "short"
        with pytest.raises(Overloaded):
            await service.work(long, 10**9)
        read.set()
        assert await asyncio.gather(*waiting) == ["long", "long"]
    finally:
        read.set()
        await service.aclose()


@pytest.mark.parametrize("size", [1, LONG_CHARS + 1])
async def test_close_gives_a_blocked_worker_up(service: Service, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, end = threading.Event(), threading.Event()

    async def blocked() -> None:
        begun.set()
        end.wait()  # as a computation that never asks whether it was cancelled

    monkeypatch.setattr("groundwire.server.service._CLOSE_SECONDS", 0.05)
    service.start()
    waiting = asyncio.create_task(service.work(blocked, size))
    await asyncio.to_thread(begun.wait)
    try:
        async with asyncio.timeout(20):
            await service.aclose()
    finally:
        end.set()
        waiting.cancel()


TURN = {"role": "user", "content": "Why?"}
READ_BEFORE_THE_CHECK = {
    "/v1/traces/audit": {"steps": ["It is red."]},
    "/beta/litellm_basic_guardrail_api": {"input_type": "request", "structured_messages": [TURN]},
    "/v1/rag/documents": {"documents": [{"text": "It is red."}]},
}


@pytest.mark.parametrize("path", READ_BEFORE_THE_CHECK)
def test_what_is_read_before_a_check_is_admitted_too(path: str) -> None:
    fake = {"hallucination.backend.type": "fake", "server.max_in_flight": 2, "server.keep_reports": False}
    with served(fake) as running:
        admission = running.service.text_admission
        with admission.admitted(), admission.admitted():
            full = running.client.post(path, json=READ_BEFORE_THE_CHECK[path])
        assert (full.status_code, "retry-after" in full.headers) == (429, True)
        assert running.client.post(path, json=READ_BEFORE_THE_CHECK[path]).status_code < 300


async def test_reading_text_neither_outlasts_its_caller_nor_takes_the_threads_of_others(service: Service) -> None:
    begun, ended = threading.Semaphore(0), threading.Semaphore(0)

    def read() -> None:
        begun.release()
        try:
            while True:
                check_cancelled()
                time.sleep(0.001)
        finally:
            ended.release()

    readers = [asyncio.create_task(service.parse(read, 1)) for _ in range(40)]
    await asyncio.to_thread(begun.acquire)
    async with asyncio.timeout(10):  # API keys are read in these threads
        assert await asyncio.to_thread(lambda: "read") == "read"
    for reader in readers:
        reader.cancel()
    assert await asyncio.to_thread(ended.acquire, timeout=10)
    await asyncio.gather(*readers, return_exceptions=True)
    assert service.text_admission.inside == 0
    await service.aclose()


async def test_jobs_run_on_the_loop_of_their_size(service: Service) -> None:
    async def here() -> str:
        return threading.current_thread().name

    service.start()
    names = [await service.work(here, size, apart=apart) for size, apart in ((1, True), (10**6, True), (10**6, False))]
    assert names == ["groundwire-engine", "groundwire-long", "groundwire-engine"]
    assert await service.work_unmetered(here) == "groundwire-engine"
    await service.aclose()


@pytest.fixture
async def report() -> HallucinationReport:
    async with Groundwire(backend="fake") as engine:
        return await engine.check("It has 40 employees.", "It has 40 employees.")


FINE = {"response": "It has 40 employees.", "context": "It has 40 employees."}


def test_earlier_feedback_is_in_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.server.service._FEEDBACK_SECONDS", 60.0)  # a busy machine may need it
    with served({"hallucination.backend.type": "fake"}) as running:
        key = check(running)["key"]
        said = Feedback(True, Status.ENTAILED, False, datetime.now(UTC), "seen it")
        report = FeedbackReport("r", "r", 0.1, "fake", "default", 1, ())
        FeedbackStore(running.service.database).add(
            report, ReviewedVerdict(key, "It has 40 employees.", Status.ENTAILED, None, False), said
        )
        assert check(running)["feedback"]["note"] == "seen it"


def check(running: Served) -> Any:
    return running.client.post("/v1/check", json=FINE).json()["claims"][0]


async def test_a_failed_store_is_asked_again_after_a_pause(report: HallucinationReport) -> None:
    now, asked = 0.0, 0

    def opened() -> Database:
        nonlocal asked
        asked += 1
        raise StoreError("gone")

    enricher = FeedbackEnricher(opened, lambda: now)
    assert [await enricher.enrich(report) for _ in range(3)] == [report] * 3
    assert asked == 1
    now = 31.0
    await enricher.enrich(report)
    assert asked == 2


async def test_a_store_that_hangs_does_not_delay_reports(report: HallucinationReport) -> None:
    released = threading.Event()

    def opened() -> Database:
        released.wait(20)
        raise StoreError("gone")

    enricher = FeedbackEnricher(opened)
    try:
        assert await enricher.enrich(report) is report
        assert await enricher.enrich(report) is report
    finally:
        released.set()
