"""The gate itself: `remember` verifies a fact before it is stored, and never takes long about it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType

from groundwire import _loop
from groundwire.config import Config
from groundwire.engine import Groundwire, Sources, as_sources, as_text
from groundwire.errors import BackendError, FactNotGrounded, InputError
from groundwire.memory.aside import Aside
from groundwire.memory.decide import Decision, decide
from groundwire.memory.keep import KIND, Candidate, Keeper
from groundwire.memory.sentence import fact_of
from groundwire.memory.verifying import verified, warmed
from groundwire.stores.database import Database
from groundwire.stores.queue import Queue, Terms
from groundwire.types import Fact, FactStatus

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
