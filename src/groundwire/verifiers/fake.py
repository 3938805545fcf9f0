"""A test double: a verifier that answers from a script, and fails or waits on request.

>>> import asyncio
>>> fake = FakeVerifier({"Paris": (0.97, 0.01)}, default=(0.10, 0.05))
>>> estimates = asyncio.run(fake.estimate([Query("Paris is big.", ""), Query("Rome is.", "")]))
>>> [estimate.p_yes for estimate in estimates]
[0.97, 0.1]
>>> fake.queries
2
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from groundwire.errors import GroundwireError
from groundwire.types import Estimate, Query

Answer = Estimate | tuple[float, float]
Script = Callable[[Query], Answer] | Mapping[str, Answer]

_SUPPORTED: Answer = (0.98, 0.01)  # clearly above and below every threshold
_UNSUPPORTED: Answer = (0.05, 0.05)
RECORDED_CALLS = 10_000  # more than any test makes


def verbatim(query: Query) -> Answer:
    """Support exactly the claims that occur verbatim in the context."""
    claim = " ".join(query.claim.casefold().split()).rstrip(".!")
    context = " ".join(query.context.casefold().split())
    return _SUPPORTED if claim and claim in context else _UNSUPPORTED


class FakeVerifier:
    """A verifier whose answers, (P(yes), P(no)) pairs or estimates, are scripted.

    Args:
        script: a function of the query, or a table of claim substrings of which the first match wins.
        default: the answer to claims that are not in the table.
        failing: consumed one item per call; an error is raised, None lets the call through.
        hold: every call waits until this event is set.
        recorded: how many calls to record; the backend `fake` records none, since a server would grow with each.

    `calls` holds the queries of the first calls, `peak` the largest number of simultaneous calls.
    """

    def __init__(
        self,
        script: Script = verbatim,
        *,
        default: Answer = _UNSUPPORTED,
        failing: Iterable[GroundwireError | None] = (),
        hold: asyncio.Event | None = None,
        recorded: int = RECORDED_CALLS,
    ) -> None:
        self._script = script
        self._default = default
        self._failing: Iterator[GroundwireError | None] = iter(failing)
        self._hold = hold
        self._recorded = recorded
        self._running = 0
        self.calls: list[tuple[Query, ...]] = []
        self.peak = 0

    @property
    def queries(self) -> int:
        """Total number of queries."""
        return sum(map(len, self.calls))

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        if len(self.calls) < self._recorded:
            self.calls.append(tuple(queries))
        self._running += 1
        self.peak = max(self.peak, self._running)
        try:
            if self._hold is not None:
                await self._hold.wait()
            else:
                await asyncio.sleep(0)  # yield once, as real backends do, so that tests reveal races
            if (error := next(self._failing, None)) is not None:
                raise error
            return [self._answer(query) for query in queries]
        finally:
            self._running -= 1

    def _answer(self, query: Query) -> Estimate:
        answer = self._script(query) if callable(self._script) else self._look_up(self._script, query.claim)
        return answer if isinstance(answer, Estimate) else Estimate.point(*answer, method="fake")

    def _look_up(self, table: Mapping[str, Answer], claim: str) -> Answer:
        return next((answer for part, answer in table.items() if part in claim), self._default)
