"""Other detectors that run without weights, in an environment of their own, spoken to over pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from groundwire.bench import peer_worker
from groundwire.bench.quality_data import LabelledRow
from groundwire.bench.quality_figures import Prediction

REQUIREMENTS = {"director-ai": "director-ai==3.21.0", "styxx": "styxx==7.50.0"}
"""Pinned, so that the figures can be had again."""

TIMEOUT_SECONDS = 3600


class PeerFailed(Exception):
    """One line why a peer has no figures."""


@dataclass(frozen=True, slots=True)
class Peers:
    """A virtual environment that is made on first use and kept."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / ("Scripts" if os.name == "nt" else "bin") / "python"

    def install(self, peer: str) -> None:
        """Nothing to do where this very version has been installed before."""
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
            json.dumps({"claim": row.claim, "context": row.context, "question": row.question}) + "\n"
            for row in rows
        )
        with tempfile.TemporaryDirectory() as home:
            # A home of its own: peers write settings and logs there, and ours are none of their business.
            alone = {"HOME": home, "PATH": os.environ.get("PATH", ""), "PYTHONHASHSEED": "0"}
            command = [str(self.python), "-P", peer_worker.__file__, peer]
            answered = _run(command, "it stopped", stdin=lines, env=alone, cwd=home)
        found = [json.loads(line) for line in answered.splitlines()]
        if len(found) != len(rows):
            raise PeerFailed(f"it answered {len(found)} of {len(rows)} rows")
        return [None if "error" in said else Prediction(said["risk"], said["flagged"]) for said in found]


def _run(
    command: Sequence[str],
    trouble: str,
    *,
    stdin: str = "",
    env: dict[str, str] | None = None,
    cwd: str | None = None,
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
