"""Long requests and short ones have a loop each: the one that is read keeps the other from nothing."""

from __future__ import annotations

import asyncio
import threading

import pytest

from groundwire.config import Config
from groundwire.server.lanes import LONG, Lane
from groundwire.server.service import Service


@pytest.fixture
def service() -> Service:
    fake = {"hallucination.backend.type": "fake", "server.keep_reports": False}
    return Service(Config.load(overrides=fake))


async def test_a_long_document_that_is_read_does_not_keep_a_short_one_waiting(service: Service) -> None:
    begun, read = threading.Event(), threading.Event()

    async def long() -> str:
        begun.set()
        await asyncio.sleep(0)
        read.wait()  # reading goes on without giving way to anybody
        return "long"

    async def short() -> str:
        return "short"

    service.start()
    try:
        waiting = asyncio.create_task(service.work(long, LONG + 1))
        await asyncio.to_thread(begun.wait)
        assert await service.work(short, LONG) == "short"
        read.set()
        assert await waiting == "long"
    finally:
        read.set()
        await service.aclose()


async def test_what_must_stay_together_does(service: Service) -> None:
    async def here() -> str:
        return threading.current_thread().name

    service.start()
    names = [
        await service.work(here, size, apart=apart)
        for size, apart in ((1, True), (10**6, True), (10**6, False))
    ]
    assert names == ["groundwire-engine", "groundwire-long", "groundwire-engine"]
    assert await service.aside(here) == "groundwire-engine"
    await service.aclose()


async def test_closing_ends_what_nobody_waits_for() -> None:
    lane = Lane("lane")
    lane.start()
    task = lane.go_on(asyncio.Event().wait())
    await lane.aclose()
    assert task.cancelled()


async def test_whoever_leaves_cancels_his_job() -> None:
    lane = Lane("lane")
    lane.start()
    ended = threading.Event()

    async def job() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    waiting = asyncio.create_task(lane.run(job))
    await asyncio.sleep(0)
    await lane.run(lambda: asyncio.sleep(0))  # it has begun by now
    waiting.cancel()
    assert await asyncio.to_thread(ended.wait, 10)
    await lane.aclose()
