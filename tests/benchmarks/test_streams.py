"""The suite of streams: made the same every time, measured as it should be."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from benchmarks.procedural import rate
from benchmarks.streams import KINDS, Stream, StreamOutcome, app, streams, tabulate, verdicts
from typer.testing import CliRunner

MADE = streams(90)
ONE = Stream("x", "contradicted", "d", "source", "q?", ("One is.", "Two is not.", "Three is.", "Four is."), 1)


def test_a_third_is_of_each_kind_and_only_the_middle_differs() -> None:
    assert [stream.kind for stream in MADE[:3]] == list(KINDS)
    assert len({stream.id for stream in MADE}) == len(MADE) == 90
    for three in zip(MADE[::3], MADE[1::3], MADE[2::3], strict=True):
        middles = {stream.sentences[stream.middle] for stream in three}
        rests = {stream.sentences[: stream.middle] + stream.sentences[stream.middle + 1 :] for stream in three}
        assert (len(middles), len(rests), len({stream.source for stream in three})) == (3, 1, 1)


def test_something_stands_before_and_behind_the_middle() -> None:
    assert all(0 < stream.middle < len(stream.sentences) - 2 for stream in MADE)
    assert {stream.held for stream in MADE} == {True, False}


def test_a_seed_makes_the_same_streams() -> None:
    assert streams(30, seed=1) == streams(30, seed=1) != streams(30, seed=2)


def test_sentences_know_their_place() -> None:
    for stream in MADE[:10]:
        for number, sentence in enumerate(stream.sentences):
            assert stream.text[slice(*stream.place(number))] == sentence


def test_the_lag_counts_from_the_wrong_sentence() -> None:
    end = ONE.place(1)[1]
    caught = StreamOutcome(ONE, end + 5)
    assert (caught.caught, caught.early, caught.lag_chars, caught.lag_claims) == (True, False, 5, 1)
    assert StreamOutcome(ONE, ONE.place(3)[0] + 1).lag_claims == 2
    assert StreamOutcome(ONE, 5).early
    assert not StreamOutcome(ONE, None).caught


def test_the_bars_are_held_against_the_figures() -> None:
    seen = [StreamOutcome(ONE, ONE.place(2)[0] + 1)]
    seen += [
        StreamOutcome(Stream("y", kind, "d", "s", "q", ONE.sentences, 1), None) for kind in ("supported", "unsupported")
    ]
    lines = verdicts(tabulate(seen), rate([False] * 200 + [True]))
    assert [line.rpartition(", ")[2] for line in lines] == ["met"] * 3
    late = [
        StreamOutcome(ONE, len(ONE.text)),
        *seen[1:2],
        StreamOutcome(Stream("z", "unsupported", "d", "s", "q", ONE.sentences, 1), 9),
    ]
    assert [line.rpartition(", ")[2] for line in verdicts(tabulate(late), rate([True]))] == ["not met"] * 3


def test_it_runs_from_the_terminal(tmp_path: Path) -> None:
    row = {"id": "r1", "task": "QA", "context": "Acme has 40 employees.", "claim": "Acme has 40 employees.", "label": 1}
    with gzip.open(tmp_path / "dev.ragtruth.test.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    out = tmp_path / "out.json"
    command = ["--items", "6", "--data", str(tmp_path), "--json", str(out)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "supported RAGTruth answers stopped, at most 1 %: 0 of 1" in result.output
    assert json.loads(out.read_text())["supported"]["of"] == 1


def test_it_does_without_data(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["--items", "3", "--data", str(tmp_path)])
    assert result.exit_code == 0
    assert "There is no RAGTruth" in " ".join(result.output.split())
