"""`groundwire hook`: the end of an assistant's turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from groundwire.cli.main import app
from groundwire.verifiers import backends
from groundwire.verifiers.backends import BackendSpec
from groundwire.verifiers.fake import FakeVerifier


def transcript(path: Path, said: str, result: str = "1 failed, 3 passed") -> Path:
    """A transcript as Claude Code writes it, the last line cut off."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "pytest"}}
    returned = {"type": "tool_result", "tool_use_id": "t1", "content": result}
    lines = [
        {"type": "user", "message": {"role": "user", "content": "Run the tests."}},
        {"type": "assistant", "message": {"role": "assistant", "content": [call]}},
        {"type": "user", "message": {"role": "user", "content": [returned]}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": said}]}},
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + '\n{"type": "us', encoding="utf-8")
    return path


def hooked(payload: object, *options: str) -> dict[str, Any]:
    text = payload if isinstance(payload, str) else json.dumps(payload)
    found = CliRunner().invoke(app, ["hook", "--backend", "fake", *options], input=text)
    assert found.exit_code == 0
    answer: dict[str, Any] = json.loads(found.stdout)
    return answer


def test_an_answer_that_its_tool_result_contradicts_is_blocked(tmp_path: Path) -> None:
    path = transcript(tmp_path / "t.jsonl", "All tests pass.")
    found = hooked({"transcript_path": str(path)})
    assert found["decision"] == "block"
    assert "contradicted; its result says: 1 failed, 3 passed" in found["reason"]


@pytest.mark.parametrize(
    ("assistant", "key"), [("codex", "reason"), ("gemini", "reason"), ("cursor", "followup_message")]
)
def test_each_assistant_gets_its_own_form(tmp_path: Path, assistant: str, key: str) -> None:
    path = transcript(tmp_path / "t.jsonl", "All tests pass.")
    found = hooked({"transcript_path": str(path)}, "--for", assistant)
    assert "1 failed" in found[key]
    assert found.get("decision") == {"codex": "block", "gemini": "deny"}.get(assistant)


@pytest.mark.parametrize(
    "said", ["One test fails.", "I ran the tests.", "I also updated the docs.", "I have not fixed it yet."]
)
def test_what_is_true_or_merely_not_shown_passes(tmp_path: Path, said: str) -> None:
    assert hooked({"transcript_path": str(transcript(tmp_path / "t.jsonl", said))}) == {}


def test_a_turn_is_blocked_once(tmp_path: Path) -> None:
    path = transcript(tmp_path / "t.jsonl", "All tests pass.")
    assert hooked({"transcript_path": str(path), "stop_hook_active": True}) == {}


@pytest.mark.parametrize("payload", ["", "not JSON", "[]", {}, {"transcript_path": "/nowhere/t.jsonl"}])
def test_what_cannot_be_checked_passes(payload: object) -> None:
    assert hooked(payload) == {}


def test_a_claim_that_a_file_of_the_turn_denies_is_blocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    denying = FakeVerifier(lambda _: (0.01, 0.98))
    monkeypatch.setitem(backends.OPENERS, "fake", lambda _: BackendSpec(denying, "fake", "fake", 10**6, 0.0))
    path = transcript(tmp_path / "t.jsonl", "The port of the server is 9090.", "The port is 8080.")
    assert "The port of the server is 9090." in hooked({"transcript_path": str(path)})["reason"]


def test_a_transcript_of_codex_is_read(tmp_path: Path) -> None:
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Test it."}]},
        {"type": "function_call", "call_id": "c", "name": "shell", "arguments": '{"command": ["pytest"]}'},
        {"type": "function_call_output", "call_id": "c", "output": "2 failed"},
    ]
    lines = [{"type": "response_item", "payload": item} for item in items]
    path = tmp_path / "rollout.jsonl"
    path.write_text("\n".join(map(json.dumps, [{"type": "session_meta", "payload": {}}, *lines])))
    found = hooked({"transcript_path": str(path), "last_assistant_message": "All tests pass."}, "--for", "codex")
    assert "2 failed" in found["reason"]
