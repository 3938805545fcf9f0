"""The figures are there, with the bars they are held against. How large they are, no test asks."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from groundwire.bench import speed
from groundwire.bench.measures import Figure
from groundwire.errors import BackendError


@pytest.fixture(scope="module")
def figures() -> Iterator[dict[str, Figure]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(speed, "_wall", partial(speed._wall, times=1))
        patch.setattr(speed, "ROUNDS", 3)
        patch.setattr(speed, "TURNS", 1)
        patch.setattr(speed, "MEGABYTE_WORDS", 2000)
        yield {figure.name: figure for figure in speed.measure(llm=False)}


@pytest.mark.published("SPEC-08.36")
@pytest.mark.spec("SPEC-16.39")
def test_one_claim_is_timed_and_held_against_its_bar(figures: dict[str, Figure]) -> None:
    p50, p99 = (figures[f"one claim against 200 words, {which}"] for which in ("p50", "p99"))
    assert (p50.unit, p50.bar, p99.unit, p99.bar) == ("ms", "≤ 50", "ms", "≤ 500")
    assert 0 < p50.value <= p99.value


@pytest.mark.published("SPEC-08.37")
@pytest.mark.spec("SPEC-16.39")
def test_many_claims_are_timed_and_held_against_their_bar(figures: dict[str, Figure]) -> None:
    found = figures["64 claims over one context"]
    assert (found.unit, found.bar) == ("s", "≤ 6.9 (0.5 + 64 × 0.1)")
    assert figures["claims a second"].value == pytest.approx(64 / found.value)


def test_the_verifier_is_held_against_the_bare_network(figures: dict[str, Figure]) -> None:
    found = figures["64 claims, share of bare onnxruntime's throughput"]
    assert (found.unit, found.bar) == ("%", "≥ 85")
    assert found.value > 0


def test_whole_answers_are_timed_where_there_are_some(tmp_path: Path) -> None:
    row = {"id": "1", "task": "QA", "context": "The tower is 300 m tall.", "claim": "It is 300 m.", "label": 1}
    with gzip.open(tmp_path / "dev.ragtruth.test.jsonl.gz", "wt", encoding="utf-8") as out:
        out.write(json.dumps(row) + "\n")
    found, busy = speed._responses(tmp_path)
    assert (found.name, found.bar) == ("1 RAGTruth answers with their contexts, p50", "≤ 400")
    assert found.value > 0 < busy.value


@pytest.mark.spec("SPEC-16.39")
def test_every_figure_of_the_list_is_there(figures: dict[str, Figure]) -> None:
    bars = {name: figure.bar for name, figure in figures.items() if figure.bar}
    assert bars["import groundwire"] == "≤ 0.15"
    assert bars["cold check"] == "≤ 2"
    assert bars["resident memory"] == "≤ 400"
    assert {"one claim against 1 MB of sources", "64 queries, cache empty", "64 queries, cache full"} <= set(figures)
    assert all(figure.value >= 0 for figure in figures.values())


def test_the_many_claims_are_as_many_as_said() -> None:
    from groundwire.claims.extractor import extract

    assert len(extract(" ".join(speed.fact(n) for n in range(speed.CLAIMS)))) == speed.CLAIMS


def test_a_check_that_fails_is_not_timed() -> None:
    with pytest.raises(BackendError, match="failed"):
        speed._wall("raise SystemExit(3)", times=1)


@pytest.mark.llm
@pytest.mark.spec("SPEC-16.39")
def test_the_llm_path_counts_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "LLM_CLAIMS", 1)
    figures = {figure.name: figure for figure in asyncio.run(speed._llm())}
    if not figures:
        pytest.skip("the local model is not installed")
    assert figures["LLM path: calls for each claim"].value == 1  # p0 cannot change the verdict
    assert figures["LLM path: wall time for each claim"].unit == "s"
