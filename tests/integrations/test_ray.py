"""The Ray engine gives the same lines as the local one. `make test-ray` installs Ray and runs this."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from groundwire.cli.batch import BatchArgs, run_batch
from groundwire.cli.tally import Gate
from groundwire.config import Config
from groundwire.errors import MissingExtra

ROWS: list[dict[str, object]] = [
    {"id": "good", "response": "The tower is 330 metres tall.", "context": "The tower is 330 metres tall."},
    {"id": "bad", "response": "The tower is 999 metres tall.", "context": "The tower is 330 metres tall."},
    {"id": "broken", "response": 7},
]


def go(folder: Path, engine: str) -> tuple[int, bytes]:
    rows, out = folder / "in.jsonl", folder / f"{engine}.jsonl"
    rows.write_text(
        "".join(json.dumps({**row, "id": f"{row['id']}-{n}"}) + "\n" for n in range(12) for row in ROWS)
    )
    gate = Gate(0.5, folder / f"{engine}.xml", folder / f"{engine}.md")
    code = run_batch(BatchArgs(rows, out, engine=engine, gate=gate), Config(), Console(quiet=True))
    return code, out.read_bytes() + b"".join(path.read_bytes() for path in gate.files)


@pytest.mark.filterwarnings("ignore")
def test_ray_output_equals_local_output(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    assert go(tmp_path, "ray") == go(tmp_path, "local")


def test_missing_ray_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install 'groundwire\[ray\]'"):
        go(tmp_path, "ray")
