"""The published schema of reports, and the formats that reports are turned into."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.serving import served
from typer.testing import CliRunner

from groundwire.cli import main
from groundwire.engine import Groundwire
from groundwire.errors import BackendTimeout
from groundwire.integrations.rows import BatchRow, judge_row
from groundwire.reports.batch import to_sarif
from groundwire.reports.json import report_object
from groundwire.reports.schema import SCHEMA_VERSION, report_schema
from groundwire.types import HallucinationReport
from groundwire.verifiers.fake import FakeVerifier

SOURCE = "The tower is 330 metres tall."
ANSWER = "# Tower\n\nThe tower is 330 metres tall.\nIt weighs nothing. It is old [S7]."


def report(answer: str = ANSWER, **context: Any) -> HallucinationReport:
    return asyncio.run(Groundwire(backend="fake").check(answer, SOURCE, **context))


def validate(found: Any) -> None:
    jsonschema.Draft202012Validator(report_schema()).validate(json.loads(json.dumps(found)))


def test_every_kind_of_report_follows_the_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(report_schema())
    engine = Groundwire(backend="fake")
    checked = report()
    validate(report_object(checked))
    validate(report_object(report("Hello!")))
    validate(report_object(report(history=["The tower is 12 metres tall."])))
    validate(report_object(asyncio.run(engine.fix(checked, SOURCE))))
    for row in (b'{"response": "It is red.", "context": "It is red."}', b"{", b'{"id": 7}'):
        validate(json.loads(asyncio.run(judge_row(engine, BatchRow(1, row)))))


def test_what_is_not_a_report_does_not_follow_the_schema() -> None:
    found = report_object(report())
    for wrong in (
        {**found, "flagged": "yes"},
        {**found, "risk": "high"},
        {key: value for key, value in found.items() if key != "claims"},
        {**found, "claims": [{**found["claims"][0], "status": "FINE"}]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            validate(wrong)


def test_the_command_and_the_service_publish_the_same_schema() -> None:
    printed = json.loads(CliRunner().invoke(main.app, ["schema"]).stdout)
    assert printed["$id"] == f"urn:groundwire:report:{SCHEMA_VERSION}"
    with served({"hallucination.backend.type": "fake"}) as running:
        assert running.client.get("/schema").json() == printed


def test_sarif_names_the_place_of_every_flagged_claim() -> None:
    (run,) = json.loads(to_sarif(report(), "answers/tower.md"))["runs"]
    lines = ANSWER.splitlines()
    found = {}
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "answers/tower.md"
        region = place["region"]
        assert region["startLine"] == region["endLine"]
        shown = lines[region["startLine"] - 1][region["startColumn"] - 1 : region["endColumn"] - 1]
        start = region["charOffset"]
        assert shown == ANSWER[start : start + region["charLength"]]
        found[shown] = (result["ruleId"], result["level"])
    assert found == {"It weighs nothing.": ("unsupported", "warning"), "It is old [S7].": ("phantom_citation", "error")}
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {"unsupported", "phantom_citation"}
    assert run["invocations"] == [{"executionSuccessful": True}]


def test_sarif_names_files_by_valid_uris() -> None:
    (run,) = json.loads(to_sarif(report(), "my answers/tower 1#.md"))["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert [place, run["artifacts"][0]["location"]] == [{"uri": "my%20answers/tower%201%23.md"}] * 2


def test_sarif_of_what_could_not_be_checked_is_not_a_clean_run(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = FakeVerifier(failing=[BackendTimeout("too slow")] * 9)
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda **_: failing)
    (run,) = json.loads(to_sarif(report("It is red."), "a.md"))["runs"]
    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is False
    assert "too slow" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_check_writes_sarif_for_the_file_of_the_answer(tmp_path: Path) -> None:
    answer, out = tmp_path / "answer.md", tmp_path / "out.sarif"
    answer.write_text(ANSWER)
    arguments = ["check", str(answer), "-s", SOURCE, "--backend", "fake", "--sarif", str(out)]
    assert CliRunner().invoke(main.app, arguments).exit_code == 1
    (run,) = json.loads(out.read_text())["runs"]
    assert run["artifacts"][0]["location"]["uri"] == answer.as_posix()


def test_the_mapping_names_keys_that_exist() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "schema.md").read_text(encoding="utf-8")
    first_cells = re.findall(r"^\| ([^|]*`[^|]*) \|", page, re.M)
    paths = {name for cell in first_cells for name in re.findall(r"`([\w.\[\]]+)(?:: \w+)?`", cell)}
    assert {"grounding_ratio", "claims[].evidence[].source", "repair.text"} <= paths
    for path in paths:
        resolve(report_schema(), path.replace("[]", "").split("."))


def resolve(schema: dict[str, Any], path: list[str]) -> None:
    """Follow a path of keys through the schema; a key that it does not define is a KeyError."""
    at: Any = schema
    for key in path:
        at = at["properties"][key]
        options = at.get("anyOf", [at])
        target = next((o for o in options if "$ref" in o or "items" in o), at)
        reference = target.get("$ref") or target.get("items", {}).get("$ref")
        at = schema["$defs"][reference.rsplit("/", 1)[1]] if reference else at
