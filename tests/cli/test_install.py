"""`groundwire install` and `uninstall`, for every coding assistant."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from groundwire.cli.install import EDITS, Assistant
from groundwire.cli.main import app
from groundwire.errors import InputError

THEIRS = {
    ".mcp.json": '{"mcpServers": {"git": {"command": "git-mcp"}}}',
    ".claude/settings.json": '{\n    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}\n}',
    "CLAUDE.md": "# House rules\n\nUse tabs.",
    ".codex/config.toml": 'model = "m"  # ours\n\n[mcp_servers.git]\ncommand = "git-mcp"',
}


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in files}


def fill(folder: Path) -> None:
    for name, text in THEIRS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("assistant", list(Assistant))
@pytest.mark.parametrize("filled", [False, True])
def test_uninstall_restores_every_byte(tmp_path: Path, assistant: str, filled: bool) -> None:
    if filled:
        fill(tmp_path)
    before, folders = contents(tmp_path), sorted(path for path in tmp_path.rglob("*") if path.is_dir())
    assert invoke("install", assistant, "--folder", str(tmp_path)).exit_code == 0
    after = contents(tmp_path)
    assert all(edit.path in after for edit in EDITS[Assistant(assistant)])
    assert all("groundwire" in after[edit.path] for edit in EDITS[Assistant(assistant)])
    invoke("install", assistant, "--folder", str(tmp_path))  # twice is once
    assert contents(tmp_path) == after
    assert invoke("uninstall", assistant, "--folder", str(tmp_path)).exit_code == 0
    assert contents(tmp_path) == before
    assert sorted(path for path in tmp_path.rglob("*") if path.is_dir()) == folders


@pytest.mark.parametrize("assistant", list(Assistant))
def test_a_dry_run_shows_all_and_writes_nothing(tmp_path: Path, assistant: str) -> None:
    shown = invoke("install", assistant, "--folder", str(tmp_path), "--dry-run").stdout
    assert all(f"+++ {edit.path} (then)" in shown for edit in EDITS[Assistant(assistant)])
    assert contents(tmp_path) == {}


def test_what_others_wrote_is_kept(tmp_path: Path) -> None:
    fill(tmp_path)
    invoke("install", "claude-code", "--folder", str(tmp_path))
    invoke("install", "codex", "--folder", str(tmp_path))
    servers = json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]
    assert servers == {"git": {"command": "git-mcp"}, "groundwire": {"command": "groundwire", "args": ["mcp"]}}
    hooks = json.loads((tmp_path / ".claude/settings.json").read_text())["hooks"]["Stop"]
    assert [group["hooks"][0]["command"] for group in hooks] == ["say done", "groundwire hook --for claude-code"]
    toml = tomllib.loads((tmp_path / ".codex/config.toml").read_text())
    assert sorted(toml["mcp_servers"]) == ["git", "groundwire"]
    assert (tmp_path / "CLAUDE.md").read_text().startswith("# House rules\n\nUse tabs.\n\n<!-- groundwire -->")


def test_a_file_that_was_changed_since_loses_only_our_part(tmp_path: Path) -> None:
    fill(tmp_path)
    invoke("install", "claude-code", "--folder", str(tmp_path))
    settings = tmp_path / ".claude/settings.json"
    data = json.loads(settings.read_text()) | {"model": "m"}
    settings.write_text(json.dumps(data), encoding="utf-8")
    notes = tmp_path / "CLAUDE.md"
    notes.write_text(notes.read_text() + "New rule.\n", encoding="utf-8")
    invoke("uninstall", "claude-code", "--folder", str(tmp_path))
    assert json.loads(settings.read_text()) == json.loads(THEIRS[".claude/settings.json"]) | {"model": "m"}
    assert notes.read_text() == "# House rules\n\nUse tabs.\nNew rule.\n"


def test_a_file_that_is_not_json_is_named(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text("{ // comment\n}", encoding="utf-8")
    found = CliRunner().invoke(app, ["install", "claude-code", "--folder", str(tmp_path)])
    assert found.exit_code != 0
    assert ".mcp.json is not JSON" in str(found.exception)
    assert list(contents(tmp_path)) == [".mcp.json"]


def test_line_ends_and_permissions_are_kept(tmp_path: Path) -> None:
    notes, servers = tmp_path / "CLAUDE.md", tmp_path / ".mcp.json"
    notes.write_bytes(b"# House rules\r\n\r\nUse tabs.\r\n")
    servers.write_text('{"mcpServers": {"git": {"env": {"TOKEN": "secret"}}}}', encoding="utf-8")
    servers.chmod(0o600)
    invoke("install", "claude-code", "--folder", str(tmp_path))
    assert stat.S_IMODE(servers.stat().st_mode) == 0o600
    invoke("uninstall", "claude-code", "--folder", str(tmp_path))
    assert notes.read_bytes() == b"# House rules\r\n\r\nUse tabs.\r\n"
    assert stat.S_IMODE(servers.stat().st_mode) == 0o600


@pytest.mark.parametrize("assistant", list(Assistant))
def test_uninstall_leaves_files_alone_that_hold_nothing_of_ours(tmp_path: Path, assistant: str) -> None:
    fill(tmp_path)
    (tmp_path / "GEMINI.md").touch()
    before = contents(tmp_path)
    found = invoke("uninstall", assistant, "--folder", str(tmp_path))
    assert (found.exit_code, found.stdout) == (0, "nothing to change\n")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("assistant", list(Assistant))
def test_uninstall_without_a_record_leaves_no_empty_files(tmp_path: Path, assistant: str) -> None:
    """`.groundwire` is often not committed, so another clone of the project does not have it."""
    invoke("install", assistant, "--folder", str(tmp_path))
    (tmp_path / ".groundwire" / f"{assistant}.json").unlink()
    (tmp_path / ".groundwire").rmdir()
    invoke("uninstall", assistant, "--folder", str(tmp_path))
    assert contents(tmp_path) == {}


def test_a_version_that_other_hooks_need_is_kept(tmp_path: Path) -> None:
    hooks = tmp_path / ".cursor/hooks.json"
    hooks.parent.mkdir()
    theirs = {"version": 1, "hooks": {"stop": [{"command": "say done"}]}}
    hooks.write_text(json.dumps(theirs), encoding="utf-8")
    invoke("install", "cursor", "--folder", str(tmp_path))
    hooks.write_text(json.dumps(json.loads(hooks.read_text())), encoding="utf-8")  # changed since
    invoke("uninstall", "cursor", "--folder", str(tmp_path))
    assert json.loads(hooks.read_text()) == theirs


def test_the_shown_changes_mark_a_missing_newline_at_the_end(tmp_path: Path) -> None:
    fill(tmp_path)
    shown = invoke("install", "claude-code", "--folder", str(tmp_path), "--dry-run").stdout.splitlines()
    at = shown.index("-Use tabs.")
    assert shown[at + 1 : at + 3] == ["\\ No newline at end of file", "+Use tabs."]


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "GEMINI.md").write_bytes(b"caf\xe9")
    found = CliRunner().invoke(app, ["install", "gemini", "--folder", str(tmp_path)])
    assert isinstance(found.exception, InputError)
    assert "GEMINI.md is not UTF-8 (byte 3)" in str(found.exception)
