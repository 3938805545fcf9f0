"""The generation monitor: an answer watched token by token for the signs of invention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from groundwire.config.service import RealTimeConfig
from groundwire.streaming.patterns import PATTERNS, Hit, Pattern
from groundwire.streaming.protocol import halts
from groundwire.streaming.state import Known, Past, Recent, Seen, Sentence, Splitter
from groundwire.types import ClaimVerification, Risk, Source
from groundwire.types.realtime import StreamWarning

TAIL = 4000
"""So many characters of the answer are kept."""

KEPT_WARNINGS = 500
_REMEMBERED = 4096
_SEGMENT = 100


class Judge(Protocol):
    """Gets the text as it comes and judges its finished claims in the background: `Incremental` is one."""

    def push(self, text: str) -> None: ...

    def verdicts(self) -> Sequence[ClaimVerification]: ...


class GenerationMonitor:
    """`update` with each token; read `warnings` and `verdicts`, and ask `should_interrupt`.

    `sources` are what the answer may rest on, `request` what was asked: both are where its particulars may
    come from. Sentences are looked at when the next one begins, so that the warnings are the same however
    the text is cut into tokens; `close()` looks at the last one. What is kept of the stream is bounded:
    the end of its text, the first `KEPT_WARNINGS` warnings and the number of all.
    """

    def __init__(
        self,
        patterns: Sequence[Pattern] = PATTERNS,
        sources: Sequence[Source] = (),
        judge: Judge | None = None,
        config: RealTimeConfig | None = None,
        *,
        request: str = "",
    ) -> None:
        self.patterns = tuple(patterns)
        self._known = Known(sources, request)
        self._judge = judge
        self._config = config or RealTimeConfig()
        self._splitter = Splitter()
        self._past = Past()
        self._tail: list[str] = []
        self._tail_length = 0
        self._told: Recent[tuple[str, str], None] = Recent(_REMEMBERED)
        self._warnings: list[StreamWarning] = []
        self._counts: Counter[str] = Counter()
        self._critical: StreamWarning | None = None
        self._looked_at: Sequence[ClaimVerification] = ()
        self._contradicted: ClaimVerification | None = None

    def prepare(self) -> None:
        """Read the sources now and not at the first sentence; may run in a thread while the model thinks."""
        self._known.read()

    @property
    def current_generation(self) -> str:
        """The end of the text so far, at most `TAIL` characters."""
        return "".join(self._tail)[-TAIL:]

    @property
    def warnings(self) -> tuple[StreamWarning, ...]:
        return tuple(self._warnings)

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each pattern showed, those included that are not kept."""
        return dict(self._counts)

    @property
    def verdicts(self) -> tuple[ClaimVerification, ...]:
        return tuple(self._judge.verdicts()) if self._judge else ()

    def update(self, text: str) -> tuple[StreamWarning, ...]:
        """More of the answer; gives the warnings that it brings."""
        if not text:
            return ()
        if self._judge is not None:
            self._judge.push(text)
        self._keep(text)
        return self._look(self._splitter.feed(text))

    def close(self) -> tuple[StreamWarning, ...]:
        """The answer is over; gives the warnings of its last sentence."""
        return self._look(self._splitter.rest())

    def should_interrupt(self) -> bool:
        """Only where evidence contradicts the answer, or the risk is critical; never for want of support."""
        return self.contradiction() is not None or self._critical is not None

    @property
    def critical(self) -> StreamWarning | None:
        """The first warning of critical risk that is as sure as `realtime.interrupt_threshold` asks."""
        return self._critical

    def contradiction(self) -> ClaimVerification | None:
        """The first claim that the sources contradict, as surely as an interruption needs."""
        found = self._judge.verdicts() if self._judge and self._contradicted is None else self._looked_at
        if found is not self._looked_at:
            self._looked_at = found
            self._contradicted = next((v for v in found if halts(v, self._config.interrupt_threshold)), None)
        return self._contradicted

    def _keep(self, text: str) -> None:
        self._tail.append(text)
        self._tail_length += len(text)
        if self._tail_length > 2 * TAIL:
            self._tail = [self.current_generation]
            self._tail_length = TAIL

    def _look(self, sentences: Sequence[Sentence]) -> tuple[StreamWarning, ...]:
        if not sentences:
            return ()
        found: list[StreamWarning] = []
        for sentence in sentences:
            self._past.follow(sentence)
            seen = Seen(sentence, self._known, self._past)
            for pattern in self.patterns:
                if pattern.applies(seen):
                    found += [w for hit in pattern.find(seen) if (w := self._warn(pattern, seen, hit))]
        return tuple(found)

    def _warn(self, pattern: Pattern, seen: Seen, hit: Hit) -> StreamWarning | None:
        """A warning, unless the same was said before."""
        start, end = seen.start + hit.start, seen.start + hit.end
        key = (pattern.name, hit.key or f"@{start}")
        if key in self._told:
            return None
        self._told.put(key, None)
        self._counts[pattern.name] += 1
        segment = seen.text[hit.start : hit.end][:_SEGMENT]
        warning = StreamWarning(
            pattern.name, start, end, segment, round(pattern.confidence(seen, hit), 3), pattern.risk, hit.note
        )
        if len(self._warnings) < KEPT_WARNINGS:
            self._warnings.append(warning)
        if pattern.risk is Risk.CRITICAL and warning.confidence >= self._config.interrupt_threshold:
            self._critical = self._critical or warning
        return warning
