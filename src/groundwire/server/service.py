"""What every route stands on: one loaded engine, its store, and a bounded way to work with them."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import Request
from opentelemetry import trace
from sqlalchemy import text

from groundwire.cli.models import open_writer
from groundwire.config import Config, Operation
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError, InputError, MissingExtra
from groundwire.llm import Generator
from groundwire.memory import Worker
from groundwire.memory.gate import with_full_timeout, load_model
from groundwire.metrics import Metrics
from groundwire.rag.chatbot import Chatbot
from groundwire.rag.index import PassageIndex, open_index
from groundwire.server.admission import Admission, watch
from groundwire.server.lanes import LONG, Lane
from groundwire.server.middleware.timeout import Life
from groundwire.stores.database import Database
from groundwire.stores.feedback import Opinions
from groundwire.types import Feedback, HallucinationReport
from groundwire.verifiers.route import choose
from groundwire.version import __version__

if TYPE_CHECKING:
    from groundwire.memory import MemoryGate
    from groundwire.proxy.proxy import Proxy
    from groundwire.server.reports import Keeper
    from groundwire.stores.knowledge_base import Knowledge
    from groundwire.streaming.output import OutputVerifier

# What people said of the same claims before, added to a report; a store in trouble costs nobody that.

_PATIENCE = 1.0
_PAUSE = 30.0
_log = logging.getLogger("groundwire.server")


class Said:
    """Asks the store, unless it failed or was silent a moment ago."""

    def __init__(self, opened: Callable[[], Database], clock: Callable[[], float] = time.monotonic) -> None:
        self._opened = opened
        self._clock = clock
        self._silent_until = float("-inf")

    async def added(self, report: HallucinationReport) -> HallucinationReport:
        if not report.claims or self._clock() < self._silent_until:
            return report
        try:
            async with asyncio.timeout(_PATIENCE):
                found = await asyncio.to_thread(self._of, [claim.key for claim in report.claims])
        except (GroundwireError, TimeoutError) as error:
            self._silent_until = self._clock() + _PAUSE
            _log.warning("no feedback is shown for a while: %s", error)
            return report
        claims = tuple(replace(claim, feedback=found.get(claim.key)) for claim in report.claims)
        return replace(report, claims=claims) if found else report

    def _of(self, keys: Sequence[str]) -> Mapping[str, Feedback]:
        return Opinions(self._opened()).of(keys)


# Can it work: is the model loaded, and does the store answer.

OK = "ok"
_PATIENCE_READINESS = 5.0
_FAILED = "failed; the log says why"


class Readiness:
    """`model` says how far the model is; the store is asked each time."""

    def __init__(self) -> None:
        self.model = "loading"

    async def warm(self, engine: Callable[[], Groundwire]) -> None:
        """Load what is computed here; a backend elsewhere is not asked, since that may cost money."""
        try:
            await load_model(engine())
            self.model = OK
        except GroundwireError as error:
            _log.warning("not ready: %s", error)
            self.model = _FAILED

    async def store(self, opened: Callable[[], Database]) -> str:
        try:
            async with asyncio.timeout(_PATIENCE_READINESS):
                return await asyncio.to_thread(_asked, opened)
        except TimeoutError:
            return f"no answer within {_PATIENCE_READINESS:g} s"
        except GroundwireError as error:
            _log.warning("not ready: %s", error)
            return _FAILED


def _asked(opened: Callable[[], Database]) -> str:
    with opened().read() as connection:
        connection.execute(text("SELECT 1"))
    return OK


T = TypeVar("T")
_FREE = ("local", "fake")
"""Backends that compute here: they neither cost money nor put anything off."""
_PATIENCE_SERVICE = 0.5  # of the time a request has: whoever would wait longer is told to come back instead


class Service:
    """Lives as long as the server. Open it with `start()`, give it back with `aclose()`.

    The engine works on a loop in a thread of its own, so that a document being read never keeps the loop that
    speaks HTTP from answering; long ones on another, so that they do not keep short ones waiting.
    """

    def __init__(self, config: Config, metrics: Metrics | None = None) -> None:
        self.config = config
        self.metrics = metrics or Metrics()
        self.life = Life()
        self.readiness = Readiness()
        self.admission = Admission(config.server.capacity, config.server.request_timeout * _PATIENCE_SERVICE)
        watch(self.admission, self.metrics.registry)
        self._said = Said(lambda: self.database)
        self._tracer = trace.get_tracer("groundwire", __version__)
        self._opening, self._opening_store = threading.Lock(), threading.Lock()
        self._lane, self._long = Lane("groundwire-engine"), Lane("groundwire-long")
        self._engines: dict[str, Groundwire] = {}
        self._background: list[Future[None]] = []

    def start(self) -> None:
        self._lane.start()
        self._long.start()
        self._go_on(self.readiness.warm(lambda: self.engine))
        if choose(self.config.hallucination.backend, "memory_gate") not in _FREE:
            self._go_on(settle_for_ever(lambda: self.database, self.config, self.metrics))
        if self.config.proxy.upstreams:
            _ = self.proxying  # the first caller shall not wait until it is loaded
        if self.config.server.keep_reports:
            _ = self.keeper  # it also forgets what is too old, whether or not somebody asks for a check

    def _go_on(self, task: Coroutine[Any, Any, None]) -> None:
        """Something that goes on beside the requests, until the server stops."""
        self._background.append(self._lane.go_on(task))

    @property
    def engine(self) -> Groundwire:
        return self.engine_for("output")

    def engine_for(self, operation: Operation) -> Groundwire:
        """The engine of an operation. Those with the same backend are one: a model is loaded once.

        Only the gate's has a deadline of its own, where it asks somebody else.
        """
        name = choose(self.config.hallucination.backend, operation)
        apart = operation == "memory_gate" and name not in _FREE
        with self._opening:
            key = f"{name} for {operation}" if apart else name
            if key not in self._engines:
                self._engines[key] = Groundwire(
                    self.config, backend=name, operation=operation, metrics=self.metrics
                )
            return self._engines[key]

    @cached_property
    def database(self) -> Database:
        """The store of facts, keys and reports, created where it is missing."""
        from groundwire.stores.database import open_database

        with self._opening_store:  # threads that come together must not each open one
            if "database" not in self.__dict__:
                self.__dict__["database"] = open_database(self.config.store.url, create=True)
            opened: Database = self.__dict__["database"]
            return opened

    @cached_property
    def gate(self) -> MemoryGate:
        """The way of facts into the store."""
        from groundwire.memory import MemoryGate

        return MemoryGate(self.database, self.engine_for("memory_gate"), self.config)

    @cached_property
    def knowledge(self) -> Knowledge:
        """What the server knows: the entities and facts of its own store, and of no other."""
        from groundwire.stores.knowledge_base import Knowledge

        return Knowledge(self.database)

    @cached_property
    def keeper(self) -> Keeper:
        """Writes the reports that are kept, in a thread of its own."""
        from groundwire.server.reports import Keeper

        return Keeper(lambda: self.database, self.config.server.keep_days)

    @cached_property
    def chatting(self) -> Chatting:
        """The chatbot's index and model."""

        return Chatting(self.config)

    @cached_property
    def outputs(self) -> OutputVerifier:
        """Verifies what agents are about to say; left out while there is much else to do."""
        from groundwire.streaming.output import OutputVerifier

        return OutputVerifier(self.engine, self.config, is_busy=lambda: self.admission.is_busy)

    @cached_property
    def proxying(self) -> Proxy:
        """The proxy's upstreams and the lane of its streams. The loop that speaks HTTP uses it."""
        from groundwire.proxy.proxy import Proxy

        return Proxy(self)

    async def with_opinions(self, report: HallucinationReport) -> HallucinationReport:
        """The report with what people said of its claims."""
        return await self._said.added(report)

    async def work(
        self, job: Callable[[], Coroutine[Any, Any, T]], size: int = 0, *, apart: bool = True
    ) -> T:
        """Run a job of the engine on its own loop and wait for it here; a caller who leaves cancels it.

        `size` is how many characters it is about. Long ones have a loop to themselves, unless they are not to
        be kept `apart`. Raises `Overloaded` where there is too much to do.
        """
        with self._tracer.start_as_current_span("groundwire.work"), self.admission.admitted(size):
            return await (self._long if apart and size > LONG else self._lane).run(job)

    async def aside(self, job: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The same for what costs next to nothing, such as a look at a result: it takes nobody's place."""
        return await self._lane.run(job)

    async def aclose(self) -> None:
        for task in self._background:
            task.cancel()
        if "outputs" in self.__dict__:
            await self._lane.run(self.outputs.aclose)
        for engine in self._engines.values():
            await self._lane.run(engine.aclose)
        if "gate" in self.__dict__:
            await asyncio.to_thread(self.gate.close)
        if "proxying" in self.__dict__:
            await self.proxying.aclose()
        if "chatting" in self.__dict__:
            await self.chatting.aclose()
        if "keeper" in self.__dict__:
            await asyncio.to_thread(self.keeper.close)
        if "database" in self.__dict__:
            self.database.close()
        await self._long.aclose()
        await self._lane.aclose()


def service(request: Request) -> Service:
    """The dependency by which a route gets it: `Annotated[Service, Depends(service)]`."""
    found: Service = request.app.state.service
    return found


# The memory gate as the server keeps it: one gate, and a worker that settles what was put off.

_PAUSE_REMEMBERING = 30.0


async def settle_for_ever(opened: Callable[[], Database], config: Config, metrics: Metrics) -> None:
    """Verify what a backend put off, until cancelled. A store in trouble is asked again later."""
    later = with_full_timeout(config)
    async with Groundwire(later, operation="memory_gate", metrics=metrics) as engine:
        while True:
            try:
                worker = Worker(await asyncio.to_thread(opened), engine, later)
                try:
                    async for _ in worker.watch():
                        pass
                finally:
                    await worker.aclose()
            except GroundwireError as error:
                _log.warning("facts that wait cannot be settled now: %s", error)
                await asyncio.sleep(_PAUSE_REMEMBERING)


# The chatbot behind the service: its index and its model, opened when first asked for.


class Chatting:
    """`admission` bounds how many answers are written at once: they mostly wait for the model, and must not
    take the places of requests that keep the verifier busy.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lock = asyncio.Lock()
        self._index: PassageIndex | None = None
        self._writer: Generator | None = None
        self.admission = Admission(config.server.capacity)

    async def index(self) -> PassageIndex:
        async with self._lock:
            if self._index is None:
                self._index = await asyncio.to_thread(open_index, self._config)
            return self._index

    async def bot(self) -> Chatbot:
        return Chatbot(await self.index(), await self.writer(), self._config.rag)

    async def writer(self) -> Generator:
        """The model that answers are written with."""
        async with self._lock:
            if self._writer is None:
                self._writer = await asyncio.to_thread(_open_writer, self._config)
            return self._writer

    async def aclose(self) -> None:
        if self._index is not None:
            await asyncio.to_thread(self._index.close)
        if self._writer is not None:
            await self._writer.aclose()


def _open_writer(config: Config) -> Generator:
    try:
        return open_writer(config)
    except InputError as error:  # nothing that the caller could do better
        raise MissingExtra("a language model to answer with", "llm") from error
