"""Events on disk: appended whole, read with forgiveness."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.agent.trajectory import Event, EventKind, EventLog, Json, Recorder, Trajectory, analyse, read_trajectory
from groundwire.errors import InputError, StoreError

CLAIM: dict[str, Json] = {
    "id": "c1",
    "status": "CONTRADICTED",
    "flagged": True,
    "budget_gap": 3.5,
    "text": "x",
    "reason": "y",
}
USED: dict[str, Json] = {"calls": 1, "prompt_tokens": 80, "completion_tokens": 20, "seconds": 2.0, "dollars": 0.0}


def verification(**more: Json) -> Event:
    data: dict[str, Json] = {
        "failed": True,
        "uncertain": ["c1"],
        "report": {"claims": [CLAIM, {**CLAIM, "flagged": False}]},
    }
    return Event(EventKind.VERIFICATION, "r", data={**data, **more})


@pytest.mark.spec("SPEC-16.25")
def test_recorded_events_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    log = EventLog()
    with Recorder(path) as recorder:
        log.handler = recorder
        log(EventKind.QUERY, query="Was “it” 5?\n\ud800 ")
        log(EventKind.TOKEN, text="not kept")
        log.nested()(EventKind.ANSWER, text="no")
    found = read_trajectory(path)
    assert [event.kind for event in found.events] == [EventKind.QUERY, EventKind.ANSWER]
    assert [event.depth for event in found.events] == [0, 1]
    assert found.damaged == 0
    assert path.stat().st_mode & 0o077 == 0


def test_partial_line_does_not_swallow_the_next(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(verification().to_json() + '\n{"event": "answ')
    with Recorder(path) as recorder:
        recorder(Event(EventKind.END, "r"))
    found = read_trajectory(path)
    assert ([event.kind for event in found.events], found.damaged) == ([EventKind.VERIFICATION, EventKind.END], 1)


@pytest.mark.parametrize("line", ["[]", "3", '{"event": "nonsense"}', '{"event": 3}', "{", "[" * 100_000,
                                  '{"event": "end", "depth": "deep"}', '{"event": "end", "at": []}'])  # fmt: skip
def test_invalid_lines_are_counted(tmp_path: Path, line: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(f"{line}\n{verification().to_json()}\n\n")
    found = read_trajectory(path)
    assert (len(found.events), found.damaged) == (1, 1)


def test_unusable_files_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\xff\xfe\x00not this\n")
    with pytest.raises(InputError, match="not a trajectory"):
        read_trajectory(path)
    with pytest.raises(InputError, match="cannot read"):
        read_trajectory(tmp_path)
    with pytest.raises(InputError, match="cannot write"):
        Recorder(tmp_path / "none" / "t.jsonl")
    assert read_trajectory(Path("/dev/null")).events == ()


def test_full_disk_is_reported() -> None:
    with Recorder(Path("/dev/full")) as recorder, pytest.raises(StoreError, match="cannot write"):
        recorder(Event(EventKind.END))


@pytest.mark.spec("SPEC-16.36")
def test_runs_are_summarised() -> None:
    cost = Event(EventKind.COST, "r", data={"base": USED, "verification": {**USED, "seconds": 0.1}})
    end = Event(EventKind.END, "r", data={"error": None, "retries": 1})
    broken = Event(EventKind.END, "s", data={"error": "gone"})
    nested = Event(EventKind.COST, "r", depth=1, data={"base": USED, "verification": USED})
    events = (Event(EventKind.QUERY, "r"), verification(), Event(EventKind.RETRY, "r"), verification(error="down"),
              nested, cost, end, Event(EventKind.SKIPPED, "s"), broken)  # fmt: skip
    found = analyse(Trajectory(events))
    assert (found.runs, found.finished, found.failed, found.verifications) == (2, 2, 1, 2)
    assert (found.claims, found.flagged, found.flagged_share) == (4, 2, 0.5)
    assert (found.retries, found.skipped, found.unchecked) == (1, 1, 1)
    assert (found.seconds_share, found.tokens_share) == (0.05, 1.0)


def test_empty_trajectory() -> None:
    found = analyse(Trajectory(()))
    assert (found.runs, found.flagged_share, found.seconds_share) == (0, None, None)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(
    st.sampled_from(list(EventKind)),
    st.dictionaries(st.sampled_from(["report", "base", "share", "error"]), json_values),
)
def test_arbitrary_events_can_be_summarised(kind: EventKind, data: dict[str, object]) -> None:
    event = Event(kind, "r", data=data)  # type: ignore[arg-type]
    assert analyse(Trajectory((event, event))).runs == 1
    json.loads(event.to_json())
