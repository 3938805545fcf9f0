"""What an operator sees: figures in a registry of our own, and one line per verdict without any text."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest
from prometheus_client import REGISTRY
from tests.figures import figures as figures_of

from groundwire.config import Config, LogConfig
from groundwire.engine import Groundwire
from groundwire.metrics import Metrics, default_metrics, log_verdict, setup_logging
from groundwire.types import ClaimVerification, EvidenceRef, GapType, Status

SECRET = "the patient has gout"
VERDICT = ClaimVerification(
    claim_id="c1",
    claim_text=SECRET,
    start=0,
    end=20,
    citations=("S0",),
    evidence=(EvidenceRef("S0", 0, 9, "no gout at all"),),
    confidence=0.95,
    p1=0.02,
    p0=0.05,
    required_bits=3.9,
    observed_bits=-0.03,
    budget_gap=3.93,
    gap_low=3.9,
    gap_high=4.0,
    status=Status.CONTRADICTED,
    gap_type=GapType.CONTRADICTED,
    is_flagged=True,
    reason="evidence says no gout",
    certain=True,
    method="lexical",
)


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Whatever a test configures, the logger is afterwards as it was."""
    logger = logging.getLogger("groundwire")
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield io.StringIO()
    logger.handlers[:], logger.propagate = before[0], before[2]
    logger.setLevel(before[1])


def configured(stream: io.StringIO, **log: object) -> None:
    setup_logging(Config(log=LogConfig.model_validate(log)), stream)


def say(**more: bool) -> None:
    log_verdict(VERDICT, backend="local", seconds=0.01234, response_id="r1", **more)


class TestFigures:
    @pytest.mark.spec("SPEC-08.40")
    def test_the_five_figures_are_counted(self) -> None:
        metrics = Metrics()
        metrics.verdicts(
            [
                VERDICT,
                replace(VERDICT, status=Status.NOT_IN_CONTEXT),
                replace(VERDICT, status=Status.ENTAILED, is_flagged=False),
                replace(VERDICT, status=Status.UNCHECKED, is_flagged=False),
            ],
            "local",
        )
        metrics.call("local", size=4, seconds=0.25)
        metrics.lookups(hits=3, misses=1)
        metrics.fact_rejected()
        figures = figures_of(metrics)
        assert figures.claims_verified == 3
        assert figures.hallucinations == {"CONTRADICTED": 1, "NOT_IN_CONTEXT": 1}
        assert (figures.calls, figures.seconds) == (1, 0.25)
        assert figures.cache_hit_rate == 0.75
        assert figures.facts_rejected == 1

    @pytest.mark.spec("SPEC-08.40")
    def test_they_are_rendered_for_prometheus(self) -> None:
        metrics = Metrics()
        metrics.verdicts([VERDICT], "local")
        metrics.call("local", size=4, seconds=0.03)
        metrics.lookups(hits=1, misses=1)
        metrics.failures("timeout", 2)
        text = metrics.render().decode()
        for line in (
            'groundwire_claims_verified_total{backend="local"} 1.0',
            'groundwire_hallucinations_detected_total{status="CONTRADICTED"} 1.0',
            'groundwire_verification_seconds_bucket{backend="local",le="0.05"} 1.0',
            'groundwire_verification_batch_size_sum{backend="local"} 4.0',
            'groundwire_cache_lookups_total{result="hit"} 1.0',
            "groundwire_cache_hit_ratio 0.5",
            "groundwire_facts_rejected_total 0.0",
            "groundwire_detections_total 0.0",
            'groundwire_verification_failures_total{code="timeout"} 2.0',
        ):
            assert line in text

    def test_nothing_counted_is_all_zero(self) -> None:
        figures = figures_of(Metrics())
        assert (figures.claims_verified, figures.cache_hit_rate, figures.hallucinations) == (0, 0.0, {})

    def test_instances_do_not_share_and_the_global_registry_stays_clean(self) -> None:
        one, other = Metrics(), Metrics()
        one.fact_rejected()
        assert (figures_of(one).facts_rejected, figures_of(other).facts_rejected) == (1, 0)
        assert not any(family.name.startswith("groundwire") for family in REGISTRY.collect())

    def test_the_default_is_one_instance(self) -> None:
        assert default_metrics() is default_metrics()

    def test_the_client_library_is_not_imported_before_it_is_used(self) -> None:
        script = "import groundwire.metrics, sys; sys.exit('prometheus_client' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


class TestLog:
    @pytest.mark.spec("SPEC-08.41")
    def test_a_verdict_is_one_line_of_json_with_everything_but_text(self, stream: io.StringIO) -> None:
        configured(stream, level="info")
        say()
        (line,) = stream.getvalue().splitlines()
        event = json.loads(line)
        assert event["event"] == "verdict"
        assert (event["response"], event["claim"], event["backend"]) == ("r1", "c1", "local")
        assert (event["status"], event["gap_type"], event["method"]) == ("CONTRADICTED", "contradicted", "lexical")
        assert (event["p1"], event["p0"], event["gap_bits"], event["seconds"]) == (0.02, 0.05, 3.93, 0.0123)
        assert len(event["claim_sha256"]) == 16
        assert "gout" not in line

    @pytest.mark.spec("SPEC-08.41")
    def test_text_is_logged_only_when_asked_for(self, stream: io.StringIO) -> None:
        configured(stream, level="info")
        say(source_text=True)
        event = json.loads(stream.getvalue())
        assert (event["claim_text"], event["evidence"]) == (SECRET, ["no gout at all"])

    def test_the_default_level_is_silent_about_verdicts(self, stream: io.StringIO) -> None:
        configured(stream)
        say()
        logging.getLogger("groundwire.stores").error("something")
        assert json.loads(stream.getvalue())["message"] == "something"

    def test_as_text_the_line_still_holds_the_json(self, stream: io.StringIO) -> None:
        configured(stream, level="info", format="text")
        say()
        head, _, tail = stream.getvalue().partition(": ")
        assert "INFO groundwire.verdicts" in head
        assert json.loads(tail)["claim"] == "c1"

    async def test_a_run_of_the_detectors_is_one_line_and_counted_by_type(self, stream: io.StringIO) -> None:
        configured(stream, level="info")
        metrics = Metrics()
        async with Groundwire(Config(), backend="fake", metrics=metrics) as engine:
            await engine.detect("The car is red. The car is blue.")
        (line,) = stream.getvalue().splitlines()
        event = json.loads(line)
        assert (event["event"], event["total_flags"], event["high_confidence"]) == ("detection", 1, 1)
        assert event["types"] == {"LogicalInconsistency": 1}
        assert "car" not in line
        figures = figures_of(metrics)
        assert (figures.detections, figures.detector_flags) == (1, {"LogicalInconsistency": 1})

    def test_setting_up_twice_logs_once(self, stream: io.StringIO) -> None:
        configured(stream, level="info")
        configured(stream, level="info")
        say()
        assert len(stream.getvalue().splitlines()) == 1

    def test_an_exception_stays_one_line(self, stream: io.StringIO) -> None:
        configured(stream)
        try:
            raise ValueError("broken")
        except ValueError:
            logging.getLogger("groundwire.x").exception("could not")
        (line,) = stream.getvalue().splitlines()
        assert "ValueError: broken" in json.loads(line)["exception"]

    def test_a_claim_that_is_no_valid_unicode_can_be_logged(self, stream: io.StringIO) -> None:
        configured(stream, level="info")
        log_verdict(replace(VERDICT, claim_text="\ud800"), backend="local", seconds=0.0, source_text=True)
        assert stream.getvalue().isascii()
        assert json.loads(stream.getvalue())["claim"] == "c1"
