"""Where the store and the index of a project are, and what is said about those of earlier releases."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from groundwire.cli import main
from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.rag.index import open_index
from groundwire.stores.database import open_database

PLACES = ("store.url", "groundwire.db", "store"), ("rag.path", "rag.db", "index")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without settings, and a home without files of earlier releases."""
    for name in ("GROUNDWIRE_STORE__URL", "GROUNDWIRE_RAG__PATH"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def open_both(*, create: bool = True) -> None:
    config = Config.load()
    open_database(config.store.url, create=create).close()
    open_index(config, create=create).close()


def test_each_project_has_a_store_and_an_index_that_git_leaves_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_both()
    assert {path.name for path in (project / ".groundwire").iterdir()} >= {"groundwire.db", "rag.db"}
    assert (project / ".groundwire" / ".gitignore").read_text() == "*\n"
    other = project.parent / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    with pytest.raises(InputError, match="there is no store at"):
        open_both(create=False)


@pytest.mark.parametrize(("setting", "name", "what"), PLACES)
def test_the_file_of_an_earlier_release_is_named_and_left_alone(
    project: Path, setting: str, name: str, what: str
) -> None:
    earlier = project.parent / "home/.local/share/groundwire" / name
    earlier.parent.mkdir(parents=True)
    earlier.write_bytes(b"as it was")
    line = rf"earlier releases kept one .* set {setting} to ~/.local/share/groundwire/{name}"

    def open_it(*, create: bool) -> None:
        if what == "store":
            open_database(Config().store.url, create=create).close()
        else:
            open_index(Config(), create=create).close()

    with pytest.raises(InputError, match=line):
        open_it(create=False)
    with pytest.warns(UserWarning, match=rf"is a new {what}; {line}"):
        open_it(create=True)
    open_it(create=True)  # said once: now the project has its own
    assert earlier.read_bytes() == b"as it was"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (["facts", "add", "It is red.", "--no-verify"], "using the store .groundwire/groundwire.db"),
        (["kb", "stats"], "using the store .groundwire/groundwire.db"),
        (["rag", "list"], "using the index .groundwire/rag.db"),
    ],
)
@pytest.mark.usefixtures("project")
def test_commands_name_the_store_or_the_index_they_use(command: list[str], line: str) -> None:
    open_both()
    assert line in CliRunner().invoke(main.app, command).stderr


@pytest.mark.usefixtures("project")
def test_an_index_of_the_command_line_is_used_instead(tmp_path: Path) -> None:
    (tmp_path / "tower.md").write_text("The tower is 330 metres tall.")
    chosen = ["--index", str(tmp_path / "chosen.db")]
    done = CliRunner().invoke(main.app, ["rag", "ingest", str(tmp_path / "tower.md"), *chosen])
    assert (done.exit_code, "using the index" in done.stderr) == (0, False)
    assert "tower.md" in CliRunner().invoke(main.app, ["rag", "list", *chosen]).stdout
    assert not Path(".groundwire").exists()
