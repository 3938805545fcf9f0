from __future__ import annotations

import pytest
from benchmarks.audit import TRACES, measure, read_traces

from groundwire import Config, Groundwire


@pytest.mark.parametrize("name", ["development", "held_out"])
def test_each_set_has_30_sound_and_30_unsound_traces(name: str) -> None:
    traces = list(read_traces((TRACES / f"{name}.txt").read_text()))
    assert (len(traces), sum(bool(trace.unsound) for trace in traces)) == (60, 30)


async def test_both_error_rates_are_counted_by_steps() -> None:
    text = "context:\n- 2 + 2 = 4.\n! 2 + 3 = 6.\n! 2 + 4 = 6.\n\ncontext:\n- 2 + 5 = 8."
    rates = await measure(list(read_traces(text)), Groundwire(Config(), backend="fake"))
    assert (rates.sound, rates.flagged, rates.unsound, rates.missed) == (2, 1, 2, 1)
    assert str(rates) == "1 of 2 sound steps flagged (50.0%), 1 of 2 unsound ones caught (50.0%)"
