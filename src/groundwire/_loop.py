"""Event loops that run in threads of their own.

Synchronous callers reach the asynchronous engine through `run`; code on one event loop hands work that may
block to another one with `EventLoopThread.run`.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from concurrent.futures import Executor, Future
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_cancel_flags: dict[asyncio.Task[Any], threading.Event] = {}
"""Set once no caller waits for the task of a submitted coroutine. Tasks that it starts have none: they may serve
other callers too, as a batch does, or outlive it."""
_thread_flag: ContextVar[threading.Event | None] = ContextVar("groundwire_thread_flag", default=None)
"""The same for a function that `run_in_thread` runs."""


def check_cancelled() -> None:
    """Raise `CancelledError` if no caller waits for the result of this computation any more.

    A computation that does not await blocks its event loop, which then cannot cancel it; so it asks.
    """
    flag = _thread_flag.get()
    if flag is None:
        try:
            task = asyncio.current_task()
        except RuntimeError:  # no event loop runs in this thread
            return
        flag = None if task is None else _cancel_flags.get(task)
    if flag is not None and flag.is_set():
        raise asyncio.CancelledError


async def run_in_thread(executor: Executor, compute: Callable[[], T]) -> T:
    """Await a function in a thread; cancelling the caller stops it when it next calls `check_cancelled`."""
    flag, context = threading.Event(), copy_context()
    context.run(_thread_flag.set, flag)
    try:
        return await asyncio.get_running_loop().run_in_executor(executor, context.run, compute)
    except asyncio.CancelledError:
        flag.set()
        raise


class EventLoopThread:
    """An event loop in a daemon thread, started by the first coroutine that is submitted.

    A coroutine that blocks its loop (reading a long document, a model that computes) then blocks only this
    thread: callers on other loops stay responsive and can always stop waiting.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._flags: set[threading.Event] = set()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Schedule a coroutine and return at once. Cancelling the future stops its computation too."""
        flag = threading.Event()
        future = asyncio.run_coroutine_threadsafe(_flagged(work, flag), self._started())
        self._flags.add(flag)

        def done(future: Future[T]) -> None:
            self._flags.discard(flag)
            if future.cancelled():
                flag.set()

        future.add_done_callback(done)
        return future

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await a coroutine from another event loop; cancelling the caller cancels the coroutine."""
        return await asyncio.wrap_future(self.submit(work))

    def run_blocking(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine from synchronous code; Ctrl-C cancels it."""
        future = self.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def close(self, timeout: float | None = None) -> None:
        """Cancel what is still running and stop the loop.

        After `timeout` seconds a blocked loop is abandoned; its daemon thread ends with the process.
        """
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        for flag in list(self._flags):
            flag.set()
        asyncio.run_coroutine_threadsafe(_cancel_all_tasks(), loop)
        thread.join(timeout)

    async def aclose(self, patience: float | None = None) -> None:
        await asyncio.to_thread(self.close, patience)

    def _started(self) -> asyncio.AbstractEventLoop:
        # Two threads that submit first at the same time must end up on the same loop.
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run_until_stopped, args=(self._loop,), name=self._name, daemon=True
                )
                self._thread.start()
            return self._loop

    def reset_after_fork(self) -> None:
        """Forget the loop: a forked process inherits it without the thread that runs it."""
        self._lock = threading.Lock()
        self._loop = self._thread = None


async def _flagged(work: Coroutine[Any, Any, T], flag: threading.Event) -> T:
    task = asyncio.current_task()
    assert task is not None
    _cancel_flags[task] = flag
    try:
        return await work
    finally:
        del _cancel_flags[task]


def _run_until_stopped(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _cancel_all_tasks() -> None:
    loop = asyncio.get_running_loop()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await loop.shutdown_asyncgens()
    loop.stop()


_shared = EventLoopThread("groundwire")
"""The loop of all synchronous callers: it works inside notebooks and keeps connections open between calls."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.reset_after_fork)


async def run_on_shared_loop(work: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine that runs on the shared loop, so that this loop stays free."""
    return await _shared.run(work)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the shared loop from synchronous code and return its result."""
    return _shared.run_blocking(work)


class PerLoop(Generic[T]):
    """One object per event loop, for objects that belong to a loop (HTTP clients, semaphores).

    An engine outlives the loops it is used on: a synchronous caller may run each check on a loop of its own,
    and several threads may each have one. `aclose()` closes all objects; the end of a loop closes its own.
    """

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]] | None = None) -> None:
        self._make = make
        self._close = close
        self._by_loop: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[None]]] = {}
        self._lock = threading.Lock()

    def get(self) -> T:
        """The object of the running loop, made on first use."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._by_loop:
                self._by_loop = {old: entry for old, entry in self._by_loop.items() if not old.is_closed()}
                made = self._make()
                self._by_loop[loop] = (made, self._closer(made))
            return self._by_loop[loop][0]

    async def aclose(self) -> None:
        """Close all objects, each on its own loop."""
        with self._lock:
            entries, self._by_loop = self._by_loop, {}
        for loop, (_, closer) in entries.items():
            if loop is asyncio.get_running_loop():
                await closer.aclose()
            elif loop.is_running():
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(closer.aclose(), loop))

    def _closer(self, made: T) -> AsyncGenerator[None]:
        """A generator that closes the object when it is closed itself.

        An event loop closes its asynchronous generators when it shuts down, so the object ends with its loop.
        """

        async def wait_for_close() -> AsyncGenerator[None]:
            try:
                yield
            finally:
                if self._close is not None:
                    await self._close(made)

        closer = wait_for_close()
        with suppress(StopIteration):
            closer.__anext__().send(None)  # a loop only knows generators that have started
        return closer
