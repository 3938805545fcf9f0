"""The GitHub action and its workflow: well-formed, and its script does what it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
TEXT = "The tower is 330 metres tall."
GOOD = {"id": "good", "response": TEXT, "context": TEXT}
WRONG = {"id": "wrong", "response": "The tower is 999 metres tall.", "context": TEXT}


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return found


def test_the_action_is_one_that_runs() -> None:
    made = action()
    assert made["runs"]["using"] == "composite"
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"inputs\.([\w-]+)", text))
    assert named == set(made["inputs"])
    for step in made["runs"]["steps"]:
        if "run" in step:
            assert step["shell"] == "bash"
            assert "${{" not in step["run"], "an input pasted into a script could be a command"


def test_the_workflow_gives_the_action_what_it_takes() -> None:
    flow = yaml.safe_load((ROOT / "examples" / "ci" / "groundwire.yml").read_text(encoding="utf-8"))
    (job,) = flow["jobs"].values()
    assert all({"uses", "run"} & set(step) for step in job["steps"])
    (step,) = [step for step in job["steps"] if "groundwire" in step.get("uses", "")]
    assert set(step["with"]) <= set(action()["inputs"])
    required = {name for name, entry in action()["inputs"].items() if entry.get("required")}
    assert required <= set(step["with"])


@pytest.mark.parametrize(("rate", "code"), [("0.5", 0), ("0.4", 1), ("x", 2)])
def test_the_script_ends_as_the_gate_does(tmp_path: Path, rate: str, code: int) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in (GOOD, WRONG)))
    (tmp_path / "summary.md").write_text("# before\n")
    (script,) = [step for step in action()["runs"]["steps"] if "env" in step]
    defaults = {name: entry.get("default", "") for name, entry in action()["inputs"].items()}
    given = {**defaults, "rows": "rows.jsonl", "max-rate": rate, "workers": "1"}
    env = {
        key: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: given[m[1]], value)
        for key, value in script["env"].items()
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env |= {"RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "PATH": path}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script["run"]],
        env={**os.environ, **env},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("# before\n")
    if code == 2:
        return
    assert "1 of 2 responses flagged (50 %)" in summary
    assert (tmp_path / given["reports"]).read_text().count("\n") == 2
    assert (tmp_path / given["junit"]).is_file()
