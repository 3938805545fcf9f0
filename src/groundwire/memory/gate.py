"""The gate itself: `remember` verifies a fact before it is stored, and never takes long about it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar

from groundwire import _loop
from groundwire.config import Config
from groundwire.engine import Groundwire, Sources, as_sources, as_text
from groundwire.errors import BackendError, BackendTimeout, FactNotGrounded, GroundwireError, InputError
from groundwire.memory.decision import Decision, decide
from groundwire.memory.writer import KIND, Candidate, Keeper, fact_of
from groundwire.stores.database import Database
from groundwire.stores.queue import Queue, Terms
from groundwire.types import ClaimVerification, Fact, FactStatus, Query

# Asking the engine about a candidate: a verdict or an error of ours comes out, and nothing else.

_log = logging.getLogger("groundwire.memory")
_TRIES = 5


async def verified(engine: Groundwire, candidate: Candidate) -> ClaimVerification:
    """The verdict on the fact's sentence. What is wrong with the input is the caller's to hear."""
    try:
        return await engine.verify_claim(candidate.text, candidate.sources, candidate.confidence)
    except (InputError, BackendError):
        raise
    except GroundwireError as error:
        raise BackendError(str(error)) from error
    except Exception as bug:  # memory must go on working when verification does not
        _log.exception("a bug in verification: %s", type(bug).__name__)
        raise BackendError(f"verification broke ({type(bug).__name__})") from bug


async def warmed(engine: Groundwire) -> None:
    """Have the embedded model loaded: that takes a second or two once, which no fact should have to pay."""
    if not engine.backend.free:
        return
    for _ in range(_TRIES):  # each has the gate's time; the loading goes on between them
        (estimate,) = await engine.backend.verifier.estimate([Query("The sky is blue.", "The sky is blue.")])
        if estimate.error is None:
            return


def patient(config: Config) -> Config:
    """The configuration of whoever verifies later, and has all the time that one check may take."""
    settings = config.hallucination
    gate = settings.memory_gate.model_copy(update={"timeout": settings.timeout})
    return config.model_copy(update={"hallucination": settings.model_copy(update={"memory_gate": gate})})


# A loop in a thread of its own, which nobody has to wait for.

T = TypeVar("T")
_PATIENCE = 0.5


class Aside:
    """Runs what may hang. A timeout of the caller's own loop cannot end what blocks that very loop (a long
    text being read, a backend that computes); it can always stop waiting for another one.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    async def run(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """The result, or `BackendTimeout` after so many seconds of this world, whatever the work does."""
        future = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise BackendTimeout(f"no answer within {seconds:.2g} s") from None

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="groundwire-gate", daemon=True
                )
                self._thread.start()
            return self._loop

    def close(self) -> None:
        """End the loop. One that is blocked is left alone: its thread dies with the process."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(lambda: asyncio.ensure_future(_wind_down(loop)))
        thread.join(_PATIENCE)
        if not thread.is_alive():
            loop.close()


async def _wind_down(loop: asyncio.AbstractEventLoop) -> None:
    own = asyncio.current_task()
    others = [task for task in asyncio.all_tasks() if task is not own]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await loop.shutdown_asyncgens()
    loop.stop()


STATED = 0.95
_SHARE = 0.9  # of the gate's time; the rest is for the store


class MemoryGate:
    """Facts go into the store through here. `engine` is asked; it should be of operation `memory_gate`."""

    def __init__(
        self,
        database: Database,
        engine: Groundwire,
        config: Config | None = None,
        *,
        terms: Terms | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.config = config or engine.config
        self.queue = Queue(database, KIND, terms, clock=clock)
        self._engine = engine
        self._keeper = Keeper(database, self.queue, self.config, engine.metrics)
        self._aside = Aside()

    async def remember(
        self,
        fact: Fact | str,
        evidence: Sources,
        *,
        confidence: float = STATED,
        verify: bool | None = None,
    ) -> Fact:
        """Store a fact that its evidence carries; `FactNotGrounded` where it does not.

        What could not be checked in `memory_gate.timeout` is stored as unverified with half its confidence,
        what a backend put off as pending. `verify` None goes by the configuration: where the gate is off,
        the fact is stored as asserted.
        """
        kept, _ = await self.admit(fact, evidence, confidence=confidence, verify=verify)
        return kept

    async def admit(
        self, fact: Fact | str, evidence: Sources, *, confidence: float, verify: bool | None
    ) -> tuple[Fact, Decision]:
        """`remember`, with what was decided and why."""
        candidate = _candidate(fact, evidence, confidence)
        if self._is_on() if verify is None else verify:
            decision = await self._decision(candidate)
        else:
            decision = Decision(FactStatus.ASSERTED, confidence)
        if not decision.refused:
            return await asyncio.to_thread(self._keeper.keep, candidate, decision), decision
        await asyncio.to_thread(self._keeper.refuse, candidate, decision)
        raise FactNotGrounded(f"not remembered: {decision.reason}", gap_bits=decision.gap_bits)

    def remember_now(
        self,
        fact: Fact | str,
        evidence: Sources,
        *,
        confidence: float = STATED,
        verify: bool | None = None,
    ) -> Fact:
        """`remember` for synchronous callers."""
        return _loop.run(self.remember(fact, evidence, confidence=confidence, verify=verify))

    def ready(self) -> None:
        """Have the embedded model loaded, which takes a second or two, before the first fact comes."""
        _loop.run(warmed(self._engine))

    def _is_on(self) -> bool:
        settings = self.config.hallucination
        return settings.enabled and settings.memory_gate.enabled

    async def _decision(self, candidate: Candidate) -> Decision:
        rules = self.config.hallucination.memory_gate
        try:
            found = await self._aside.run(verified(self._engine, candidate), rules.timeout * _SHARE)
        except BackendError as error:
            return decide(error, candidate.confidence, rules)
        return decide(found, candidate.confidence, rules)

    def close(self) -> None:
        self._aside.close()

    async def __aenter__(self) -> MemoryGate:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)


def _candidate(fact: Fact | str, evidence: Sources, confidence: float) -> Candidate:
    if not 0.0 <= confidence <= 1.0:
        raise InputError(f"a confidence lies between 0 and 1, not at {confidence}")
    read = not isinstance(fact, Fact)
    made = fact if isinstance(fact, Fact) else fact_of(as_text(fact, "the fact"))
    candidate = Candidate(made, as_sources(evidence), confidence, read)
    if not candidate.text.strip(" ."):
        raise InputError("the fact is empty")
    return replace(candidate, fact=replace(made, text=made.text.strip()))
