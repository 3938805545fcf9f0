"""The frameworks' examples on the page run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("langchain_classic")
pytest.importorskip("llama_index.core")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "integrations.md"
BLOCKS = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(2))
def test_examples_run(number: int) -> None:
    assert len(BLOCKS) == 2
    exec(compile(BLOCKS[number], PAGE.name, "exec"), {"__name__": "__page__"})
