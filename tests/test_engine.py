"""The engine: what it refuses before any model is asked."""

from __future__ import annotations

import pytest

from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError


async def test_too_many_sources_are_refused() -> None:
    async with Groundwire(Config.load(None, {"limits.max_sources": 3}), backend="fake") as engine:
        await engine.check("It is red.", ["It is red."] * 3)
        with pytest.raises(InputError, match="4 sources: the limit is 3"):
            await engine.check("It is red.", ["It is red."] * 4)
