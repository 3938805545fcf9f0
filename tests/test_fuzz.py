"""Some inputs of the fuzzer, as in `make fuzz`, where there are many more."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
from tests import fuzz
from tests.fuzz import Target, make_input, read_all, read_in_process


def test_hostile_inputs_are_read_or_refused_in_time() -> None:
    results = read_all(range(500))
    assert [found for result in results.values() for found in result.violations] == []
    assert all(result.outcomes["read"] for result in results.values())  # it is not all garbage


def test_a_seed_is_an_input() -> None:
    assert make_input(7) == make_input(7)
    assert make_input(7) != make_input(8)


@pytest.mark.parametrize(
    ("read", "complaint"),
    [
        (lambda _: 1 / 0, "seed 3: ZeroDivisionError('division by zero')"),
        (lambda _: os.kill(os.getpid(), signal.SIGKILL), "seed 3: the process ended with -9"),
    ],
)
def test_a_parser_that_crashes_is_found_with_its_seed(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[object], None], complaint: str
) -> None:
    monkeypatch.setattr(fuzz, "TARGETS", {"broken": Target(lambda _: "x", read)})
    assert read_in_process(range(3, 4))["broken"].violations == [complaint]
