"""Metrics for operators, and one log line per verdict and per run of the detectors.

Neither contains text of a claim or a source, unless `log.include_text` is set.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from collections import Counter as Tally
from collections.abc import Iterable
from functools import cache
from typing import TextIO

from groundwire.config import Config
from groundwire.types import ClaimVerification, Detection, Status

VERDICTS, DETECTIONS = "groundwire.verdicts", "groundwire.detections"

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024)


class Metrics:
    """Counters and histograms in their own registry; `render()` is the body of `/metrics`."""

    def __init__(self) -> None:
        # Imported here: it would add a tenth of a second to `import groundwire`.
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self.registry = own = CollectorRegistry()
        self._claims = Counter("groundwire_claims_verified", "Claims with a verdict", ["backend"], registry=own)
        self._found = Counter("groundwire_hallucinations_detected", "Flagged claims", ["status"], registry=own)
        self._seconds = Histogram(
            "groundwire_verification_seconds", "One call", ["backend"], registry=own, buckets=_SECONDS
        )
        self._sizes = Histogram(
            "groundwire_verification_batch_size", "Queries per call", ["backend"], registry=own, buckets=_SIZES
        )
        self._lookups = Counter("groundwire_cache_lookups", "Queries by hit or miss", ["result"], registry=own)
        self._rejected = Counter("groundwire_facts_rejected", "Facts rejected", registry=own)
        self._failures = Counter("groundwire_verification_failures", "Not checked", ["code"], registry=own)
        self._detections = Counter("groundwire_detections", "Responses the detectors read", registry=own)
        self._flags = Counter("groundwire_detector_flags", "Flags by type", ["type"], registry=own)
        ratio = Gauge("groundwire_cache_hit_ratio", "Share of queries answered from the cache", registry=own)
        ratio.set_function(self._hit_ratio)

    def verdicts(self, verifications: Iterable[ClaimVerification], backend: str) -> None:
        """Count verified claims, and flagged ones by status; unchecked claims were not verified."""
        for claim in verifications:
            if claim.status is not Status.UNCHECKED:
                self._claims.labels(backend).inc()
            if claim.is_flagged:
                self._found.labels(claim.status.value).inc()

    def call(self, backend: str, size: int, seconds: float) -> None:
        self._seconds.labels(backend).observe(seconds)
        self._sizes.labels(backend).observe(size)

    def failures(self, code: str, count: int = 1) -> None:
        self._failures.labels(code).inc(count)

    def lookups(self, hits: int, misses: int) -> None:
        self._lookups.labels("hit").inc(hits)
        self._lookups.labels("miss").inc(misses)

    def _hit_ratio(self) -> float:
        (family,) = self._lookups.collect()
        counts = {s.labels["result"]: s.value for s in family.samples if s.name.endswith("_total")}
        return counts.get("hit", 0.0) / max(1.0, sum(counts.values()))

    def fact_rejected(self) -> None:
        self._rejected.inc()

    def detection(self, found: Detection) -> None:
        """Count a response that the detectors read, and their flags by type."""
        self._detections.inc()
        for flag in found.flags:
            self._flags.labels(flag.type.value).inc()

    def render(self) -> bytes:
        """The Prometheus text format."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)


@cache
def default_metrics() -> Metrics:
    """The instance of this process, for callers that pass none."""
    return Metrics()


def log_verdict(
    claim: ClaimVerification, *, backend: str, seconds: float, response_id: str = "", source_text: bool = False
) -> None:
    """Log a verdict as one JSON line to `groundwire.verdicts` at level INFO."""
    logger = logging.getLogger(VERDICTS)
    if not logger.isEnabledFor(logging.INFO):
        return
    fields: dict[str, object] = {
        "event": "verdict",
        "response": response_id,
        "claim": claim.claim_id,
        "claim_sha256": hashlib.sha256(claim.claim_text.encode(errors="surrogatepass")).hexdigest()[:16],
        "status": claim.status.value,
        "gap_type": claim.gap_type.value if claim.gap_type else None,
        "flagged": claim.is_flagged,
        "certain": claim.certain,
        "p1": claim.p1,
        "p0": claim.p0,
        "required_bits": claim.required_bits,
        "observed_bits": claim.observed_bits,
        "gap_bits": claim.budget_gap,
        "citations": list(claim.citations),
        "backend": backend,
        "method": claim.method,
        "seconds": round(seconds, 4),
    }
    if source_text:
        evidence = [ref.text for ref in claim.evidence]
        fields |= {"claim_text": claim.claim_text, "reason": claim.reason, "evidence": evidence}
    logger.info(json.dumps(fields), extra={"fields": fields})


def log_detection(found: Detection, response_id: str = "") -> None:
    """Log a run of the detectors as one JSON line to `groundwire.detections` at level INFO, without text."""
    logger = logging.getLogger(DETECTIONS)
    if not logger.isEnabledFor(logging.INFO):
        return
    fields: dict[str, object] = {
        "event": "detection",
        "response": response_id,
        "total_flags": len(found.flags),
        "high_confidence": found.high_confidence,
        "types": dict(Tally(flag.type.value for flag in found.flags)),
        "claims_checked": found.claims_checked,
        "errors": len(found.errors),
        "seconds": round(found.seconds, 4),
    }
    logger.info(json.dumps(fields), extra={"fields": fields})


class JsonLines(logging.Formatter):
    """One JSON object per line; the `fields` of a record replace its message."""

    def format(self, record: logging.LogRecord) -> str:
        head = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        fields = getattr(record, "fields", None) or {"message": record.getMessage()}
        if record.exc_info:
            fields = {**fields, "exception": self.formatException(record.exc_info)}
        return json.dumps({**head, **fields})


def setup_logging(config: Config, stream: TextIO | None = None) -> None:
    """Send the logger `groundwire` to `stream` (default stderr), as configured. May be called again."""
    handler = logging.StreamHandler(stream or sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if config.log.format == "json" else text)
    handler.name = "groundwire"
    logger = logging.getLogger("groundwire")
    for old in [old for old in logger.handlers if old.name == handler.name]:
        logger.removeHandler(old)
    logger.addHandler(handler)
    logger.setLevel(config.log.level.upper())
    logger.propagate = False
