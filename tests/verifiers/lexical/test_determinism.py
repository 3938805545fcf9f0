"""The same question has the same answer to the last digit, in whatever process."""

from __future__ import annotations

import os
import subprocess
import sys

_ASK = """
import asyncio
from groundwire.types import Query
from groundwire.verifiers.lexical import LexicalVerifier
context = "The old harbour of Marsend was rebuilt in 1911 by Ada Lorne, who had also drawn the town's first bridge."
claims = ["Ada Lorne rebuilt the old harbour and the bridge of Marsend.", "The harbour of Marsend was drawn in 1911."]
print([(e.p_yes, e.p_no) for e in asyncio.run(LexicalVerifier().estimate([Query(c, context) for c in claims]))])
"""


def test_numbers_do_not_depend_on_the_order_of_sets() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", _ASK],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
