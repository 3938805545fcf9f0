"""`groundwire kb paths`: what was found, listed by path or as one object."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from groundwire.cli import main
from groundwire.errors import GroundwireError
from groundwire.stores.database import open_database
from groundwire.stores.paths import PathStore
from groundwire.types import Detection, Flag, HallucinationType
from groundwire.verdicts.paths import record

FLAG = Flag(HallucinationType.TEMPORAL_ERROR, 0, 9, "in \x1b[31m2099", 0.9)


@pytest.fixture
def store(tmp_path: Path) -> str:
    place = str(tmp_path / "paths.db")
    database = open_database(place)
    record(PathStore(database), "team/7", 2, Detection((FLAG,)))
    record(PathStore(database), "other", 1, Detection())
    database.close()
    return place


def paths(*arguments: str) -> tuple[int, str]:
    found = CliRunner().invoke(main.app, ["kb", "paths", *arguments])
    if isinstance(found.exception, GroundwireError):
        return found.exception.exit_code, str(found.exception)
    return found.exit_code, found.stdout


def test_a_session_is_listed_in_order(store: str) -> None:
    code, out = paths("/hallucination/team%2F7/", "--store", store)
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 15)
    assert lines == sorted(lines)
    assert "/hallucination/team%2F7/2/detection/total_flags  1" in lines
    assert "\x1b" not in out


def test_it_is_exported_as_objects_in_objects(store: str) -> None:
    code, out = paths("/hallucination/", "--json", "--store", store)
    tree = json.loads(out)["hallucination"]
    assert code == 0
    assert sorted(tree) == ["other", "team/7"]
    assert tree["team/7"]["2"]["detection"]["flag"]["0"]["content"] == FLAG.content


def test_everything_is_listed_without_a_path(store: str) -> None:
    assert "/hallucination_patterns/TemporalError-" in paths("--store", store)[1]


def test_nothing_there_is_said(store: str) -> None:
    assert paths("/hallucination/nobody/", "--store", store) == (0, "there is nothing below /hallucination/nobody/\n")


@pytest.mark.parametrize("prefix", ["hallucination", "/a//b", "/100%"])
def test_what_is_no_path_is_said_in_one_line(store: str, prefix: str) -> None:
    code, out = paths(prefix, "--store", store)
    assert (code, "is not a valid path" in out) == (2, True)


def test_looking_makes_no_store(tmp_path: Path) -> None:
    place = tmp_path / "none.db"
    assert paths("--store", str(place))[0] == 2
    assert not place.exists()
