"""How much may be in work at once: beyond it a caller hears when to come back instead of waiting."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from groundwire.errors import Overloaded

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

ORDINARY = 20_000
"""Characters of an ordinary request: its answer and its sources. A longer one counts for more."""
_LARGEST = 0.5  # of the capacity: however large a request is, another one fits beside it
_BUSY = 0.75  # of the capacity: work that may be left out is left out
_ALWAYS = 8  # as many are let in whatever the pace is thought to be: they may well run side by side
_NEWEST = 0.2  # how much the newest request moves the estimate of the pace
_SOONEST, _LATEST = 1.0, 60.0


@dataclass(slots=True)
class Admission:
    """At most `capacity` ordinary requests are in work or wait, and nobody is let in who would probably wait
    longer than `patience` seconds: an answer that comes too late was work for nothing. Safe for threads.
    """

    capacity: int
    patience: float = math.inf
    clock: Callable[[], float] = time.monotonic
    inside: float = 0.0
    refused: int = 0
    _pace: float = 0.0
    _spent: float = 0.0
    _since: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def admitted(self, size: int = 0) -> Iterator[None]:
        """A place for a request of so many characters, given back at the end; `Overloaded` where none is."""
        weight = self.weight(size)
        with self._lock:
            began, spent = self._now(), self._spent
            self._enter(weight)
        done = False
        try:
            yield
            done = True
        finally:
            with self._lock:
                took = self._now() - began
                if done:  # how long a caller stayed who left, or was refused, tells nothing
                    self._learn(took, self._spent - spent)
                self.inside -= weight

    @property
    def load(self) -> float:
        """How much of the capacity is taken, 0 to 1."""
        return min(1.0, self.inside / self.capacity)

    @property
    def is_busy(self) -> bool:
        """Is there so much to do that what can be left out should be?"""
        return self.load >= _BUSY

    @property
    def wait(self) -> float:
        """In how many seconds all that is inside will be done, at the pace so far."""
        return self.inside * self._pace

    def weight(self, size: int) -> float:
        return min(max(1.0, size / ORDINARY), max(1.0, self.capacity * _LARGEST))

    def _enter(self, weight: float) -> None:
        then = self.inside + weight
        over = then - self.capacity
        late = then * self._pace - self.patience if self.inside >= _ALWAYS else 0.0
        if over > 0 or late > 0:
            self.refused += 1
            soon = min(max(over * self._pace, late, _SOONEST), _LATEST)
            raise Overloaded("the server has more to do than it can", retry_after=soon)
        self.inside = then

    def _now(self) -> float:
        """The time; what was inside since it was last asked for is added up."""
        now = self.clock()
        self._spent += self.inside * (now - self._since) if self._since else 0.0
        self._since = now
        return now

    def _learn(self, took: float, spent: float) -> None:
        """By Little's law: so much inside on average, each so long, makes one done every so often."""
        newest = took * took / spent if spent else 0.0
        self._pace += (newest - self._pace) * (_NEWEST if self._pace else 1.0)


def watch(admission: Admission, registry: CollectorRegistry) -> None:
    """Its figures among the others that an operator watches."""
    from prometheus_client import Gauge

    for name, about, value in (
        ("load", "Share of the capacity that is taken", lambda: admission.load),
        ("wait_seconds", "How long what is inside will take, as estimated", lambda: admission.wait),
        ("refused_requests", "Requests answered 429 since the start", lambda: float(admission.refused)),
    ):
        Gauge(f"groundwire_server_{name}", about, registry=registry).set_function(value)
