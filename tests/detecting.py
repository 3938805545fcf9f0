"""Build the context of a single detector for tests."""

from __future__ import annotations

from datetime import datetime

from groundwire.detectors.context import DetectionContext, read_dialogue, segment_response
from groundwire.types import Source, Turn, Verifier

NOW = datetime(2026, 6, 15)


def context_of(
    text: str,
    *,
    now: datetime = NOW,
    sources: tuple[str, ...] = (),
    turns: tuple[tuple[str, str], ...] = (),
    verifier: Verifier | None = None,
) -> DetectionContext:
    """`turns` are (role, text), oldest first."""
    said = tuple(Turn(i, role, spoken) for i, (role, spoken) in enumerate(turns, start=1))
    given = tuple(Source(f"S{i}", source) for i, source in enumerate(sources))
    return DetectionContext(
        text, segment_response(text, now), now, read_dialogue(said, now), sources=given, verifier=verifier
    )
