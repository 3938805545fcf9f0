"""What the benchmark of Ray measures, without Ray."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest
from benchmarks.scale import measure, one_core, rate, sample

from groundwire.errors import InputError
from groundwire.integrations.rows import BatchRow


def test_rows_before_the_first_are_not_in_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 10.0, 11.0, 12.0, 13.0])
    monkeypatch.setattr("benchmarks.scale.perf_counter", lambda: next(clock))

    def judge(rows: Iterator[BatchRow]) -> Iterator[str]:
        return (str(row.number) for row in rows)

    assert rate(judge, sample(4), 2) == (1.0, 13.0)


def test_no_two_rows_are_the_same() -> None:
    responses = [json.loads(row.raw)["response"] for row in sample(50)]
    assert len(set(responses)) == 50


def test_one_process_is_kept_on_one_core() -> None:
    before = os.sched_getaffinity(0)
    with one_core():
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before


def test_too_few_rows_to_measure_are_refused() -> None:
    with pytest.raises(InputError, match="too few"):
        list(measure(rows=64, workers=2))
