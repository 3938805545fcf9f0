"""The soak in real processes, for seconds instead of an hour."""

from __future__ import annotations

from benchmarks.soak import Sample, SoakTerms, growth, measure


def test_answers_are_right_though_clients_leave() -> None:
    figures = {figure.name: figure.value for figure in measure(SoakTerms(minutes=0, turn=6.0, cases=6))}
    assert figures["answers 200"] > 0
    assert figures["clients that left"] > 0
    assert figures["answers that differ from the engine's"] == 0
    assert figures["anything else"] == 0
    assert figures["threads at the end"] > 1
    assert figures["descriptors at the end"] > 3


def test_growth_is_measured_after_the_caches_are_full() -> None:
    warm = [Sample(n / 60, 100.0 + 50 * n, 8, 20) for n in range(3)]
    steady = [Sample(n / 60, 250.0 + n / 60, 8, 20 + n) for n in range(3, 12)]
    found = {figure.name: figure.value for figure in growth([*warm, *steady])}
    assert round(found["growth of memory after warm-up"], 6) == 1.0
    assert found["threads, growth after warm-up"] == 0
    assert found["descriptors, growth after warm-up"] == 8
