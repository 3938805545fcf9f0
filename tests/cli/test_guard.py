"""`groundwire guard` from the terminal."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.loopback import Loopback, chat
from typer.testing import CliRunner

from groundwire.cli.guard import guard
from groundwire.cli.main import app
from groundwire.config import Config
from groundwire.errors import BackendDown, InputError
from groundwire.llm.fake import ScriptedCall, ScriptedGenerator

SOURCE = "Acme was founded in 1987 in Berlin. Acme has 40 employees. Its office is in Berlin."
WRONG = "Acme was founded in 1987 in Berlin. Acme has 400 employees. Its office is in Berlin. It is old."
ASKED = "What is known about Acme?"


def says(answer: str) -> ScriptedGenerator:
    def script(call: ScriptedCall) -> str:
        return "Acme has 40 employees." if "was taken out" in call.messages[-1].content else answer

    return ScriptedGenerator(script)


def shown(generator: ScriptedGenerator, source: str = SOURCE, **options: Any) -> tuple[int, str]:
    out = StringIO()
    console = Console(file=out, width=200)
    return guard(ASKED, [source], config=Config(), console=console, generator=generator, **options), out.getvalue()


def test_what_may_stand_is_shown_with_its_sources() -> None:
    code, out = shown(says("Acme has 40 employees."))
    assert (code, "Acme has 40 employees [S0]." in out, "risk low · mark" in out) == (0, True, True)


def test_what_fails_is_stopped_and_written_again() -> None:
    code, out = shown(says(WRONG))
    assert code == 1
    assert "⟨stopped: " in out
    assert "It is old" not in out
    assert "Acme was founded in 1987 in Berlin [S0]. Acme has 40 employees [S0]." in out
    assert "risk high · reformulate · 1 weak points" in out


def test_events_are_lines_of_json() -> None:
    code, out = shown(says(WRONG), as_json=True)
    events = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert [event["kind"] for event in events][-3:] == ["interrupted", "reformulated", "done"]


def test_a_server_that_ignores_stream_is_guarded_as_a_whole_answer(loopback: Loopback) -> None:
    loopback.script(chat("Acme has 40 employees."))
    config = Config.load(None, {"openai.base_url": f"{loopback.url}/v1", "generator.provider": "openai"})
    out = StringIO()
    assert guard(ASKED, [SOURCE], config=config, console=Console(file=out, width=200)) == 0
    assert "Acme has 40 employees [S0]." in out.getvalue()
    assert loopback.requests[0].body["stream"] is True


def test_an_answer_that_asserts_nothing_is_not_clean() -> None:
    code, out = shown(says("Great question! What else is known?"))
    assert (code, "NOTHING_TO_CHECK" in out) == (3, True)


def test_a_model_that_fails_is_told() -> None:
    code, out = shown(ScriptedGenerator([BackendDown("the model went away")]))
    assert (code, "the model went away" in out) == (3, True)


def test_where_nothing_was_said_no_risk_is_told() -> None:
    _, out = shown(ScriptedGenerator([BackendDown("gone")]))
    assert "gone" in out
    assert "risk" not in out


def test_a_conversation_is_held_against_it(tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps([{"role": "assistant", "content": "Acme has 40 employees."}]))
    code, out = shown(says("Acme has 55 employees."), history=str(chat))
    assert (code, "55" in out.partition("\n\n")[2]) == (1, False)


def test_standard_input_is_read_once() -> None:
    with pytest.raises(InputError, match="stdin"):
        shown(says(""), "-", history="-")


def test_an_empty_request_is_one_line() -> None:
    result = CliRunner().invoke(app, ["guard", " ", "-s", SOURCE])
    assert isinstance(result.exception, InputError)
