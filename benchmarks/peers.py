"""`python -m benchmarks.peers`: quality figures next to those of other detectors that need no weights.

The peers run in an environment of their own and are spoken to over pipes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import command, peer_worker, run
from benchmarks.plots import precision_recall_plot, reliability_plot
from groundwire._loop import run as run_async
from groundwire.bench.measures import Answers, LabelledRow, Prediction, load_sets
from groundwire.bench.quality import judge_sets, load_predictions, publish, write_text
from groundwire.cli.console import open_console
from groundwire.cli.options import Backend, ConfigFile, settings
from groundwire.engine import Groundwire

REQUIREMENTS = {"director-ai": "director-ai==3.21.0", "styxx": "styxx==7.50.0"}
"""Pinned so that the figures are reproducible."""

TIMEOUT_SECONDS = 3600
"""For installing a peer, and for one peer on one set."""


class PeerFailed(Exception):
    """A peer could not be installed or run; the message is one line."""


@dataclass(frozen=True, slots=True)
class Peers:
    """The peers' virtual environment, created on first use and kept."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / ("Scripts" if os.name == "nt" else "bin") / "python"

    def install(self, peer: str) -> None:
        """Install the pinned version; a no-op if it is installed already."""
        stamp = self.folder / f".{REQUIREMENTS[peer]}"
        if stamp.exists():
            return
        if not self.python.exists():
            _run([sys.executable, "-m", "venv", str(self.folder)], "no environment could be made")
        pip = [str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, REQUIREMENTS[peer]], f"{REQUIREMENTS[peer]} could not be installed")
        stamp.touch()

    def judge(self, peer: str, rows: Sequence[LabelledRow]) -> list[Prediction | None]:
        self.install(peer)
        lines = "".join(
            json.dumps({"claim": row.claim, "context": row.context, "question": row.question}) + "\n" for row in rows
        )
        with tempfile.TemporaryDirectory() as home:
            # Peers write settings and logs into the home folder: give them a temporary one.
            alone = {"HOME": home, "PATH": os.environ.get("PATH", ""), "PYTHONHASHSEED": "0"}
            command = [str(self.python), "-P", peer_worker.__file__, peer]
            answered = _run(command, "it stopped", stdin=lines, env=alone, cwd=home)
        found = [json.loads(line) for line in answered.splitlines()]
        if len(found) != len(rows):
            raise PeerFailed(f"it answered {len(found)} of {len(rows)} rows")
        return [None if "error" in said else Prediction(said["risk"], said["flagged"]) for said in found]

    def judge_all(self, rows: Sequence[LabelledRow], failed: dict[str, str]) -> dict[str, Answers]:
        """Every peer on these rows. A peer that fails once is skipped from then on; `failed` keeps why."""
        found: dict[str, Answers] = {}
        for name in REQUIREMENTS:
            found[name] = [None] * len(rows)
            if name not in failed:
                try:
                    found[name] = self.judge(name, rows)
                except PeerFailed as error:
                    failed[name] = str(error)
        return found


def _run(
    command: Sequence[str], trouble: str, *, stdin: str = "", env: dict[str, str] | None = None, cwd: str | None = None
) -> str:
    try:
        done = subprocess.run(
            command, input=stdin, env=env, cwd=cwd, timeout=TIMEOUT_SECONDS,
            capture_output=True, encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerFailed(f"{trouble}: {error}") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise PeerFailed(f"{trouble}: {last}")
    return done.stdout


app = command()


@app.command()
def main(
    data: Annotated[Path, typer.Option(envvar="GROUNDWIRE_DATA", help="Folder with dev.*.jsonl.gz files.")] = Path(
        "../shared/data"
    ),
    sets: Annotated[str, typer.Option(help="Only these sets, as in ragtruth,qags.")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="Approximate number of rows per set.")] = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the figures as JSON.")] = None,
    plots: Annotated[Path | None, typer.Option(help="Write the plots into this folder, as SVG.")] = None,
    peers_env: Annotated[Path, typer.Option(help="Virtual environment of the peers.")] = Path(
        "~/.cache/groundwire/peers"
    ),
    oof: Annotated[Path | None, typer.Option(help="Held-out predictions for rows trained on.")] = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Measure groundwire, trivial baselines and other detectors on the same labelled rows."""
    peers, failed, console = Peers(peers_env.expanduser()), dict[str, str](), open_console()
    chosen = load_sets(data, tuple(filter(None, sets.split(","))), limit)
    known = load_predictions(oof) if oof else {}
    engine = Groundwire(settings(config, backend))
    try:
        judged = judge_sets(chosen, engine, known, lambda rows: peers.judge_all(rows, failed))
    finally:
        run_async(engine.aclose())
    facts = {"backend": engine.backend.name, "limit": limit, "peers": REQUIREMENTS, "absent": failed}
    publish(judged, facts, json_out, console)
    for name, reason in failed.items():
        console.print(f"{name}: {reason}", style="yellow", highlight=False, markup=False)
    if plots:
        write_text(plots / "reliability.svg", reliability_plot(judged))
        write_text(plots / "precision-recall.svg", precision_recall_plot(judged))


if __name__ == "__main__":
    run(app)
