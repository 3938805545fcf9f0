"""The figures of the service are made by a real server, a real load and the engine beside them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from benchmarks.load_generator import LoadGenerator, plan_from
from benchmarks.service import LoadResult, LoadTerms, measure, run_service
from rich.console import Console
from tests.serving import served

from benchmarks import service
from groundwire.bench.measures import Figure
from groundwire.errors import BackendError

TERMS = LoadTerms(seconds=0.5, turns=1, at_once=2, cases=2)


@pytest.fixture(scope="module")
def figures() -> dict[str, float]:
    """Everything once, in real processes, with the smallest numbers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "OVERLOAD_SECONDS", 0.5)
        return {figure.name: figure.value for figure in measure(TERMS)}


def test_the_real_server_is_measured_beside_the_engine(figures: dict[str, float]) -> None:
    assert figures["checks a second, POST /v1/check"] > 0
    assert figures["checks a second, engine in process"] > 0
    assert 0 < figures["served, share of the engine in process, by processor time"] < 1000


def test_what_it_answers_is_what_the_engine_says(figures: dict[str, float]) -> None:
    assert figures["answers that differ from the engine's"] == 0
    assert figures["other statuses than 200"] == 0


def test_overloaded_it_answers_rightly_or_says_when_to_come_back(figures: dict[str, float]) -> None:
    assert figures["4 × overload: answers 200"] > 0
    for what in ("anything else", "429 without Retry-After", "answers that differ from the engine's"):
        assert figures[f"4 × overload: {what}"] == 0


def test_memory_is_watched(figures: dict[str, float]) -> None:
    assert 50 < figures["resident memory of the server"] < 1000


def test_the_table_and_the_json_show_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [Figure("a figure", 12.5, "%", "≥ 85")]
    monkeypatch.setattr(service, "measure", lambda _: iter(made))
    assert run_service(Console(width=100), TERMS, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)[0]["value"] == 12.5
    run_service(Console(width=100), TERMS, as_json=False)
    assert "a figure" in capsys.readouterr().out


@contextmanager
def generator(**more: object) -> Iterator[LoadGenerator]:
    """A load on a server with the fake verifier, in this process."""
    case = service.make_case(0)
    with served({"hallucination.backend.type": "fake", "server.max_in_flight": 1}) as running:
        port = int(running.url.rpartition(":")[2])
        one = {"bodies": [case.body], "paths": [case.path], "types": [case.kind], "expected": ["another"]}
        fields = {"port": port, "seconds": 0.3, **one, **more}
        yield LoadGenerator(plan_from(fields))


def test_a_wrong_answer_is_counted() -> None:
    with generator() as load:
        met = asyncio.run(load.run())
    assert met.wrong == met.statuses["200"] > 0


def test_so_many_begin_every_second_whatever_becomes_of_them() -> None:
    with generator(rate=40.0, seconds=0.5) as load:
        met = asyncio.run(load.run())
    assert met.statuses.total() == 20
    assert set(met.statuses) <= {"200", "429", "no answer"}


def test_a_server_that_is_gone_is_counted_too() -> None:
    one = {"bodies": ["e30="], "paths": ["/v1/check"], "types": ["application/json"], "expected": [""]}
    fields = {"port": 9, "seconds": 0.05, **one}
    met = asyncio.run(LoadGenerator(plan_from(fields)).run())
    assert set(met.statuses) == {"ConnectionRefusedError"}


def test_latencies_are_quantiles_of_the_good_answers() -> None:
    found = LoadResult(1.0, Counter({"200": 100}), [n / 1000 for n in range(100)], 0, 0)
    assert (found.share(0.5), found.share(0.99), found.good_a_second) == (50.0, 99.0, 100.0)


def test_a_server_that_does_not_start_is_told_with_its_own_words(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("groundwire: the HTTP service needs the extra 'server'")
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(2)"]) as process:
        process.wait()
        with pytest.raises(BackendError, match="needs the extra 'server'"):
            service._port(process, log)
