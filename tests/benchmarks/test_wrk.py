"""The real server under the load of the real wrk, where that is installed."""

from __future__ import annotations

import shutil

import pytest
from benchmarks.wrk import WrkTerms, measure

from groundwire.errors import InputError


@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
def test_wrk_and_our_own_generator_measure_the_same_server() -> None:
    figures = {figure.name: figure.value for figure in measure(WrkTerms(seconds=1, connections=2, cases=2))}
    assert figures["wrk: requests a second"] > 0
    assert figures["wrk: p50"] <= figures["wrk: p99"]
    assert figures["wrk: statuses of 400 or more"] == figures["wrk: errors of the connection"] == 0
    assert figures["own generator: checks a second"] > 0


def test_without_wrk_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(InputError, match="apt-get install wrk"):
        list(measure(WrkTerms()))
