"""What verifying costs is measure, held against its bars and told as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.orchestrator import (
    LARGE,
    LATENCY_BAR,
    SHARE_BAR,
    SMALL,
    ScriptedAnswer,
    TargetFigure,
    dollars,
    jobs,
    measure,
    priced_share,
    real_share,
    run_orchestrator,
)
from rich.console import Console

from groundwire.agent.trajectory import Usage
from groundwire.config import Config

FAKE = Config.load(None, {"hallucination.backend.type": "fake"})


def held(figures: list[TargetFigure]) -> dict[str, TargetFigure]:
    return {figure.name: figure for figure in figures}


@pytest.mark.published("SPEC-16.SC02")
@pytest.mark.spec("SPEC-16.SC05", "SPEC-16.39")
async def test_what_verifying_adds_is_measured_and_what_switching_it_off_leaves() -> None:
    found = held(await measure(FAKE, 3, llm=False))
    for figure in ("verification adds, mode sample, median", "verification adds, mode sample, 95 of 100"):
        assert found[figure].value > 0
        assert found[figure].bar == "< 0.5"
        assert found[figure].met is (found[figure].value < LATENCY_BAR)
    assert found["switched off: answers unchanged"].value == 1.0
    assert found["switched off: verification calls"].value == 0


@pytest.mark.llm
@pytest.mark.published("SPEC-16.SC03")
async def test_the_share_of_time_and_money_is_measured_on_a_real_model(smollm: str) -> None:
    text = "The bridge was opened in 1932. It is 503 metres long and was built by Dorman Long of Middlesbrough, in eight years."
    config = Config.load(None, {"hallucination.timeout": 120.0, "orchestrator.max_tokens": 48})
    figures = [
        *await real_share(config, [ScriptedAnswer(text, text)]),
        *await priced_share(config, [ScriptedAnswer(text, text)], [200]),
    ]
    shares = [figure for figure in figures if figure.bar == f"< {SHARE_BAR:g}"]
    assert len(shares) == 2
    assert all(share.value > 0 and share.met is (share.value < SHARE_BAR) for share in shares)


def test_the_same_jobs_every_time_and_long_enough_to_verify() -> None:
    made = jobs(4)
    assert made == jobs(4)
    assert len(made) == 4
    assert all(len(job.answer) >= 100 and job.text for job in made)


def test_money_is_tokens_times_price() -> None:
    used = Usage(1, 1_000_000, 1_000_000)
    assert (dollars(used, LARGE), dollars(used, SMALL)) == (18.0, 1.5)


def test_figures_for_programs(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    assert run_orchestrator(Console(quiet=True), FAKE, 1, llm=False, out=out) == 0
    assert {"name", "value", "unit", "bar", "met"} == set(json.loads(out.read_text())[0])
