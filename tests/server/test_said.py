"""Opinions beside a report: shown where there are any, never waited for."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.serving import Served, served

from groundwire.engine import Groundwire
from groundwire.errors import StoreError
from groundwire.server.service import Said
from groundwire.stores.database import Database
from groundwire.stores.feedback import Judged, Opinions, Verdict
from groundwire.types import Feedback, HallucinationReport, Status


@pytest.fixture
async def report() -> HallucinationReport:
    async with Groundwire(backend="fake") as engine:
        return await engine.check("It has 40 employees.", "It has 40 employees.")


FINE = {"response": "It has 40 employees.", "context": "It has 40 employees."}


def test_what_was_said_of_a_claim_stands_in_its_report() -> None:
    with served({"hallucination.backend.type": "fake"}) as running:
        key = check(running)["key"]
        said = Feedback(True, Status.ENTAILED, False, datetime.now(UTC), "seen it")
        report = Judged("r", "r", 0.1, "fake", "default", 1, ())
        Opinions(running.service.database).add(
            report, Verdict(key, "It has 40 employees.", Status.ENTAILED, None, False), said
        )
        assert check(running)["feedback"]["note"] == "seen it"


def check(running: Served) -> Any:
    return running.client.post("/v1/check", json=FINE).json()["claims"][0]


async def test_a_store_that_fails_is_asked_again_only_after_a_while(report: HallucinationReport) -> None:
    now, asked = 0.0, 0

    def opened() -> Database:
        nonlocal asked
        asked += 1
        raise StoreError("gone")

    said = Said(opened, lambda: now)
    assert [await said.added(report) for _ in range(3)] == [report] * 3
    assert asked == 1
    now = 31.0
    await said.added(report)
    assert asked == 2


async def test_a_store_that_says_nothing_is_not_waited_for(report: HallucinationReport) -> None:
    released = threading.Event()

    def opened() -> Database:
        released.wait(20)
        raise StoreError("gone")

    said = Said(opened)
    try:
        assert await said.added(report) is report
        assert await said.added(report) is report
    finally:
        released.set()
