"""The pytest plugin: a fixture `assert_grounded`. It is part of every run of pytest, so it loads nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundwire.testing import assert_grounded as _assert_grounded

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundwire.types import HallucinationReport


@pytest.fixture(scope="session")
def assert_grounded() -> Callable[..., HallucinationReport]:
    """`assert_grounded(answer, sources)` fails the test where the sources do not carry what is said."""
    return _assert_grounded
