"""The knowledge base's figures come out, and of the store they are about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.kb import Size, made_entities, made_facts, misspelt, run_kb
from rich.console import Console

from groundwire.errors import InputError
from groundwire.stores.knowledge_base import Knowledge


def test_the_store_is_built_once_and_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, size = str(tmp_path / "kb.db"), Size(entities=200, facts=600)
    assert run_kb(store, size, 2, Console(), as_json=True) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["entities"], first["facts"], "build_seconds" in first) == (200, 600, True)
    assert all(0 < f["p50"] <= f["p99"] <= f["worst"] for f in first["figures"])
    assert run_kb(store, size, 2, Console(), as_json=False) == 0
    shown = capsys.readouterr().out
    assert ("misspelt name" in shown, "built in" in shown) == (True, False)
    with pytest.raises(InputError, match="holds 600 facts"):
        run_kb(store, Size(200, 1000), 2, Console(), as_json=False)


def test_misspelt_names_are_found(tmp_path: Path) -> None:
    made = list(made_entities(200))
    with Knowledge.open(str(tmp_path / "kb.db")) as kb:
        kb.put_entities(made)
        asked = {misspelt(entity.name, n): entity.name for n, entity in enumerate(made)}
        found = kb.find(list(asked))
    right = sum(match.entity.name == asked[name] for name, match in found.items())
    assert right >= 0.9 * len(asked)


def test_the_same_facts_every_time() -> None:
    assert list(made_facts(10, 40)) == list(made_facts(10, 40))
