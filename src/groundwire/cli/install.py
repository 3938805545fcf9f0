"""`groundwire install`: connect a coding assistant by an MCP entry, a hook at the end of turns, instructions.

What was in the files before is kept in `.groundwire/`, so that `uninstall` can restore it byte for byte. `groundwire
hook` is what the assistant runs at the end of a turn: it reads the assistant's JSON on stdin and compares the last
answer with the files and tool results of its transcript. Only a clear contradiction blocks the turn; what cannot be
checked passes, with a line on stderr.
"""

from __future__ import annotations

import json
import re
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from groundwire._loop import run
from groundwire.actions.judge import check_answer
from groundwire.actions.transcript import TranscriptEvent, ledger_of, read_events
from groundwire.cli.console import stdin_bytes, warn, write_atomic
from groundwire.cli.options import Backend, ConfigFile, command, settings
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError, InputError
from groundwire.streaming.protocol import is_clear_contradiction
from groundwire.traces.steps import from_events
from groundwire.types import ActionStatus

NAME = "groundwire"
INSTRUCTIONS = """\
Before you present an answer that rests on files or documents, call the tool `check` of the MCP server
groundwire with the answer and its sources, and correct what it flags. Before you report work as done, call
`check_actions` with the messages of this conversation. State only what a tool result shows: no "all tests
pass" without a run that passed.
"""
_SERVER = {"command": NAME, "args": ["mcp"]}
_TOML = f'[mcp_servers.{NAME}]\ncommand = "{NAME}"\nargs = ["mcp"]\n'


class Assistant(StrEnum):
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    CURSOR = "cursor"
    GEMINI = "gemini"
    COPILOT = "copilot"


Text = str | None
"""The content of a file; None if it does not exist."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """How a file gets our part, and how it loses it again if it was changed since."""

    path: str
    add: Callable[[Text], str]
    remove: Callable[[str], str]


def _json_edit(path: str, ours: dict[str, Any]) -> FileEdit:
    """Our part of a JSON object. A file that needs no change keeps its layout."""

    def edit(change: Callable[[dict[str, Any], Mapping[str, Any]], dict[str, Any]], text: Text) -> str:
        changed = change(_parse(path, text), ours)
        if text is not None and changed == _parse(path, text):
            return text
        return json.dumps(changed, indent=2, ensure_ascii=False) + "\n"

    return FileEdit(path, partial(edit, _merge), partial(edit, _without))


def _merge(data: dict[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Set keys that are missing and append items that are missing; an entry of our name is left as it is."""
    for key, value in ours.items():
        if key not in data:
            data[key] = value
        elif isinstance(value, list):
            data[key] = data[key] + [item for item in value if item not in data[key]]
        elif isinstance(value, dict) and key != NAME:
            data[key] = _merge(data[key], value)
    return data


def _without(data: dict[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Remove our keys and items, and what is empty without them.

    A single value, such as a version, may be needed by entries of others: it goes only if nothing else is left.
    """
    left = dict(data)
    for key, value in ours.items():
        held = data.get(key)
        if not held or not isinstance(value, dict | list):
            continue
        if held == value:
            del left[key]
        elif isinstance(value, list) and isinstance(held, list):
            left[key] = [item for item in held if item not in value]
        elif isinstance(value, dict) and isinstance(held, dict) and key != NAME:
            left[key] = _without(held, value)
        if not left.get(key, True):
            del left[key]
    return {} if left != data and all(ours.get(key) == value for key, value in left.items()) else left


def _parse(path: str, text: Text) -> dict[str, Any]:
    try:
        data = json.loads(text) if text and text.strip() else {}
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}", hint="remove comments and trailing commas") from None
    if not isinstance(data, dict):
        raise InputError(f"{path} must contain a JSON object")
    return data


def _block_edit(path: str, body: str, marks: tuple[str, str]) -> FileEdit:
    """A part of a text between two marks."""
    block = f"{marks[0]}\n{body}{marks[1]}\n"
    pattern = re.compile(rf"(?:\r?\n)?{re.escape(marks[0])}\r?\n.*?{re.escape(marks[1])}\r?\n", re.DOTALL)

    def add(text: Text) -> str:
        plain = pattern.sub("", text or "")
        return f"{plain.rstrip()}\n\n{block}" if plain.strip() else block

    return FileEdit(path, add, lambda text: pattern.sub("", text))


def _toml_edit(path: str) -> FileEdit:
    block = _block_edit(path, _TOML, (f"# {NAME}", f"# end of {NAME}"))

    def add(text: Text) -> str:
        try:
            held = tomllib.loads(text or "").get("mcp_servers", {})
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{path} is not TOML: {error}") from None
        return text if text and NAME in held and f"# {NAME}" not in text else block.add(text)

    return FileEdit(path, add, block.remove)


def _hook(assistant: Assistant, timeout: int = 60) -> list[dict[str, Any]]:
    return [{"hooks": [{"type": "command", "command": f"{NAME} hook --for {assistant}", "timeout": timeout}]}]


def _instructions(path: str) -> FileEdit:
    return _block_edit(path, INSTRUCTIONS, (f"<!-- {NAME} -->", f"<!-- end of {NAME} -->"))


_A = Assistant
_COPILOT_HOOK = {"type": "command", "bash": f"{NAME} hook --for copilot", "timeoutSec": 60}
EDITS: Mapping[Assistant, tuple[FileEdit, ...]] = {
    _A.CLAUDE_CODE: (
        _json_edit(".mcp.json", {"mcpServers": {NAME: _SERVER}}),
        _json_edit(".claude/settings.json", {"hooks": {"Stop": _hook(_A.CLAUDE_CODE)}}),
        _instructions("CLAUDE.md"),
    ),
    _A.CODEX: (
        _toml_edit(".codex/config.toml"),
        _json_edit(".codex/hooks.json", {"hooks": {"Stop": _hook(_A.CODEX)}}),
        _instructions("AGENTS.md"),
    ),
    _A.CURSOR: (
        _json_edit(".cursor/mcp.json", {"mcpServers": {NAME: _SERVER}}),
        _json_edit(
            ".cursor/hooks.json",
            {"version": 1, "hooks": {"stop": [{"command": f"{NAME} hook --for cursor", "loop_limit": 2}]}},
        ),
        # A rule of Cursor begins with its properties, so the file is ours as a whole.
        FileEdit(
            ".cursor/rules/groundwire.mdc",
            lambda _: f"---\ndescription: Check answers and reported work\nalwaysApply: true\n---\n{INSTRUCTIONS}",
            lambda _: "",
        ),
    ),
    _A.GEMINI: (
        _json_edit(
            ".gemini/settings.json",
            {"mcpServers": {NAME: _SERVER}, "hooks": {"AfterAgent": _hook(_A.GEMINI, timeout=60_000)}},
        ),
        _instructions("GEMINI.md"),
    ),
    _A.COPILOT: (
        _json_edit(".vscode/mcp.json", {"servers": {NAME: {"type": "stdio", **_SERVER}}}),
        _json_edit(".github/hooks/groundwire.json", {"version": 1, "hooks": {"agentStop": [_COPILOT_HOOK]}}),
        _instructions(".github/copilot-instructions.md"),
    ),
}
"""The files of each assistant, relative to the project."""
Folder = Annotated[Path, typer.Option("--folder", help="The project's folder.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be written.")]


@command()
def install(assistant: Assistant, folder: Folder = Path(), dry_run: DryRun = False) -> None:
    """Write the MCP entry, the hook and the instructions of a coding assistant into a project."""
    record = _record_path(folder, assistant)
    before = {edit.path: _read(folder / edit.path) for edit in EDITS[assistant]}
    after: dict[str, Text] = {edit.path: edit.add(before[edit.path]) for edit in EDITS[assistant]}
    if not dry_run and not record.exists():
        write_atomic(_made(record), json.dumps({"before": before, "after": after}))
    _apply(folder, before, after, dry_run=dry_run)


@command()
def uninstall(assistant: Assistant, folder: Folder = Path(), dry_run: DryRun = False) -> None:
    """Take away exactly what `groundwire install` wrote into a project."""
    record = _record_path(folder, assistant)
    known = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {"before": {}, "after": {}}
    current = {edit.path: _read(folder / edit.path) for edit in EDITS[assistant]}
    wanted: dict[str, Text] = {}
    for edit in EDITS[assistant]:
        now = current[edit.path]
        if now is None or now == known["after"].get(edit.path):
            wanted[edit.path] = known["before"].get(edit.path) if now is not None else None
        else:
            left = edit.remove(now)  # changed since: only our part goes
            is_empty = left != now and left.strip() in ("", "{}") and known["before"].get(edit.path) is None
            wanted[edit.path] = None if is_empty else left
    _apply(folder, current, wanted, dry_run=dry_run)
    if not dry_run and record.exists():
        record.unlink()
        if not any(record.parent.iterdir()):
            record.parent.rmdir()


def _apply(folder: Path, before: Mapping[str, Text], after: Mapping[str, Text], *, dry_run: bool) -> None:
    changed = {name: text for name, text in after.items() if text != before[name]}
    if not changed:
        print("nothing to change")
    for name, text in changed.items():
        print(_diff(name, before[name], text))
        if dry_run:
            continue
        path = folder / name
        if text is None:
            _delete(folder, path)
        else:
            # A configuration may hold keys that only its owner may read.
            mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
            write_atomic(_made(path), text, mode)


def _diff(name: str, before: Text, after: Text) -> str:
    old, new = ((text or "").splitlines(keepends=True) for text in (before, after))
    lines = unified_diff(old, new, f"{name} (now)", f"{name} (then)")
    marked = (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return "".join(marked).rstrip()


def _delete(folder: Path, path: Path) -> None:
    """Delete a file that was not there before, and the folders that were made for it."""
    path.unlink()
    for parent in path.relative_to(folder).parents[:-1]:
        if any((folder / parent).iterdir()):
            break
        (folder / parent).rmdir()


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _record_path(folder: Path, assistant: Assistant) -> Path:
    return folder / ".groundwire" / f"{assistant}.json"


def _read(path: Path) -> Text:
    """The text with its own line ends, so that it can be restored byte for byte."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start})", hint="save it as UTF-8") from None


# ---- the hook

_CLEAR = (ActionStatus.FAILED, ActionStatus.CONTRADICTED)
_MAX_SOURCE_CHARS = 200_000  # of the tool results of a turn: the hook must answer within seconds


@command()
def hook(
    assistant: Annotated[
        Assistant, typer.Option("--for", help="The assistant whose form of answer to print.")
    ] = Assistant.CLAUDE_CODE,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Compare the last answer of a coding assistant with its tool results. Reads the hook's JSON on stdin."""
    try:
        payload = json.loads(stdin_bytes().read() or b"{}")
        found = judge_turn(payload, settings(config, backend)) if isinstance(payload, dict) else ""
    except (GroundwireError, OSError, ValueError) as error:
        warn(f"not checked: {error}")
        found = ""
    print(json.dumps(_answer(assistant, found), ensure_ascii=False) if found else "{}")


def _answer(assistant: Assistant, reason: str) -> dict[str, str]:
    if assistant is Assistant.CURSOR:
        return {"followup_message": reason}
    return {"decision": "deny" if assistant is Assistant.GEMINI else "block", "reason": reason}


def judge_turn(payload: dict[str, Any], config: Config) -> str:
    """The reason to block the turn; empty if there is none. A turn that was blocked once passes."""
    path = payload.get("transcript_path") or payload.get("transcriptPath")
    if payload.get("stop_hook_active") or payload.get("loop_count") or not isinstance(path, str):
        return ""
    events = read_events(_lines(Path(path).expanduser().read_text(encoding="utf-8", errors="replace")))
    answer = str(payload.get("last_assistant_message") or from_events(events).answer)
    if not answer.strip():
        return ""
    actions = [action for action in check_answer(answer, ledger_of(events)) if action.status in _CLEAR]
    wrong = [f"- “{action.text}”: {action.status}; {action.reason}" for action in actions]
    wrong += _contradictions(answer, events, config)
    head = "groundwire: the answer contradicts tool results of this conversation. Correct it, or do the work:"
    return "\n".join((head, *wrong)) if wrong else ""


def _lines(text: str) -> Iterator[object]:
    """The entries of a transcript: one JSON object, or one per line. A line cut off at the end is skipped."""
    try:
        data = json.loads(text)
    except ValueError:
        for line in text.splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue
        return
    held = data.get("messages") if isinstance(data, dict) else data
    yield from held if isinstance(held, list) else [data]


def _contradictions(answer: str, events: list[TranscriptEvent], config: Config) -> list[str]:
    """The claims of the answer that a tool result of the turn denies."""
    sources: dict[str, str] = {}
    for name, text in reversed(from_events(events).sources.items()):
        if sum(map(len, sources.values())) + len(text) <= _MAX_SOURCE_CHARS:
            sources[name] = text
    if not sources:
        return []
    engine = Groundwire(config)
    try:
        report = run(engine.check(answer, sources))
    finally:
        run(engine.aclose())
    clear = config.realtime.interrupt_threshold
    denied = [claim for claim in report.claims if is_clear_contradiction(claim, clear)]
    return [f"- “{claim.text}”: {claim.reason}" for claim in denied]
