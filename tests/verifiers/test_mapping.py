from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.errors import BackendDown
from groundwire.llm.fake import ScriptedGenerator
from groundwire.types import Source
from groundwire.verifiers.shared import map_evidence, parse_mapping

SOURCES = [Source("S0", "About towers."), Source("a, b", "About bananas."), Source("S2", "x" * 50_000)]


@pytest.mark.spec("SPEC-16.07")
async def test_claims_are_mapped_to_sources() -> None:
    generator = ScriptedGenerator(["1: S2, S0\n2: [a  b]\n3: -"])
    found = await map_evidence(generator, ["One.", "Two.", "Three."], SOURCES)
    assert found == [["S0", "S2"], ["a, b"], []]
    assert len(generator.calls[0].prompt) < 30_000


@pytest.mark.spec("SPEC-16.07")
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("1: S9, S0, nonsense", [["S0"], []]),
        ("I think it is S0.", [[], []]),
        ("2) s0\n1. **S2**", [["S2"], ["S0"]]),
        ("Claim 1: S0\n7: S2", [["S0"], []]),
        ("", [[], []]),
    ],
)
async def test_only_what_exists_comes_back(reply: str, expected: list[list[str]]) -> None:
    assert await map_evidence(ScriptedGenerator([reply]), ["One.", "Two."], SOURCES) == expected


@pytest.mark.spec("SPEC-16.07")
async def test_a_model_that_fails_selects_nothing() -> None:
    assert await map_evidence(ScriptedGenerator([BackendDown("gone")]), ["One."], SOURCES) == [[]]


async def test_nothing_to_map_is_not_asked() -> None:
    generator = ScriptedGenerator([])
    assert await map_evidence(generator, [], SOURCES) == []
    assert await map_evidence(generator, ["One."], []) == [[]]
    assert not generator.calls


@given(st.text(max_size=80))
def test_any_reply_gives_known_ids(text: str) -> None:
    found = parse_mapping(text, 2, ["S0", "S1"])
    assert len(found) == 2
    assert all(set(ids) <= {"S0", "S1"} for ids in found)
