"""The harness of `make chaos`: a few of its seeds, and that it finds what it looks for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from rich.console import Console
from tests import chaos
from tests.chaos import PLACES, ChaosVerifier, World, plan, run

from groundwire.types import Estimate, Query

QUIET = Console(quiet=True)


def seed_of(path: chaos.ChaosPath) -> int:
    """The first seed that is about this path."""
    return next(seed for seed in range(len(PLACES)) if plan(seed)[0] is path)


def test_every_place_has_a_seed_and_every_seed_keeps_its_meaning() -> None:
    alone = {plan(seed) for seed in range(len(PLACES))}
    assert len(alone) == len(PLACES)
    several = plan(len(PLACES) + 7)
    assert several == plan(len(PLACES) + 7)
    assert 2 <= len(several[1]) <= 4


def test_no_promise_is_broken_by_the_first_seeds() -> None:
    tally = run(range(24), QUIET)
    assert tally.violations == []
    assert tally.injected >= 12
    assert str(tally).startswith(f"chaos: 24 seeds, {tally.injected} faults injected")


def test_a_clean_verdict_on_a_wrong_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def believe(self: ChaosVerifier, queries: Sequence[Query]) -> list[Estimate]:
        return [Estimate.point(0.99 if "330" in query.context else 0.05, 0.0, "fake") for query in queries]

    seed = seed_of(chaos.guard)
    with monkeypatch.context() as patch, chaos.worlds() as world:
        patch.setattr(ChaosVerifier, "estimate", believe)
        tally = chaos.Tally()
        chaos.run_seed(seed, world, tally)
    [violation] = tally.violations
    assert violation.startswith(f"seed {seed}: guard ")
    assert "exit code 0 over a wrong answer" in violation


def test_descriptors_that_stay_open_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def leak(world: World) -> None:
        opened.extend([(world.folder / f"{n}").open("w") for n in range(20)])

    monkeypatch.setattr(chaos, "PATHS", {leak: {}})
    monkeypatch.setattr(chaos, "plan", lambda _: (leak, ()))
    tally = run([5], QUIET)
    for file in opened:
        file.close()
    assert [violation.split(":")[0] for violation in tally.violations] == ["seed 5"]
