"""`groundwire trajectory` on a terminal and in a pipe."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from groundwire.agent.trajectory import Event, EventKind
from groundwire.cli.main import app
from groundwire.cli.trajectory import trajectory
from groundwire.errors import InputError

CLAIM = {"id": "c1", "status": "CONTRADICTED", "flagged": True, "budget_gap": 3.5,
         "text": "It is \x1b[31mred.", "reason": "it is blue"}  # fmt: skip


def written(folder: Path, *events: Event) -> Path:
    path = folder / "t.jsonl"
    path.write_text("".join(f"{event.to_json()}\n" for event in events))
    return path


def verification(failed: bool, error: str | None = None) -> Event:
    report = {"claims": [CLAIM if failed else {**CLAIM, "flagged": False}]}
    data = {"failed": failed, "mode": "full", "uncertain": ["c1"] if failed else [], "error": error, "report": report}
    return Event(EventKind.VERIFICATION, "r", data=data)  # type: ignore[arg-type]


RUN = (
    Event(EventKind.QUERY, "r", data={"query": "What colour?"}),
    Event(EventKind.CODE, "r", data={"code": "print([bold]1[/bold])"}),
    Event(EventKind.OUTPUT, "r", data={"text": "1"}),
    Event(EventKind.ANSWER, "r", 1, data={"text": "Red, deeper down."}),
    verification(True),
    Event(EventKind.RETRY, "r", data={"attempt": 1, "guidance": "Look again."}),
    verification(False),
    Event(EventKind.COST, "r", data={"base": {"seconds": 2.0, "calls": 2}, "verification": {"seconds": 0.1},
                                "share": {"seconds": 0.05, "tokens": None}}),
    Event(EventKind.END, "r", data={"error": None, "retries": 1}),
)  # fmt: skip


def shown(path: Path, width: int = 100) -> str:
    out = io.StringIO()
    trajectory(path, console=Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.spec("SPEC-16.25", "SPEC-16.34", "SPEC-16.36")
def test_each_step_and_the_sum_of_it(tmp_path: Path) -> None:
    text = shown(written(tmp_path, *RUN), width=140)
    for part in ("What colour?", "print([bold]1[/bold])", "contradicted", "it is blue", "Look again.",
                 "5.0 % of its seconds", "1 run · 1 of 2 claims flagged (50 %) · 1 retry"):  # fmt: skip
        assert part in text
    assert "      answer       Red, deeper down." in text
    assert "\x1b" not in text
    assert "cut off" not in text


def test_a_run_that_was_killed_says_so(tmp_path: Path) -> None:
    assert "cut off" in shown(written(tmp_path, *RUN[:-1]))


@pytest.mark.parametrize(
    ("events", "code"),
    [(RUN, 0), (RUN[:6], 1), ((verification(False, "down"),), 3), ((Event(EventKind.QUERY, "r"),), 0)],
)
def test_the_exit_code_is_that_of_the_last_answer(tmp_path: Path, events: tuple[Event, ...], code: int) -> None:
    result = CliRunner().invoke(app, ["trajectory", str(written(tmp_path, *events))])
    assert result.exit_code == code


def test_an_attempt_nobody_could_check_does_not_clear_one_that_fails(tmp_path: Path) -> None:
    path = written(tmp_path, verification(True), verification(False, "the backend is gone"))
    assert trajectory(path, console=Console(quiet=True)) == 1


def test_json_for_programs(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["trajectory", "--json", str(written(tmp_path, *RUN))])
    found = json.loads(result.stdout)
    assert (found["analysis"]["flagged_share"], found["damaged_lines"], len(found["events"])) == (0.5, 0, 9)


def test_hostile_events_are_shown_without_harm(tmp_path: Path) -> None:
    odd = [Event(kind, "\x1b[2J", 99, data={"text": 3, "report": [1], "share": 5, "query": {}, "code": None})
           for kind in EventKind if kind is not EventKind.TOKEN]  # fmt: skip
    assert "\x1b" not in shown(written(tmp_path, *odd), width=30)


def test_an_empty_file_is_said_to_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "nothing.jsonl"
    path.touch()
    with pytest.raises(InputError, match="is empty"):
        trajectory(path, console=Console(file=io.StringIO()))
