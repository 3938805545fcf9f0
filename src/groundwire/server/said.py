"""What people said of the same claims before, added to a report; a store in trouble costs nobody that."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from groundwire.errors import GroundwireError
from groundwire.stores.database import Database
from groundwire.stores.feedback import Opinions
from groundwire.types import Feedback, HallucinationReport

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
