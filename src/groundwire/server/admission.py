"""Admission control: limit the work in progress and reject the rest with the time to come back."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from groundwire.errors import Overloaded

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

ORDINARY_CHARS = 20_000  # characters of an ordinary request, its answer and sources together. A longer one weighs more.
_MAX_WEIGHT_SHARE = 0.5
"""Largest share of the capacity that one request takes, so that another one always fits beside it."""
_BUSY_SHARE = 0.75  # share of the capacity above which optional work is skipped
_ALWAYS_ADMITTED = 8  # requests admitted whatever their estimated wait: a single slow one must not close the server
_SMOOTHING = 0.2  # weight of the newest request in the running estimate of the pace
_MIN_RETRY_SECONDS, _MAX_RETRY_SECONDS = 1.0, 60.0


@dataclass(slots=True)
class Admission:
    """Admit at most `capacity` ordinary requests, and none that would wait longer than `max_wait` seconds.

    A response that arrives after the caller gave up was work for nothing. Thread-safe.
    """

    capacity: int
    max_wait: float = math.inf
    clock: Callable[[], float] = time.monotonic
    inside: float = 0.0
    refused: int = 0
    _seconds_per_request: float = 0.0
    _busy_seconds: float = 0.0
    _updated: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def admitted(self, size: int = 0) -> Iterator[None]:
        """Hold a place for a request of `size` characters; raise `Overloaded` if there is none."""
        weight = self.weight(size)
        with self._lock:
            began, busy_before = self._advance(), self._busy_seconds
            self._enter(weight)
        completed = False
        try:
            yield
            completed = True
        finally:
            with self._lock:
                took = self._advance() - began
                if completed:  # a cancelled or failed request says nothing about the pace
                    self._update_pace(took, self._busy_seconds - busy_before)
                self.inside -= weight

    @property
    def load(self) -> float:
        """Share of the capacity in use, 0 to 1."""
        return min(1.0, self.inside / self.capacity)

    @property
    def is_busy(self) -> bool:
        """True if optional work should be skipped."""
        return self.load >= _BUSY_SHARE

    @property
    def wait(self) -> float:
        """Estimated seconds until everything admitted so far is done."""
        return self.wait_with(0)

    def wait_with(self, more: int) -> float:
        """The same if `more` ordinary requests were admitted too."""
        return (self.inside + more) * self._seconds_per_request

    def weight(self, size: int) -> float:
        return min(max(1.0, size / ORDINARY_CHARS), max(1.0, self.capacity * _MAX_WEIGHT_SHARE))

    def _enter(self, weight: float) -> None:
        total = self.inside + weight
        excess = total - self.capacity
        late = total * self._seconds_per_request - self.max_wait if self.inside >= _ALWAYS_ADMITTED else 0.0
        if excess > 0 or late > 0:
            self.refused += 1
            retry_after = max(excess * self._seconds_per_request, late, _MIN_RETRY_SECONDS)
            raise Overloaded("the server is at capacity", retry_after=min(retry_after, _MAX_RETRY_SECONDS))
        self.inside = total

    def _advance(self) -> float:
        """The current time, with the work done since the last call added to `_busy_seconds`."""
        now = self.clock()
        self._busy_seconds += self.inside * (now - self._updated) if self._updated else 0.0
        self._updated = now
        return now

    def _update_pace(self, took: float, busy: float) -> None:
        # Little's law: with `busy / took` requests inside on average, each taking `took` seconds, one
        # completes every `took * took / busy` seconds.
        newest = took * took / busy if busy else 0.0
        weight = _SMOOTHING if self._seconds_per_request else 1.0
        self._seconds_per_request += (newest - self._seconds_per_request) * weight


def export_metrics(admissions: Sequence[Admission], registry: CollectorRegistry) -> None:
    """Register the load, the estimated wait and the number of rejected requests as gauges."""
    from prometheus_client import Gauge

    def export(name: str, description: str, value: Callable[[], float]) -> None:
        Gauge(f"groundwire_server_{name}", description, registry=registry).set_function(value)

    export("load", "Share of the capacity in use", lambda: max(one.load for one in admissions))
    what = "Estimated seconds until the admitted work is done"
    export("wait_seconds", what, lambda: max(one.wait for one in admissions))
    export("refused_requests", "Requests answered 429 since the start", lambda: sum(one.refused for one in admissions))
