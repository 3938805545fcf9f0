"""The n8n workflows by their form: known nodes, whole connections, no secrets. `make test-n8n` runs them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groundwire.config import Config
from groundwire.server.app import create_app

FOLDER = Path(__file__).parents[2] / "workflows"
NAMES = ("rag-chatbot", "hallucination-detection-tests")
KNOWN = {
    "n8n-nodes-base.stickyNote": 1,
    "n8n-nodes-base.webhook": 2,
    "n8n-nodes-base.manualTrigger": 1,
    "n8n-nodes-base.set": 3.4,
    "n8n-nodes-base.splitOut": 1,
    "n8n-nodes-base.httpRequest": 4.2,
    "n8n-nodes-base.code": 2,
    "n8n-nodes-base.if": 2.2,
    "n8n-nodes-base.noOp": 1,
    "n8n-nodes-base.stopAndError": 1,
    "n8n-nodes-base.respondToWebhook": 1.1,
}
"""Each with the version that n8n 2.8.4 ran it in."""


@pytest.fixture(params=NAMES)
def workflow(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{request.param}.json").read_text(encoding="utf-8"))
    return found


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def test_there_are_no_others() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(NAMES)


def test_it_can_be_imported(workflow: dict[str, Any]) -> None:
    assert re.fullmatch(r"\w{1,36}", workflow["id"])
    assert workflow["active"] is False
    assert {"name", "nodes", "connections", "settings"} <= workflow.keys()
    for node in workflow["nodes"]:
        assert {"id", "name", "type", "typeVersion", "position", "parameters"} <= node.keys()
        assert KNOWN[node["type"]] == node["typeVersion"]


def test_ids_and_names_are_unique(workflow: dict[str, Any]) -> None:
    for key in ("id", "name"):
        values = [node[key] for node in workflow["nodes"]]
        assert len(values) == len(set(values))


def test_every_node_is_reached_and_every_connection_leads_somewhere(workflow: dict[str, Any]) -> None:
    names = {node["name"] for node in workflow["nodes"] if not node["type"].endswith("stickyNote")}
    ends = {
        (start, link["node"])
        for start, outputs in workflow["connections"].items()
        for output in outputs["main"]
        for link in output
    }
    assert {name for pair in ends for name in pair} == names
    triggers = names - {end for _, end in ends}
    assert len(triggers) == 1
    reached = set(triggers)
    for _ in names:
        reached |= {end for start, end in ends if start in reached}
    assert reached == names


def test_expressions_speak_only_of_nodes_that_are_there(workflow: dict[str, Any]) -> None:
    names = {node["name"] for node in workflow["nodes"]}
    for text in strings(workflow["nodes"]):
        assert set(re.findall(r"\$\('([^']+)'\)", text)) <= names


def test_the_key_is_a_credential_and_nothing_secret_is_inside(workflow: dict[str, Any]) -> None:
    for node in workflow["nodes"]:
        if node["type"].endswith("httpRequest"):
            assert node["parameters"]["authentication"] == "genericCredentialType"
            assert node["credentials"] == {
                "httpHeaderAuth": {"id": "groundwireKey01", "name": "groundwire service key"}
            }
    whole = json.dumps(workflow)
    assert not re.search(r"gw_\w{6}|sk-\w{6}|Bearer\s+\w|password", whole)
    addresses = set(re.findall(r"https?://[^\s'\"/\\]+", whole))
    assert addresses == {"http://127.0.0.1:8321"}  # the service's own default, in one place a user can see


def test_what_it_calls_is_there(workflow: dict[str, Any]) -> None:
    paths = create_app(Config.load()).openapi()["paths"]
    called = [
        node["parameters"]["url"].partition("}}")[2]
        for node in workflow["nodes"]
        if node["type"].endswith("httpRequest")
    ]
    assert called
    assert all("post" in paths[path] for path in called)


def test_the_cases_of_the_seed_are_all_there() -> None:
    workflow = json.loads((FOLDER / "hallucination-detection-tests.json").read_text(encoding="utf-8"))
    (node,) = [node for node in workflow["nodes"] if node["name"] == "The cases"]
    cases = json.loads(node["parameters"]["jsonOutput"])["cases"]
    expected = [[True], [False], [False], [True, False, False, True]]
    assert [case["grounded"] for case in cases] == expected * 2
    assert sum(bool(re.search("[א-ת]", case["response"])) for case in cases) == 4
