"""The image and its neighbours, read: every file, command, port and setting they name is real."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from groundwire.cli.main import app
from groundwire.config import Config
from groundwire.server.auth import PUBLIC, scope_of

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile, an instruction a line."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    found = [line.split(maxsplit=1) for line in joined.splitlines() if line.strip()]
    return [(name, rest) for name, rest in found]


def stages() -> list[list[tuple[str, str]]]:
    found: list[list[tuple[str, str]]] = []
    for name, rest in instructions():
        if name == "FROM":
            found.append([])
        found[-1].append((name, rest))
    return found


def last(name: str) -> str:
    (found,) = [rest for kind, rest in stages()[-1] if kind == name]
    return found


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    return found


def sent(path: str) -> bool:
    """Whether the .dockerignore lets a file through: the last pattern that fits decides."""
    kept = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.strip().removeprefix("!")
        if pattern and not pattern.startswith("#"):
            fits = fnmatch(path, pattern) or path.startswith(f"{pattern}/")
            kept = line.startswith("!") if fits else kept
    return kept


def test_everything_that_is_copied_exists_and_is_sent() -> None:
    copied = [shlex.split(rest) for name, rest in instructions() if name == "COPY" and "--from" not in rest]
    sources = [source for words in copied for source in words[:-1]]
    assert {"pyproject.toml", "README.md", "LICENSE", "src"} == set(sources)
    for source in sources:
        assert (ROOT / source).exists()
        assert sent(source)
    assert sent("src/groundwire/__init__.py")
    for other in (".git", ".venv/bin/python", "tests/conftest.py", "groundwire.db"):
        assert not sent(other)


def test_what_is_installed_exists() -> None:
    (install,) = [rest for name, rest in stages()[0] if name == "RUN"]
    (extras,) = re.findall(r"\.\[([\w,]+)\]", install)
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


def test_the_image_that_runs_builds_nothing_and_is_nobodys_root() -> None:
    final = stages()[-1]
    assert last("FROM").endswith("-slim")
    assert not [rest for name, rest in final if name == "RUN" and re.search(r"\b(pip|apt-get|gcc)\b", rest)]
    (user,) = [n for n, (name, _) in enumerate(final) if name == "USER"]
    assert final[user][1] == "groundwire"
    assert not [name for name, _ in final[user:] if name in ("RUN", "COPY", "ADD")]


def test_the_command_is_one_of_ours() -> None:
    (entry,) = json.loads(last("ENTRYPOINT"))
    assert entry in PROJECT["scripts"]
    (command,) = json.loads(last("CMD"))
    assert command in typer.main.get_command(app).commands  # type: ignore[attr-defined]


def test_the_health_check_asks_what_anyone_may() -> None:
    _, _, command = last("HEALTHCHECK").partition("CMD ")
    python, flag, code = json.loads(command)
    assert (python, flag) == ("python", "-c")
    compile(code, "HEALTHCHECK", "exec")
    (path,) = re.findall(r"'(/\w+)'", code)
    assert scope_of(path, "GET") == PUBLIC
    assert str(Config().server.port) in code


def test_the_settings_of_the_image_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = dict(pair.split("=", 1) for pair in shlex.split(last("ENV")))
    for name, value in pairs.items():
        if name.startswith("GROUNDWIRE_"):
            monkeypatch.setenv(name, value)
    config = Config.load()
    assert config.server.host == "0.0.0.0"
    assert last("EXPOSE") == str(config.server.port)
    home = last("VOLUME")
    assert last("WORKDIR") == home
    for path in (config.store.url, config.store.cache_path, config.rag.path):
        assert path.startswith(f"{home}/")


def test_the_neighbours_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    found = compose()
    services = found["services"]
    assert set(services) == {"groundwire", "db", "redis"}
    for name, service in services.items():
        assert set(service.get("depends_on", {})) <= set(services)
        for needed, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}
            assert services[needed]["healthcheck"]["test"][0] == "CMD"
        for volume in service.get("volumes", ()):
            assert volume.split(":")[0] in found["volumes"]
        assert name == "groundwire" or ":" in service["image"], "an image without a tag is any image"
    ours = services["groundwire"]
    (port,) = ours["ports"]
    assert port.endswith(f":{Config().server.port}")
    assert port.startswith("127.0.0.1:"), "what the world may reach is a choice to be made"
    assert float(ours["stop_grace_period"].removesuffix("s")) > Config().server.shutdown_grace


def test_the_settings_of_the_neighbours_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    services = compose()["services"]
    for name, value in services["groundwire"]["environment"].items():
        filled = re.sub(r"\$\{\w+:\?[^}]*\}", "secret", re.sub(r"\$\{\w+:-\}", "", value))
        assert "$" not in filled
        monkeypatch.setenv(name, filled)
    config = Config.load()
    database = services["db"]["environment"]
    user, name = database["POSTGRES_USER"], database["POSTGRES_DB"]
    assert config.store.url == f"postgresql://{user}:secret@db:5432/{name}"
    assert config.redis.url is not None
    assert config.redis.url.get_secret_value().startswith("redis://redis:")
    assert config.openai.api_key is None
