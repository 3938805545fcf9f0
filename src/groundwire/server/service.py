"""What every route stands on: one loaded engine, its store, and a bounded way to work with them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import Request
from opentelemetry import trace

from groundwire.config import Config, Operation
from groundwire.engine import Groundwire
from groundwire.metrics import Metrics
from groundwire.server.admission import Admission, watch
from groundwire.server.lanes import LONG, Lane
from groundwire.server.middleware.timeout import Life
from groundwire.server.readiness import Readiness
from groundwire.server.said import Said
from groundwire.types import HallucinationReport
from groundwire.verifiers.route import choose
from groundwire.version import __version__

if TYPE_CHECKING:
    from groundwire.memory import MemoryGate
    from groundwire.proxy.proxy import Proxying
    from groundwire.server.chatting import Chatting
    from groundwire.server.reports import Keeper
    from groundwire.stores.database import Database
    from groundwire.stores.knowledge import Knowledge
    from groundwire.streaming.output import OutputVerifier

T = TypeVar("T")
_FREE = ("local", "fake")
"""Backends that compute here: they neither cost money nor put anything off."""
_PATIENCE = 0.5  # of the time a request has: whoever would wait longer is told to come back instead
_log = logging.getLogger("groundwire.server")


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
        self.admission = Admission(config.server.capacity, config.server.request_timeout * _PATIENCE)
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
            from groundwire.server.remembering import settle_for_ever

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
        from groundwire.stores.knowledge import Knowledge

        return Knowledge(self.database)

    @cached_property
    def keeper(self) -> Keeper:
        """Writes the reports that are kept, in a thread of its own."""
        from groundwire.server.reports import Keeper

        return Keeper(lambda: self.database, self.config.server.keep_days)

    @cached_property
    def chatting(self) -> Chatting:
        """The chatbot's index and model."""
        from groundwire.server.chatting import Chatting

        return Chatting(self.config)

    @cached_property
    def outputs(self) -> OutputVerifier:
        """Verifies what agents are about to say; left out while there is much else to do."""
        from groundwire.streaming.output import OutputVerifier

        return OutputVerifier(self.engine, self.config, is_busy=lambda: self.admission.is_busy)

    @cached_property
    def proxying(self) -> Proxying:
        """The proxy's upstreams and the lane of its streams. The loop that speaks HTTP uses it."""
        from groundwire.proxy.proxy import Proxying

        return Proxying(self)

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
