"""Batches: streamed, resumable, and one bad row never harms its neighbours."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from groundwire.cli import batch
from groundwire.cli.batch import BatchArgs, BatchInterrupted, run_batch
from groundwire.config import Config
from groundwire.errors import GroundwireError, InputError
from groundwire.integrations.rows import BatchRow, row_digest

GOOD = {"id": "a", "response": "The tower is 330 metres tall.", "context": "The tower is 330 metres tall."}
WRONG = {"id": "b", "response": "The tower is 999 metres tall.", "sources": {"S0": "The tower is 330 metres tall."}}


def write(path: Path, *rows: object) -> Path:
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def go(rows: Path, out: Path, *, resume: bool = False, workers: int = 1) -> int:
    return run_batch(BatchArgs(rows, out, resume=resume, workers=workers), Config(), Console(quiet=True))


def test_one_line_out_for_one_line_in_in_order(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", WRONG, GOOD, WRONG)
    assert go(rows, tmp_path / "out.jsonl") == 1
    found = read(tmp_path / "out.jsonl")
    assert [(row["id"], row["flagged"]) for row in found] == [("b", True), ("a", False), ("b", True)]
    assert found[1]["claims"][0]["evidence"][0]["source"] == "context"


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (b"{broken", "not JSON"),
        (b'"text"', "not a JSON object"),
        (b'{"response": "\xff\xfe", "context": "x"}', "not UTF-8"),
        ({"id": "x", "context": "text"}, "no 'response'"),
        ({"id": "x", "response": "It is red."}, "neither 'sources' nor 'context'"),
        ({"id": "x", "response": 7, "context": "x"}, "'response' must be a string"),
        ({"id": "x", "response": "It is red.", "sources": {"S0": 3}}, "source 'S0' must be a string, got int"),
        ({"id": "x", "response": "  ", "context": "x"}, "empty"),
        ({"id": "x", "response": "It is red.", "context": " "}, "no sources"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_bad_row_says_what_is_wrong_and_the_rest_go_on(tmp_path: Path, row: object, complaint: str) -> None:
    assert go(write(tmp_path / "in.jsonl", GOOD, row, GOOD), tmp_path / "out.jsonl") == 3
    first, bad, last = read(tmp_path / "out.jsonl")
    assert complaint in bad["error"]
    assert bad["flagged"] is None
    assert first["flagged"] is last["flagged"] is False


def test_a_row_that_asserts_nothing_is_not_clean(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", GOOD, {**GOOD, "response": "Is the tower tall?"})
    assert go(rows, tmp_path / "out.jsonl") == 3
    assert [(row["flagged"], row["error"]) for row in read(tmp_path / "out.jsonl")] == [
        (False, None),
        (None, "NOTHING_TO_CHECK"),
    ]


def test_half_a_character_neither_breaks_the_output_nor_is_lost(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", {**GOOD, "response": "The tower is 330 metres tall \ud800."})
    go(rows, tmp_path / "out.jsonl")
    (found,) = read(tmp_path / "out.jsonl")
    assert found["error"] is None


def test_sources_come_as_retrievers_list_them(tmp_path: Path) -> None:
    listed = [{"id": "X", "text": "Rome is in Italy."}, {"text": str(GOOD["context"]), "score": 0.9}]
    rows = write(tmp_path / "in.jsonl", {**GOOD, "sources": listed}, {**GOOD, "sources": [{"id": "X"}]})
    go(rows, tmp_path / "out.jsonl")
    good, bad = read(tmp_path / "out.jsonl")
    assert good["claims"][0]["evidence"][0]["source"] == "S1"
    assert "source 0 must be a string or a document, got dict" in bad["error"]


def test_an_interrupted_run_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("groundwire.cli.batch._judged", interrupt)
    with pytest.raises(BatchInterrupted, match="--resume") as caught:
        go(write(tmp_path / "in.jsonl", GOOD), tmp_path / "out.jsonl")
    assert caught.value.exit_code == 130


def test_rows_without_an_id_are_numbered(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", {**GOOD, "id": 7}, {k: v for k, v in GOOD.items() if k != "id"})
    go(rows, tmp_path / "out.jsonl")
    assert [row["id"] for row in read(tmp_path / "out.jsonl")] == ["7", "row-2"]


@pytest.mark.parametrize("cut", [0, 1, 50])
def test_resume_neither_loses_nor_doubles_a_row(tmp_path: Path, cut: int) -> None:
    rows = write(tmp_path / "in.jsonl", *[{**GOOD, "id": str(n)} for n in range(12)])
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    go(rows, whole)
    lines = whole.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(lines[:5]) + lines[5][:cut])
    go(rows, part, resume=True)
    assert part.read_bytes() == whole.read_bytes()
    go(rows, part, resume=True)
    assert part.read_bytes() == whole.read_bytes()


def test_resume_refuses_an_output_of_other_rows(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    go(write(tmp_path / "a.jsonl", GOOD), out)
    before = out.read_bytes()
    with pytest.raises(InputError, match="was not made from"):
        go(write(tmp_path / "b.jsonl", WRONG), out, resume=True)
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    "change", [{"response": "Acme has 400 employees."}, {"context": "Nothing."}, {"question": "How many?"}]
)
def test_resume_refuses_verdicts_on_rows_that_were_edited(tmp_path: Path, change: dict[str, str]) -> None:
    unnamed = {name: value for name, value in GOOD.items() if name != "id"}
    rows, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    go(write(rows, unnamed), out)
    before = out.read_bytes()
    with pytest.raises(InputError, match="was not made from"):
        go(write(rows, {**unnamed, **change}), out, resume=True)
    assert out.read_bytes() == before


def test_resume_compares_the_settings_that_decide(tmp_path: Path) -> None:
    rows, out = write(tmp_path / "in.jsonl", GOOD), tmp_path / "out.jsonl"
    go(rows, out)
    args = BatchArgs(rows, out, resume=True)
    run_batch(args, Config.load(None, {"hallucination.timeout": 77}), Console(quiet=True))
    with pytest.raises(InputError, match="with these settings"):
        run_batch(args, Config.load(None, {"target": 0.7}), Console(quiet=True))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("faithful", False),
        ("shares", True),
        ("model.path", "other"),
        ("model.labels", ["no", "yes"]),
        ("model.template", "{claim}"),
        ("cascade.low", 0.4),
        ("cascade.max_calls", 1),
        ("verification.gap_threshold_bits", 9.0),
        ("openai.model", "other"),
        ("limits.max_claims", 3),
    ],
)
def test_every_setting_that_decides_is_in_the_digest(key: str, value: object) -> None:
    row = BatchRow(1, b"{}")
    assert row_digest(row, Config.load(None, {key: value})) != row_digest(row, Config.load(None))


@pytest.mark.parametrize(
    ("key", "value"), [("limits.concurrency", 1), ("server.port", 1), ("hallucination.batch_size", 3)]
)
def test_other_settings_may_change_before_a_run_goes_on(key: str, value: object) -> None:
    row = BatchRow(1, b"{}")
    assert row_digest(row, Config.load(None, {key: value})) == row_digest(row, Config.load(None))


def test_resume_refuses_verdicts_of_another_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, out = write(tmp_path / "in.jsonl", GOOD), tmp_path / "out.jsonl"
    go(rows, out)
    monkeypatch.setattr("groundwire.integrations.rows.__version__", "0.0.1")
    with pytest.raises(InputError, match="with these settings"):
        go(rows, out, resume=True)


@pytest.mark.parametrize("torn", [b"[" * 100_000 + b"\n", b"\xff\n", b"null\n", b"{}\n", b"\n"])
def test_resume_drops_a_line_that_is_no_report(tmp_path: Path, torn: bytes) -> None:
    rows, out = write(tmp_path / "in.jsonl", GOOD, GOOD), tmp_path / "out.jsonl"
    go(rows, out)
    whole = out.read_bytes()
    out.write_bytes(whole.splitlines(keepends=True)[0] + torn)
    go(rows, out, resume=True)
    assert out.read_bytes() == whole


def test_resume_starts_where_there_is_no_output_yet(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", GOOD)
    assert go(rows, tmp_path / "out.jsonl", resume=True) == 0
    assert [row["id"] for row in read(tmp_path / "out.jsonl")] == ["a"]


def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """A real process, killed as hard as can be while it writes."""
    rows = write(tmp_path / "in.jsonl", *[{**GOOD, "id": str(n)} for n in range(400)])
    out = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "groundwire.cli.main", "batch", str(rows), "-o", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ})
    while process.poll() is None and (not out.exists() or out.stat().st_size < 2000):
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert out.stat().st_size >= 2000
    go(rows, out, resume=True)
    assert [row["id"] for row in read(out)] == [str(n) for n in range(400)]


def test_workers_give_the_same_output(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", *[{**row, "id": f"{n}"} for n in range(6) for row in (GOOD, WRONG)])
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    assert go(rows, one) == go(rows, two, workers=2) == 1
    assert one.read_bytes() == two.read_bytes()


def test_a_csv_file_is_not_filled_with_json_lines(tmp_path: Path) -> None:
    rows, out = write(tmp_path / "in.jsonl", GOOD), tmp_path / "out.csv"
    with pytest.raises(InputError, match=r"--table .*out\.csv writes CSV"):
        go(rows, out)
    assert not out.exists()


def test_input_and_output_must_differ(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", GOOD)
    with pytest.raises(InputError, match="same file"):
        go(rows, rows)
    with pytest.raises(InputError, match="is not a file"):
        go(tmp_path / "none.jsonl", tmp_path / "out.jsonl")
    with pytest.raises(InputError, match="cannot write"):
        go(rows, tmp_path / "no" / "folder.jsonl")


def test_a_full_disk_is_one_line_and_keeps_what_is_whole(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", GOOD)
    with pytest.raises(InputError, match="No space left"):
        run_batch(BatchArgs(rows, Path("/dev/full")), Config(), Console(quiet=True))


def test_a_line_cut_off_by_a_full_disk_is_not_called_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FullDisk(io.BufferedRandom):
        def write(self, data: Any) -> int:
            if self.tell() == 0:
                return super().write(data)
            super().write(data[:10])
            self.flush()
            raise OSError(errno.ENOSPC, "No space left on device")

    fake = Config.load(None, {"hallucination.backend.type": "fake"})
    rows, out = write(tmp_path / "in.jsonl", GOOD, WRONG), tmp_path / "out.jsonl"
    with monkeypatch.context() as patch:
        patch.setattr(batch, "_open", lambda path: FullDisk(io.FileIO(path, "w+b")))
        with pytest.raises(InputError, match="the last line may be cut off; --resume drops it"):
            run_batch(BatchArgs(rows, out), fake, Console(quiet=True))
    assert len(out.read_bytes().splitlines()) == 2
    assert run_batch(BatchArgs(rows, out, resume=True), fake, Console(quiet=True)) == 1
    assert [row["id"] for row in read(out)] == ["a", "b"]


def test_rows_stream_through_pipes(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", GOOD, WRONG)
    command = [sys.executable, "-m", "groundwire.cli.main", "batch", "-", "-o", "-"]
    done = subprocess.run(command, input=rows.read_bytes(), capture_output=True, check=False, cwd=tmp_path)
    go(rows, tmp_path / "out.jsonl")
    assert done.returncode == 1
    assert done.stdout == (tmp_path / "out.jsonl").read_bytes()
    assert not (tmp_path / "-").exists()
    with pytest.raises(InputError, match="--resume"):
        go(rows, Path("-"), resume=True)


def test_a_second_run_on_the_same_output_is_refused(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    rows, out = write(tmp_path / "in.jsonl", GOOD), tmp_path / "out.jsonl"
    go(rows, out)
    before = out.read_bytes()
    with out.open("r+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another run"):
            go(rows, out)
    assert out.read_bytes() == before


def test_a_wrong_configuration_leaves_an_earlier_output_alone(tmp_path: Path) -> None:
    rows, out = write(tmp_path / "in.jsonl", GOOD), tmp_path / "out.jsonl"
    go(rows, out)
    before = out.read_bytes()
    config = Config.load(None, {"hallucination.backend.type": "external"})
    with pytest.raises(GroundwireError, match="external"):
        run_batch(BatchArgs(rows, out), config, Console(quiet=True))
    assert out.read_bytes() == before
