"""What the pages say of other programs' configuration: it parses, and it starts what exists."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import typer.main
import yaml

from groundwire.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [match[2] for match in BLOCK.finditer(text) if match[1] == language]


def entries(found: dict[str, Any]) -> list[dict[str, Any]]:
    (servers,) = (found[key] for key in ("mcpServers", "servers", "mcp_servers") if key in found)
    assert list(servers) == ["groundwire"]
    return list(servers.values())


def test_every_clients_configuration_starts_the_command() -> None:
    shown = [json.loads(block) for block in blocks("mcp.md", "json")]
    shown += [tomllib.loads(block) for block in blocks("mcp.md", "toml")]
    given = [entry for found in shown for entry in entries(found)]
    local = [entry for entry in given if "command" in entry]
    assert len(local) == 3
    for entry in local:
        assert entry["command"] == "groundwire"
        (command,) = entry["args"]
        assert command in typer.main.get_command(app).commands  # type: ignore[attr-defined]
    (remote,) = [entry for entry in given if "url" in entry]
    assert remote["url"].endswith("/mcp")
    assert remote["headers"]["Authorization"].startswith("Bearer gw_")


def test_the_tools_on_the_page_are_those_there_are() -> None:
    from groundwire.mcp.tools import TOOLS

    text = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", text, re.M) == [tool.name for tool in TOOLS]


def test_the_step_on_the_page_is_one_the_action_takes() -> None:
    pages = [yaml.safe_load(block) for block in blocks("integrations.md", "yml")]
    (shown,) = [page for page in pages if isinstance(page, list) and "with" in page[0]]
    inputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    assert set(shown[0]["with"]) <= set(inputs)
