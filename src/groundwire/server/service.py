"""The service behind every route: engines, stores, background work, and admission to them."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from opentelemetry import trace
from sqlalchemy import text

from groundwire._loop import EventLoopThread, run_in_thread
from groundwire.config import Config, Operation
from groundwire.conversion.converter import Conversion
from groundwire.conversion.formats import Named
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError, InputError, MissingExtra
from groundwire.memory.gate import load_model, with_full_timeout
from groundwire.metrics import Metrics
from groundwire.retrieval.load import read_bytes
from groundwire.server.admission import Admission, export_metrics
from groundwire.server.middleware import ServerState
from groundwire.server.problems import Forbidden
from groundwire.stores.feedback import FeedbackStore
from groundwire.types import HallucinationReport
from groundwire.verdicts.calibration import open_monitor
from groundwire.verifiers.backends import choose
from groundwire.version import __version__

if TYPE_CHECKING:
    from groundwire.integrations.guardrail import CallEvidence
    from groundwire.llm import Generator
    from groundwire.memory import MemoryGate
    from groundwire.proxy.proxy import Proxy
    from groundwire.rag.chatbot import Chatbot
    from groundwire.rag.index import PassageIndex
    from groundwire.server.reports import ReportWriter
    from groundwire.stores.database import Database
    from groundwire.stores.knowledge_base import Knowledge
    from groundwire.streaming.output import OutputVerifier

T = TypeVar("T")
LONG_CHARS = 200_000
"""Longer requests run on a loop of their own: splitting their text blocks a loop for about a second."""
OK = "ok"
_KB_SCOPE = "facts:read"
_LOCAL_BACKENDS = ("local", "fake")
"""Backends that compute in this process: they cost nothing and never ask to be called later."""
_MAX_WAIT_SHARE = 0.5  # share of `request_timeout` that a request may wait for its turn; the rest is for its own work
_FEEDBACK_SECONDS = 1.0  # how long a report waits for earlier feedback; it is complete without it
_STORE_SECONDS = 5.0  # how long /readyz waits for the store
_RETRY_SECONDS = 30.0  # pause before a failed store is called again
_CLOSE_SECONDS = 5.0  # how long a server that ends waits for a computation that does not notice that it was cancelled
_FAILED = "failed; the log says why"
_log = logging.getLogger("groundwire.server")


class FeedbackEnricher:
    """Attach earlier user feedback to a report. If the store is slow or down, the report stays without it."""

    def __init__(self, open_store: Callable[[], Database], clock: Callable[[], float] = time.monotonic) -> None:
        self._open_store = open_store
        self._clock = clock
        self._retry_at = float("-inf")

    async def enrich(self, report: HallucinationReport, owner: str = "") -> HallucinationReport:
        if not report.claims or self._clock() < self._retry_at:
            return report
        keys = [claim.key for claim in report.claims]
        try:
            async with asyncio.timeout(_FEEDBACK_SECONDS):
                found = await asyncio.to_thread(lambda: FeedbackStore(self._open_store()).of(keys, owner))
        except (GroundwireError, TimeoutError) as error:
            self._retry_at = self._clock() + _RETRY_SECONDS
            reason = str(error) or "the store does not answer"
            _log.warning("reports come without feedback for %g s: %s", _RETRY_SECONDS, reason)
            return report
        claims = tuple(replace(claim, feedback=found.get(claim.key)) for claim in report.claims)
        return replace(report, claims=claims) if found else report


class ChatResources:
    """The chatbot's index and language model, opened on first use.

    `admission` limits concurrent answers apart from verification: they mostly wait for the model and must not
    take the places of requests that keep the verifier busy.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lock = asyncio.Lock()
        self._index: PassageIndex | None = None
        self._model: Generator | None = None
        self.admission = Admission(config.server.max_in_flight)

    def require_capacity(self) -> None:
        """Raise `Overloaded` while the status can still be 429, before a streamed response starts."""
        if self.admission.load >= 1.0:
            with self.admission.admitted():
                return

    async def index(self) -> PassageIndex:
        from groundwire.rag.index import open_index

        async with self._lock:
            if self._index is None:
                self._index = await asyncio.to_thread(open_index, self._config)
            return self._index

    async def bot(self) -> Chatbot:
        from groundwire.rag.chatbot import Chatbot

        return Chatbot(await self.index(), await self.model(), self._config.rag)

    async def model(self) -> Generator:
        from groundwire.llm import open_chat_model

        async with self._lock:
            if self._model is None:
                try:
                    self._model = await asyncio.to_thread(open_chat_model, self._config)
                except InputError as error:  # the server lacks a model; the caller's input is fine
                    raise MissingExtra("a language model to answer with", "llm") from error
            return self._model

    async def aclose(self) -> None:
        if self._index is not None:
            await asyncio.to_thread(self._index.close)
        if self._model is not None:
            await self._model.aclose()


class Service:
    """Everything that lives as long as the server. Call `start()` first and `aclose()` at the end.

    The engine runs on event loops in threads of their own, so that reading a document never blocks the loop
    that serves HTTP. Long requests have a second loop, so that they do not block short ones.
    """

    def __init__(self, config: Config, metrics: Metrics | None = None) -> None:
        self.config = config
        self.metrics = metrics or Metrics()
        self.state = ServerState()
        self.model_state = "loading"
        max_wait = config.server.request_timeout * _MAX_WAIT_SHARE
        # Each its own, so that a few long requests or files, however slow, never take the places of others.
        self.admission, self.long_admission, self.file_admission, self.text_admission = admissions = [
            Admission(config.server.max_in_flight, max_wait) for _ in range(4)
        ]
        self.wait_with = self.admission.wait_with
        export_metrics(admissions, self.metrics.registry)
        self.drift = open_monitor(config)
        if self.drift is not None:
            self.drift.export(self.metrics.registry)
        self._feedback = FeedbackEnricher(lambda: self.database)
        self._tracer = trace.get_tracer("groundwire", __version__)
        self._engines_lock, self._store_lock = threading.Lock(), threading.Lock()
        self._short, self._long = EventLoopThread("groundwire-engine"), EventLoopThread("groundwire-long")
        # Not the threads that every event loop shares: those read API keys and stored reports, which must not wait.
        self._readers, self._parsers = (
            ThreadPoolExecutor(max(2, os.cpu_count() or 1), f"groundwire-{name}") for name in ("files", "texts")
        )
        self._engines: dict[str, Groundwire] = {}
        self._background: list[Future[None]] = []

    def start(self) -> None:
        self._background.append(self._short.submit(self._load_model()))
        if choose(self.config.hallucination.backend, "memory_gate") not in _LOCAL_BACKENDS:
            self._background.append(self._short.submit(self._verify_pending_facts()))
        if self.config.proxy.upstreams:
            _ = self.proxy  # loaded now, so that the first request does not wait for it
        if self.config.server.keep_reports:
            _ = self.report_writer  # it also deletes expired reports, even if no request ever comes

    @property
    def engine(self) -> Groundwire:
        return self.engine_for("output")

    def engine_for(self, operation: Operation) -> Groundwire:
        """The engine of an operation. Operations with the same backend share one, so a model is loaded once.

        The exception is the memory gate with a remote backend, which has a deadline of its own.
        """
        name = choose(self.config.hallucination.backend, operation)
        has_own_deadline = operation == "memory_gate" and name not in _LOCAL_BACKENDS
        key = f"{name} for {operation}" if has_own_deadline else name
        with self._engines_lock:
            if key not in self._engines:
                engine = Groundwire(self.config, backend=name, operation=operation, metrics=self.metrics)
                engine.drift = self.drift
                self._engines[key] = engine
            return self._engines[key]

    @cached_property
    def database(self) -> Database:
        """The store of facts, keys and reports, created if missing."""
        from groundwire.stores.database import open_database

        with self._store_lock:  # cached_property does not lock: two threads would open it twice
            if "database" not in self.__dict__:
                self.__dict__["database"] = open_database(self.config.store.url, create=True)
            opened: Database = self.__dict__["database"]
            return opened

    @cached_property
    def gate(self) -> MemoryGate:
        from groundwire.memory import MemoryGate

        return MemoryGate(self.database, self.engine_for("memory_gate"), self.config)

    @cached_property
    def knowledge(self) -> Knowledge:
        """The knowledge base: the entities and facts of the server's own store."""
        from groundwire.stores.knowledge_base import Knowledge

        return Knowledge(self.database)

    async def known(self, request: Any) -> Knowledge:
        """The knowledge base, for a caller of HTTP who may read it.

        A verdict quotes the facts it rests on, so using them takes the same scope as reading them.
        """
        if not request.state.caller.may(_KB_SCOPE):
            raise Forbidden(f"'kb' requires the scope {_KB_SCOPE}")
        return await asyncio.to_thread(lambda: self.knowledge)

    async def with_opinions(self, report: HallucinationReport, request: Any) -> HallucinationReport:
        """The report with the feedback on earlier reports of the same caller of HTTP."""
        return await self._feedback.enrich(report, request.state.caller.key_id)

    @cached_property
    def report_writer(self) -> ReportWriter:
        from groundwire.server.reports import ReportWriter

        return ReportWriter(lambda: self.database, self.config.server.keep_days)

    @cached_property
    def chat(self) -> ChatResources:
        return ChatResources(self.config)

    @cached_property
    def outputs(self) -> OutputVerifier:
        """Verifies agents' answers; skips verification while the server is busy."""
        from groundwire.streaming.output import OutputVerifier

        return OutputVerifier(self.engine, self.config, is_busy=lambda: self.is_busy)

    @cached_property
    def proxy(self) -> Proxy:
        """The OpenAI-compatible proxy. Its connections belong to the loop that serves HTTP."""
        from groundwire.proxy.proxy import Proxy
        from groundwire.server.reports import store_report

        return Proxy(self, partial(store_report, self))

    @cached_property
    def call_evidence(self) -> CallEvidence:
        """Evidence of calls that a gateway announces before it sends their responses."""
        from groundwire.integrations.guardrail import CallEvidence
        from groundwire.stores.cache import RedisCache

        url = self.config.redis.url
        return CallEvidence(RedisCache(url.get_secret_value()) if url is not None else None)

    @property
    def is_busy(self) -> bool:
        """True if optional verification should be skipped."""
        return self.admission.is_busy or self.long_admission.is_busy

    async def work(self, job: Callable[[], Coroutine[Any, Any, T]], size: int = 0, *, apart: bool = True) -> T:
        """Run a job on an engine loop and await it here; cancelling the caller cancels the job.

        `size` is its number of characters: it decides how much capacity the job takes and, unless `apart` is
        false, whether it runs on the loop for long requests. Raises `Overloaded` if the server is full.
        """
        is_long = apart and size > LONG_CHARS
        loop, admission = (self._long, self.long_admission) if is_long else (self._short, self.admission)
        with self._tracer.start_as_current_span("groundwire.work"), admission.admitted(size):
            return await loop.run(job())

    async def work_unmetered(self, job: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a job that costs next to nothing, such as reading a result, without admission control."""
        return await self._short.run(job())

    async def read_file(self, data: bytes, name: str) -> list[Named]:
        """The sources in a file that a client sent; cancelling the caller kills the process that reads it.

        The caller must have been admitted. Raises `InputError` if the file cannot be read.
        """
        conversion = Conversion()
        limit = self.config.limits.max_source_bytes
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._readers, read_bytes, data, name, limit, conversion)
        except asyncio.CancelledError:
            conversion.stop()
            raise

    async def parse(self, read: Callable[[], T], size: int) -> T:
        """Run a function that reads `size` characters a client sent; cancelling the caller stops it.

        Raises `Overloaded` if the server is full.
        """
        with self.text_admission.admitted(size):
            return await run_in_thread(self._parsers, read)

    async def _load_model(self) -> None:
        """Load an embedded model. Remote backends are not called, since a call may cost money."""
        try:
            await load_model(self.engine)
            self.model_state = OK
        except GroundwireError as error:
            _log.warning("not ready: %s", error)
            self.model_state = _FAILED

    async def store_state(self) -> str:
        """The state of the store, as /readyz reports it."""

        def ping() -> str:
            with self.database.read() as connection:
                connection.execute(text("SELECT 1"))
            return OK

        try:
            async with asyncio.timeout(_STORE_SECONDS):
                return await asyncio.to_thread(ping)
        except TimeoutError:
            return f"no answer within {_STORE_SECONDS:g} s"
        except GroundwireError as error:
            _log.warning("not ready: %s", error)
            return _FAILED

    async def _verify_pending_facts(self) -> None:
        """Verify facts that a rate-limited backend asked to be sent later, until cancelled."""
        from groundwire.memory import Worker

        config = with_full_timeout(self.config)
        async with Groundwire(config, operation="memory_gate", metrics=self.metrics) as engine:
            while True:
                try:
                    worker = Worker(await asyncio.to_thread(lambda: self.database), engine, config)
                    try:
                        async for _ in worker.watch():
                            pass
                    finally:
                        await worker.aclose()
                except GroundwireError as error:
                    _log.warning("pending facts cannot be verified now: %s", error)
                    await asyncio.sleep(_RETRY_SECONDS)

    async def aclose(self) -> None:
        for task in self._background:
            task.cancel()
        opened = self.__dict__  # cached properties that were never used are not opened just to be closed
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                if "outputs" in opened:
                    await self._short.run(self.outputs.aclose())
                for engine in self._engines.values():
                    await self._short.run(engine.aclose())
        except TimeoutError:
            _log.warning("a computation did not end within %g s and is given up", _CLOSE_SECONDS)
        if self.drift is not None:
            await asyncio.to_thread(self.drift.save)
        if "gate" in opened:
            await asyncio.to_thread(self.gate.close)
        if "proxy" in opened:
            await self.proxy.aclose()
        if "chat" in opened:
            await self.chat.aclose()
        if "report_writer" in opened:
            await asyncio.to_thread(self.report_writer.close)
        if "database" in opened:
            self.database.close()
        for pool in (self._readers, self._parsers):
            pool.shutdown(wait=False, cancel_futures=True)
        await self._long.aclose(_CLOSE_SECONDS)
        await self._short.aclose(_CLOSE_SECONDS)
