"""The outermost wrapper: whatever goes wrong inside, one well-formed estimate per query comes out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from traceback import extract_tb

from groundwire.errors import BackendError, GroundwireError
from groundwire.metrics import Metrics
from groundwire.types import Estimate, Query, Verifier
from groundwire.verifiers.failure import all_failed, brief, failure_code, matched

_log = logging.getLogger(__name__)
_SLACK = 1e-6


class Guarded:
    """Errors become failed estimates, and so do numbers that are none; every call is counted and timed.
    Logs quote servers and models only where `details` are asked for.

    Cancellation passes through. What is not a `GroundwireError` is a bug of ours: it is logged as one, and
    the claims are unchecked all the same, since it must not take the user's work along.
    """

    def __init__(
        self,
        inner: Verifier,
        backend: str,
        *,
        metrics: Metrics | None = None,
        details: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._inner = inner
        self._backend = backend
        self._metrics = metrics
        self._details = details
        self._clock = clock

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        if not queries:
            return []
        began = self._clock()
        try:
            estimates = matched(await self._inner.estimate(queries), len(queries))
        except GroundwireError as error:
            estimates = all_failed(len(queries), error)
        except Exception as bug:  # the one place that catches everything
            estimates = all_failed(len(queries), self._reported(bug))
        estimates = [sound(estimate) for estimate in estimates]
        self._record(estimates, self._clock() - began)
        return estimates

    def _reported(self, bug: Exception) -> BackendError:
        """Where it happened and what it was; what it said may quote a source."""
        place = extract_tb(bug.__traceback__)[-1]
        what = f"{type(bug).__name__} in {Path(place.filename).name}:{place.lineno}"
        _log.error("%s: a bug: %s", self._backend, what, exc_info=bug if self._details else None)
        return BackendError(f"the verifier broke ({what})", hint="this is a bug, please report it")

    def _record(self, estimates: Sequence[Estimate], seconds: float) -> None:
        failures = [estimate for estimate in estimates if estimate.error]
        if failures:
            why = failures[0].error or ""
            said = why if self._details else brief(why)
            _log.warning("%s: %d of %d not checked: %s", self._backend, len(failures), len(estimates), said)
        if self._metrics is not None:
            self._metrics.call(self._backend, len(estimates), seconds)
            for estimate in failures:
                self._metrics.failures(failure_code(estimate) or "error")


def sound(estimate: Estimate) -> Estimate:
    """The estimate itself, or a failed one where its numbers are not probabilities.

    >>> sound(Estimate.point(float("nan"), 0.0, "made up")).error
    'error: made up gave numbers that are no probabilities'
    """
    shares = (estimate.p_yes, estimate.p_no, estimate.p_unsure, estimate.low, estimate.high)
    in_range = all(isfinite(share) and -_SLACK <= share <= 1 + _SLACK for share in shares)
    adds_up = in_range and abs(sum(shares[:3]) - 1.0) < 1e-3
    ordered = estimate.low - _SLACK <= estimate.p_yes <= estimate.high + _SLACK
    if estimate.error is not None or (adds_up and ordered):
        return estimate
    return Estimate.failed(
        f"error: {estimate.method} gave numbers that are no probabilities", estimate.method
    )
