"""Whether the answers in use still look like the calibration rows: a simulation with known truth."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchmarks.drift import Traffic, answers_until_alarm, calibrated, started
from tests.serving import served
from typer.testing import CliRunner

from groundwire.cli import main
from groundwire.cli.doctor import _drift
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.metrics import Metrics
from groundwire.verdicts.calibration import LEVEL, DriftMonitor, open_monitor


def test_without_drift_there_is_no_alarm_however_long_it_runs() -> None:
    """By the bound, one run in a hundred may have an alarm; of 30, 2 would be very unlikely."""
    runs = [started(seed) for seed in range(30)]
    alarms = [answers_until_alarm(traffic, monitor, 2000) for traffic, monitor, _ in runs]
    assert LEVEL == 0.01
    assert sum(alarm is not None for alarm in alarms) <= 1


@pytest.mark.parametrize(("shift", "most"), [(0.25, 400), (0.5, 120)])
def test_a_shift_is_noticed_before_the_promised_rate_is_exceeded_by_much(shift: float, most: int) -> None:
    for seed in range(8):
        traffic, monitor, cut = started(seed)
        usual = list(traffic.answers(1000))
        for _, risk in usual:
            monitor.add(risk)
        assert monitor.status.alarms == ()
        traffic.shift = shift
        shifted = list(traffic.answers(most))
        noticed = next(n for n, (_, risk) in enumerate(shifted, 1) if _alarm_after(monitor, risk))

        def false_alarms(answers: list[tuple[bool, float]], cut: float = cut) -> float:
            supported = [risk for is_supported, risk in answers if is_supported]
            return sum(risk > cut for risk in supported) / len(supported)

        assert false_alarms([*usual, *shifted[:noticed]]) - false_alarms(usual) < 0.03


def _alarm_after(monitor: DriftMonitor, risk: float) -> bool:
    monitor.add(risk)
    return bool(monitor.status.alarms)


def test_a_slow_drift_is_noticed_on_its_way() -> None:
    for seed in range(4):
        traffic, monitor, _ = started(seed)
        for _, risk in traffic.answers(1000):
            monitor.add(risk)
        for step in range(30):  # from 5 % of false alarms to 34 % in 3,000 answers
            traffic.shift = 0.5 * step / 30
            if answers_until_alarm(traffic, monitor, 100) is not None:
                break
        assert traffic.shift < 0.3


def test_more_flagged_answers_are_told_from_lower_risks(caplog: pytest.LogCaptureFixture) -> None:
    _, monitor, _ = started(1)
    with caplog.at_level(logging.WARNING, "groundwire"):
        for _ in range(60):
            monitor.add(0.95)
    assert "more answers are flagged" in monitor.status.alarms[-1]
    assert "calibrate anew" in caplog.messages[0]
    _, monitor, _ = started(1)
    for _ in range(60):
        monitor.add(0.001)
    (alarm,) = monitor.status.alarms
    assert "distributed differently" in alarm


def test_the_stability_index_is_small_for_the_same_answers_and_large_for_others() -> None:
    traffic, monitor, _ = started(3)
    assert monitor.status.stability_index is None
    for shift, low, high in ((0.0, 0.0, 0.1), (1.0, 0.25, 9.0)):
        traffic.shift = shift
        for _, risk in traffic.answers(1500):
            monitor.add(risk)
        assert low <= (monitor.status.stability_index or 0.0) < high


def test_a_restart_continues_and_a_new_calibration_starts_anew(tmp_path: Path) -> None:
    state = str(tmp_path / "new" / "drift.json")
    traffic, monitor, cut = started(5, state)
    for _, risk in traffic.answers(250):
        monitor.add(risk)
    monitor.save()
    again = DriftMonitor(monitor._calibration, cut, state)
    assert again.status == monitor.status
    assert (tmp_path / "new" / "drift.json").stat().st_size < 2000
    other, cut = calibrated(traffic)
    assert DriftMonitor(other, cut, state).status.answers == 0


def _without_counts(state: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in state.items() if key != "counts"}


@pytest.mark.parametrize(
    "broken",
    [
        lambda state: "{",
        lambda state: "[]",
        lambda state: json.dumps(_without_counts(state)),
        lambda state: json.dumps(state | {"counts": [1, 2]}),
        lambda state: json.dumps(state | {"recent": ["many"] * len(state["recent"])}),
        lambda state: json.dumps(state | {"games": {"risks": [1, 2]}}),
    ],
)
def test_a_broken_state_file_is_said_and_the_tests_start_anew(
    broken: Callable[[dict[str, Any]], str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "drift.json"
    _, monitor, cut = started(5, str(path))
    monitor.add(0.5)
    monitor.save()
    path.write_text(broken(json.loads(path.read_text())))
    again = DriftMonitor(monitor._calibration, cut, str(path))
    assert again.status.answers == 0
    assert "start anew" in caplog.text
    again.add(0.5)
    assert again.status.answers == 1


def test_doctor_does_not_call_a_state_that_it_cannot_read_free_of_drift(tmp_path: Path) -> None:
    (tmp_path / "drift.json").write_text("{")
    calibration, cut = calibrated(Traffic(random.Random(1)))
    settings = {
        "risk_threshold": cut,
        "calibration": calibration.model_dump(),
        "server.drift_path": str(tmp_path / "drift.json"),
    }
    found = _drift(Config.load(overrides=settings))
    assert (found.state, "cannot be read" in found.detail) == ("warn", True)


async def test_only_answers_of_the_calibrated_backend_and_profile_count() -> None:
    _, monitor, _ = started(5)
    engine = Groundwire(backend="fake", metrics=Metrics())
    engine.drift = monitor
    report = await engine.check("It is red.", "It is red.")
    assert monitor.status.answers == 1
    await engine.variant(profile="rag").check("The tower is red and tall.", "The tower is red and tall.")
    monitor.observe(replace(report, error="timeout: late"))
    await engine.check("Hello!", "It is red.")
    assert monitor.status.answers == 1


def test_a_threshold_that_was_changed_by_hand_is_not_watched(caplog: pytest.LogCaptureFixture) -> None:
    calibration, cut = calibrated(Traffic(random.Random(1)))
    settings = {"calibration": calibration.model_dump(), "risk_threshold": cut}
    assert open_monitor(Config.load(overrides=settings)) is not None
    assert open_monitor(Config.load(overrides=settings | {"risk_threshold": 0.987})) is None
    assert "not the calibrated one" in caplog.text


def test_drift_is_in_the_metrics_in_readiness_and_in_doctor(tmp_path: Path) -> None:
    calibration, cut = calibrated(Traffic(random.Random(1)))
    path = str(tmp_path / "drift.json")
    settings = {
        "hallucination.backend.type": "fake",
        "risk_threshold": cut,
        "calibration": calibration.model_dump(),
        "store.url": str(tmp_path / "store.db"),
        "server.drift_path": path,
    }
    body = {"response": "The sky is green.", "context": "The sky is blue."}
    with served(settings) as running:
        assert "no drift" in running.client.get("/readyz").json()["drift"]
        for _ in range(40):
            running.client.post("/v1/check", json=body)
        metrics = running.client.get("/metrics").text
        assert "calibrate anew" in running.client.get("/readyz").json()["drift"]
    assert "groundwire_drift_alarm 1.0" in metrics
    assert "groundwire_drift_answers 40.0" in metrics
    assert "groundwire_drift_stability_index NaN" in metrics  # not known before 500 answers
    assert 'groundwire_drift_evidence{test="flagged"}' in metrics
    config = tmp_path / "groundwire.yaml"
    nested = {
        "hallucination": {"backend": {"type": "fake"}},
        "risk_threshold": cut,
        "server": {"drift_path": path},
        "calibration": calibration.model_dump(mode="json"),
    }
    config.write_text(yaml.safe_dump(nested))
    shown = CliRunner().invoke(main.app, ["doctor", "--config", str(config)], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert "more answers are flagged than among the calibration rows" in " ".join(shown.stdout.split())
