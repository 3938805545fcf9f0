"""Assert that running time grows linearly with the input, by comparing two sizes."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

FACTOR = 4
"""The large input is this many times longer; quadratic time would be FACTOR² = 16 times longer."""
ALLOWED = 10
"""Largest accepted growth, between linear (4) and quadratic (16)."""
SLACK = 0.02
"""Seconds of processor time that do not count: below this, measurements are noise."""


def assert_linear(run: Callable[[str], object], make: Callable[[int], str], size: int) -> None:
    """Run on `make(size)` and `make(FACTOR * size)`; processor time, the best of three runs."""
    small, large = (min(_seconds(run, make(n)) for _ in range(3)) for n in (size, FACTOR * size))
    assert large <= ALLOWED * small + SLACK, f"{small:.3f} s grew to {large:.3f} s"


def _seconds(run: Callable[[str], object], text: str) -> float:
    begun = process_time()
    run(text)
    return process_time() - begun
