"""The generation monitor: an answer watched token by token for the signs of invention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from groundwire.config.service import RealTimeConfig
from groundwire.types import ClaimVerification, Source
from groundwire.types.realtime import StreamWarning


class Judge(Protocol):
    """Gets the text as it comes and judges its finished claims in the background: `Incremental` is one."""

    def push(self, text: str) -> None: ...

    def verdicts(self) -> Sequence[ClaimVerification]: ...


class GenerationMonitor:
    """`update` with each token; read `warnings` and `verdicts`, and ask `should_interrupt`.

    `sources` are what the answer may rest on, `request` what was asked. `close()` looks at the end that no
    full stop ended.
    """

    def __init__(
        self,
        patterns: Sequence[object] = (),
        sources: Sequence[Source] = (),
        judge: Judge | None = None,
        config: RealTimeConfig | None = None,
        *,
        request: str = "",
    ) -> None:
        self.patterns = tuple(patterns)
        self._judge = judge
        self._config = config or RealTimeConfig()
        self.current_generation = ""

    @property
    def warnings(self) -> tuple[StreamWarning, ...]:
        return ()

    @property
    def verdicts(self) -> tuple[ClaimVerification, ...]:
        return tuple(self._judge.verdicts()) if self._judge else ()

    def update(self, text: str) -> tuple[StreamWarning, ...]:
        """More of the answer; gives the warnings that it brings."""
        if self._judge is not None:
            self._judge.push(text)
        return ()

    def close(self) -> tuple[StreamWarning, ...]:
        """The answer is over."""
        return ()

    def should_interrupt(self) -> bool:
        """Only where evidence contradicts the answer, or the risk is critical; never for want of support."""
        return any(v.status.value == "CONTRADICTED" for v in self.verdicts)
