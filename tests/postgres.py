"""A real PostgreSQL on the loopback interface for the tests, brought up once a run and thrown away after.

`store_url` gives a test an empty store at the newest schema, once as a SQLite file and once as a database of
that server. Both are copies of one made before, so a test pays milliseconds for it.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from groundwire.stores.database import open_database

ROLE = "groundwire"
TEMPLATE = "template_store"
PATIENCE = "60"
UNPRIVILEGED = ("postgres", "nobody")
NEEDED = ("initdb", "pg_ctl", "postgres")


@dataclass(frozen=True)
class Postgres:
    port: int
    numbers: Iterator[int]

    def url(self, name: str) -> str:
        return f"postgresql://{ROLE}@127.0.0.1:{self.port}/{name}"

    def execute(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def fresh(self, template: str = "template1") -> str:
        """The URL of a new database."""
        name = f"store_{next(self.numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def drop(self, url: str) -> None:
        self.execute(f"DROP DATABASE IF EXISTS {url.rpartition('/')[2]} WITH (FORCE)")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    programs = _programs()
    if programs is None:
        why = "PostgreSQL's server programs are not installed (Debian: apt-get install postgresql)"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    with tempfile.TemporaryDirectory(prefix="groundwire-postgres-") as folder:
        place, port = Path(folder), _free_port()
        _initialise(programs, place)
        _control(programs, place, "start", "-o", _options(place, port))
        try:
            server = Postgres(port, count(1))
            server.execute(f"CREATE DATABASE {TEMPLATE}")
            open_database(server.url(TEMPLATE)).close()
            yield server
        finally:
            _control(programs, place, "stop", "-m", "immediate")


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "template.db"
    database = open_database(str(path))
    with database.engine.connect() as connection:
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.exec_driver_sql("BEGIN")
    database.close()
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty store at the newest schema, of either kind."""
    if request.param == "sqlite":
        path = tmp_path / "store.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
        yield str(path)
        return
    server: Postgres = request.getfixturevalue("postgres")
    url = server.fresh(TEMPLATE)
    yield url
    server.drop(url)


@pytest.fixture(params=["sqlite", "postgresql"])
def bare_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A place where there is no store yet."""
    if request.param == "sqlite":
        yield str(tmp_path / "bare.db")
        return
    server: Postgres = request.getfixturevalue("postgres")
    url = server.fresh()
    yield url
    server.drop(url)


def _programs() -> Path | None:
    """The folder of the server's programs; Debian keeps them off the PATH."""
    found = shutil.which("pg_ctl")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders = [*installed, *([Path(found).resolve().parent] if found else [])]
    return next((f for f in folders if all((f / name).exists() for name in NEEDED)), None)


def _initialise(programs: Path, place: Path) -> None:
    if (owner := _owner()) is not None:
        os.chown(place, owner, -1)
    # Nothing of it outlives the run, so nothing of it need reach the disk.
    _run([programs / "initdb", "-D", place / "data", "-U", ROLE, "-A", "trust", "-E", "UTF8", "--no-sync"])


def _control(programs: Path, place: Path, *arguments: str) -> None:
    common: list[str | Path] = ["-D", place / "data", "-w", "-t", PATIENCE, "-l", place / "log"]
    _run([programs / "pg_ctl", *common, *arguments])


def _options(place: Path, port: int) -> str:
    quick = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c shared_buffers=32MB"
    return f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={place} {quick}"


def _run(command: list[str | Path]) -> None:
    """Into a file, not a pipe: the server keeps what it inherits, and a pipe would never be closed."""
    with tempfile.TemporaryFile("w+") as said:
        done = subprocess.run(
            command, user=_owner(), cwd="/", stdin=subprocess.DEVNULL, stdout=said, stderr=said, check=False
        )
        said.seek(0)
        if done.returncode:
            pytest.fail(f"{command[0]} failed: {said.read()}")


def _owner() -> int | None:
    """PostgreSQL refuses to run as root, so root lends it another user."""
    if os.geteuid() != 0:
        return None
    users = {user.pw_name: user.pw_uid for user in pwd.getpwall()}
    return next((users[name] for name in UNPRIVILEGED if name in users), 65534)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
