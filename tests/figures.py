"""The counters of `Metrics` as plain numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from prometheus_client import Counter, Histogram

from groundwire.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Figures:
    """A snapshot of the counters, for a terminal or a test."""

    claims_verified: int
    hallucinations: dict[str, int]
    calls: int
    seconds: float
    cache_hits: int
    cache_misses: int
    facts_rejected: int
    failures: dict[str, int]
    detections: int = 0
    detector_flags: dict[str, int] = field(default_factory=dict)

    @property
    def cache_hit_rate(self) -> float:
        return self.cache_hits / max(1, self.cache_hits + self.cache_misses)


def figures(metrics: Metrics) -> Figures:
    lookups = _by_label(metrics._lookups)
    return Figures(
        claims_verified=sum(_by_label(metrics._claims).values()),
        hallucinations=_by_label(metrics._found),
        calls=int(sum(_samples(metrics._seconds, "_count"))),
        seconds=sum(_samples(metrics._seconds, "_sum")),
        cache_hits=lookups.get("hit", 0),
        cache_misses=lookups.get("miss", 0),
        facts_rejected=sum(_by_label(metrics._rejected).values()),
        failures=_by_label(metrics._failures),
        detections=sum(_by_label(metrics._detections).values()),
        detector_flags=_by_label(metrics._flags),
    )


def _samples(metric: Counter | Histogram, suffix: str) -> Iterator[float]:
    return (s.value for family in metric.collect() for s in family.samples if s.name.endswith(suffix))


def _by_label(metric: Counter) -> dict[str, int]:
    """{label value: count}; a counter without labels has the one key ''."""
    samples = (s for family in metric.collect() for s in family.samples if s.name.endswith("_total"))
    return {next(iter(s.labels.values()), ""): int(s.value) for s in samples}
