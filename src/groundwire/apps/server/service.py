"""What every route stands on: one loaded engine, its store, and a bounded way to work with them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import Request

from groundwire.apps.server.admission import Admission, watch
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.metrics import Metrics

if TYPE_CHECKING:
    from groundwire.apps.server.keeping import Keeper
    from groundwire.stores.database import Database
    from groundwire.stores.knowledge import Knowledge

T = TypeVar("T")


class Service:
    """Lives as long as the server. Open it with `start()`, give it back with `aclose()`.

    The engine works on a loop in a thread of its own, so that a long document being read never keeps the
    loop that speaks HTTP from answering.
    """

    def __init__(self, config: Config, metrics: Metrics | None = None) -> None:
        self.config = config
        self.metrics = metrics or Metrics()
        self.admission = Admission(config.server.capacity)
        watch(self.admission, self.metrics.registry)
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="groundwire-engine", daemon=True)

    def start(self) -> None:
        self._thread.start()
        if self.config.server.keep_reports:
            _ = self.keeper  # it also forgets what is too old, whether or not somebody asks for a check

    @cached_property
    def engine(self) -> Groundwire:
        return Groundwire(self.config, metrics=self.metrics)

    @cached_property
    def database(self) -> Database:
        """The store of facts, keys and reports, created where it is missing."""
        from groundwire.stores.database import open_database

        return open_database(self.config.store.url, create=True)

    @cached_property
    def knowledge(self) -> Knowledge:
        """What the server knows: the entities and facts of its own store, and of no other."""
        from groundwire.stores.knowledge import Knowledge

        return Knowledge(self.database)

    @cached_property
    def keeper(self) -> Keeper:
        """Writes the reports that are kept, in a thread of its own."""
        from groundwire.apps.server.keeping import Keeper

        return Keeper(lambda: self.database, self.config.server.keep_days)

    async def work(self, job: Callable[[], Coroutine[Any, Any, T]], size: int = 0) -> T:
        """Run a job of the engine on its own loop and wait for it here; a caller who leaves cancels it.

        `size` is how many characters it is about. Raises `Overloaded` where there is too much to do.
        """
        with self.admission.admitted(size):
            return await self._run(job)

    async def _run(self, job: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(job(), self.loop))

    async def aclose(self) -> None:
        if "engine" in self.__dict__:
            await self._run(self.engine.aclose)
        if "keeper" in self.__dict__:
            await asyncio.to_thread(self.keeper.close)
        if "database" in self.__dict__:
            self.database.close()
        self.loop.call_soon_threadsafe(self.loop.stop)
        await asyncio.to_thread(self._thread.join)
        self.loop.close()


def service(request: Request) -> Service:
    """The dependency by which a route gets it: `Annotated[Service, Depends(service)]`."""
    found: Service = request.app.state.service
    return found
