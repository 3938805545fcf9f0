"""The pytest plugin: the fixture `assert_grounded`. Every run of pytest loads it, so it imports little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundwire.testing import assert_grounded as _assert_grounded

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundwire.types import HallucinationReport


@pytest.fixture(scope="session")
def assert_grounded() -> Callable[..., HallucinationReport]:
    """`assert_grounded(answer, sources)` fails the test if the sources do not support the answer."""
    return _assert_grounded
