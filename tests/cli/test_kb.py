"""`groundwire kb` as its user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from groundwire.cli import main
from groundwire.errors import GroundwireError

PEOPLE = "name,type,aliases,department\nJohn Smith,person,Johnny,Engineering\nAnn Lee,person,,Sales\n"


def groundwire(*arguments: object, stdin: str | bytes = "") -> tuple[int, str, str]:
    found = CliRunner().invoke(main.app, list(map(str, arguments)), input=stdin)
    if isinstance(found.exception, GroundwireError):
        return found.exception.exit_code, found.stdout, found.stderr + str(found.exception)
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout, found.stderr


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return path


def test_import_show_search_stats_and_export(store_url: str, people: Path, tmp_path: Path) -> None:
    code, out, _ = groundwire("kb", "import", people, "--kb", store_url)
    assert (code, out) == (0, f"{people}: 2 entities and 0 facts\n")
    triples = "John Smith\tknows*\tAnn Lee\n"
    assert groundwire("kb", "import", "-", "--format", "triples", "--kb", store_url, stdin=triples)[0] == 0
    shown = groundwire("kb", "show", "johnny", "--store", store_url)
    assert shown[0] == 0
    assert "department: Engineering" in shown[1]
    assert "John Smith knows Ann Lee" in shown[1]
    found = json.loads(groundwire("kb", "show", "Jon Smith", "--kb", store_url, "--json")[1])
    assert (found["entity"]["id"], len(found["facts"])) == ("john-smith", 1)
    assert "John Smith" in groundwire("kb", "search", "smith", "--kb", store_url)[1]
    assert json.loads(groundwire("kb", "stats", "--kb", store_url, "--json")[1])["entities"] == 2
    assert "2 entities under 3 names" in groundwire("kb", "stats", "--kb", store_url)[1]
    out_file = tmp_path / "all.jsonl"
    assert groundwire("kb", "export", "-o", out_file, "--kb", store_url)[0] == 0
    assert groundwire("kb", "export", "--kb", store_url)[1] == out_file.read_text()
    assert groundwire("kb", "export", "--format", "triples", "--kb", store_url)[1] == triples


def test_a_bad_row_is_reported_and_the_rest_imported_or_nothing_is(store_url: str, people: Path) -> None:
    people.write_text(PEOPLE + ",nobody,,\n")
    code, _, said = groundwire("kb", "import", people, "--strict", "--kb", store_url)
    assert (code, f"{people}, line 4: has no name" in said, "nothing was imported" in said) == (2, True, True)
    assert json.loads(groundwire("kb", "stats", "--kb", store_url, "--json")[1])["entities"] == 0
    code, out, said = groundwire("kb", "import", people, "--kb", store_url)
    assert (code, "line 4" in said, "2 entities and 0 facts; 1 row could not be used" in out) == (1, True, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("import", "no.csv"), "no.csv is not a file"),
        (("import", "no.xyz"), "--format"),
        (("import", "-", "--format", "csv"), "the file is empty"),
        (("export", "--format", "pdf"), "unknown format 'pdf'"),
        (("show", "Ann"), "there is no store"),
        (("stats",), "there is no store"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    code, _, error = groundwire("kb", *arguments, "--kb", tmp_path / "new.db")
    assert (code, said in error, error.strip().count("\n")) == (2, True, 0)


def test_what_is_not_known_is_not_shown(store_url: str) -> None:
    assert groundwire("kb", "show", "Nobody", "--kb", store_url)[0] == 1
    assert groundwire("kb", "search", "Nobody", "--kb", store_url)[0] == 1


def test_hostile_names_do_not_steer_the_terminal(store_url: str) -> None:
    row = json.dumps({"name": "Eve\x1b[2J [red]x[/red]", "attributes": {"a\x1b": "b\u202e"}})
    assert groundwire("kb", "import", "-", "--format", "jsonl", "--kb", store_url, stdin=row)[0] == 0
    for command in (("show", "Eve 2J red x red"), ("search", "Eve 2J red x red"), ("stats",)):
        code, out, _ = groundwire("kb", *command, "--kb", store_url)
        assert (code, "\x1b[2J" in out, "\u202e" in out) == (0, False, False)


def test_a_full_disk_is_one_line(people: Path, tmp_path: Path) -> None:
    """A file may grow to a size only, as on a disk that is full."""
    limit = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))"
    code = f"{limit}; import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); sys.argv[0] = 'groundwire'"
    code += "; from groundwire.cli.main import main; main()"
    command = [sys.executable, "-c", code, "kb", "import", str(people), "--kb", str(tmp_path / "small.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 3
    assert done.stderr.startswith("groundwire: the store")
    assert done.stderr.count("\n") == 1
