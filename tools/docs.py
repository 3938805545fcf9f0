"""`make docs`: the pages that are made from the program itself, so that they cannot drift from it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.main import get_command

from groundwire.cli.main import app
from groundwire.config import Config
from groundwire.reports.schema import report_schema
from tools.transcripts import refreshed

ROOT = Path(__file__).resolve().parent.parent

_CONFIGURATION = """# Configuration

Every key, with its default. A file (`groundwire.yaml`, `.yml` or `.toml` in the working folder, `--config`,
or `GROUNDWIRE_CONFIG`) sets them as sections; the environment as `GROUNDWIRE_SECTION__KEY`; arguments win
over both. The SDKs' own variables (`OPENAI_API_KEY`, `ANTHROPIC_BASE_URL`, …) count where none of these says
otherwise. Durations are seconds, or written as 500ms, 2s, 5m, 1h30m. An unknown key or impossible value is an
error that names it. This page is made by `make docs`.

| key | default | takes |
|---|---|---|
"""

_COMMANDS = """# Commands

What `groundwire COMMAND --help` prints. Exit codes: 0 nothing flagged, 1 something flagged, 2 bad usage or
input, 3 could not check. This page is made by `make docs`.
"""


def configuration() -> str:
    return _CONFIGURATION + "".join(_keys(Config, ""))


def _keys(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _keys(kind, f"{prefix}{name}.")
        else:
            yield f"| `{prefix}{name}` | `{_default(field)}` | {_takes(kind)} |\n"


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    return {None: "none", True: "true", False: "false"}.get(value, str(value)) if _plain(value) else "{}"


def _plain(value: object) -> bool:
    return value is None or isinstance(value, (str, int, float))


def _takes(kind: Any) -> str:
    if hasattr(kind, "__metadata__"):
        return _takes(get_args(kind)[0])
    options = get_args(kind)
    if options and all(isinstance(option, str) for option in options):
        return ", ".join(f"`{option}`" for option in options)
    if get_origin(kind) is tuple:
        return "a list"
    if get_origin(kind) in (Union, UnionType):
        taken = " or ".join(_takes(option) for option in options if option is not type(None))
        return taken + (", or none" if type(None) in options else "")
    return {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "text"}.get(
        getattr(kind, "__name__", ""), "a secret" if "Secret" in str(kind) else "a table of the above"
    )


def commands() -> str:
    import typer

    sections = []
    root = get_command(app)
    with typer.Context(root, info_name="groundwire") as top:
        names = root.list_commands(top)  # type: ignore[attr-defined]
        for name in names:
            sections += _help(root.get_command(top, name), f"groundwire {name}")  # type: ignore[attr-defined]
    return _COMMANDS + "".join(sections)


def _help(command: Any, path: str) -> list[str]:
    import typer

    inner = [_help(child, f"{path} {name}") for name, child in getattr(command, "commands", {}).items()]
    if inner:
        return [section for sections in inner for section in sections]
    context = typer.Context(command, info_name=path, max_content_width=100, terminal_width=100)
    return [f"\n## {path}\n\n```\n{command.get_help(context).strip()}\n```\n"]


def schema() -> str:
    return json.dumps(report_schema(), indent=2, ensure_ascii=False) + "\n"


PAGES = {"docs/report.schema.json": schema, "docs/configuration.md": configuration, "docs/commands.md": commands}


def main() -> None:
    """Make the pages, and run the sessions of the documents given as arguments, or of all."""
    for name, make in PAGES.items():
        (ROOT / name).write_text(make(), encoding="utf-8")
    everything = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    for path in [Path(name) for name in sys.argv[1:]] or everything:
        path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
