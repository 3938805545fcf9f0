"""Event loops in threads of their own: work runs, is cancelled with its caller, and ends on close."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from groundwire._loop import EventLoopThread, check_cancelled, run_in_thread


@pytest.fixture
def thread() -> Iterator[EventLoopThread]:
    made = EventLoopThread("test-loop")
    yield made
    made.close(10)


async def current_thread() -> str:
    return threading.current_thread().name


async def test_work_runs_on_the_named_thread(thread: EventLoopThread) -> None:
    assert await thread.run(current_thread()) == "test-loop"
    assert await asyncio.to_thread(thread.run_blocking, current_thread()) == "test-loop"


async def test_cancelling_the_caller_cancels_the_work(thread: EventLoopThread) -> None:
    started, ended = threading.Event(), threading.Event()

    async def work() -> None:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    waiting = asyncio.create_task(thread.run(work()))
    assert await asyncio.to_thread(started.wait, 10)
    waiting.cancel()
    assert await asyncio.to_thread(ended.wait, 10)


@pytest.mark.parametrize("how", ["the caller is cancelled", "the loop is closed"])
async def test_a_computation_that_blocks_its_loop_stops(thread: EventLoopThread, how: str) -> None:
    started, stopped = threading.Event(), threading.Event()

    async def compute() -> None:
        started.set()
        try:
            while True:
                check_cancelled()
        finally:
            stopped.set()

    waiting = asyncio.create_task(thread.run(compute()))
    assert await asyncio.to_thread(started.wait, 10)
    if how == "the caller is cancelled":
        waiting.cancel()
    else:
        await thread.aclose(10)
    assert await asyncio.to_thread(stopped.wait, 10)
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_computation_in_a_thread_stops_with_its_caller() -> None:
    started, stopped = threading.Event(), threading.Event()

    def compute() -> None:
        started.set()
        try:
            while True:
                check_cancelled()
        finally:
            stopped.set()

    with ThreadPoolExecutor(1) as threads:
        waiting = asyncio.create_task(run_in_thread(threads, compute))
        assert await asyncio.to_thread(started.wait, 10)
        waiting.cancel()
        assert await asyncio.to_thread(stopped.wait, 10)
        assert await run_in_thread(threads, lambda: "the next one runs") == "the next one runs"


def test_nothing_is_cancelled_outside_of_a_loop() -> None:
    check_cancelled()


async def test_a_task_outlives_the_cancelled_work_that_started_it(thread: EventLoopThread) -> None:
    started, cancelled, outlived = threading.Event(), threading.Event(), threading.Event()

    async def background() -> None:
        await asyncio.to_thread(cancelled.wait, 10)
        check_cancelled()
        outlived.set()

    async def work() -> None:
        task = asyncio.create_task(background())
        started.set()
        await asyncio.wait([task])

    waiting = asyncio.create_task(thread.run(work()))
    assert await asyncio.to_thread(started.wait, 10)
    waiting.cancel()
    cancelled.set()
    assert await asyncio.to_thread(outlived.wait, 10)


def test_close_cancels_what_is_still_running(thread: EventLoopThread) -> None:
    task = thread.submit(asyncio.Event().wait())
    thread.close(10)
    assert task.cancelled()


def test_a_closed_thread_starts_again(thread: EventLoopThread) -> None:
    thread.run_blocking(current_thread())
    thread.close(10)
    assert thread.run_blocking(current_thread()) == "test-loop"


def test_close_abandons_a_blocked_loop(thread: EventLoopThread) -> None:
    release, blocked = threading.Event(), threading.Event()

    async def block() -> None:
        blocked.set()
        release.wait()

    thread.submit(block())
    assert blocked.wait(10)
    thread.close(0.01)  # returns although the loop cannot be stopped
    release.set()


def test_threads_that_start_together_share_one_loop(thread: EventLoopThread) -> None:
    async def loop_id() -> int:
        return id(asyncio.get_running_loop())

    barrier, found = threading.Barrier(8), []

    def first_call() -> None:
        barrier.wait()
        found.append(thread.run_blocking(loop_id()))

    callers = [threading.Thread(target=first_call) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(10)
    assert len(set(found)) == 1
