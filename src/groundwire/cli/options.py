"""What several commands take, and the configuration that comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

ConfigFile = Annotated[Path | None, typer.Option("--config", help="YAML or TOML file.")]
Backend = Annotated[str | None, typer.Option(help="local, openai, haiku, self, external or configurable.")]
ProfileOption = Annotated[str | None, typer.Option("--profile", help="default, rag or strict.")]
Target = Annotated[float | None, typer.Option(help="Confidence a claim must reach, 0 to 1.")]
SOURCE_HELP = "A file, a folder, '-' for stdin, or the text itself."
Sources = Annotated[list[str], typer.Option("-s", "--source", help=SOURCE_HELP)]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]
Store = Annotated[str | None, typer.Option("--store", help="A SQLite file or postgresql://… URL.")]


def group(help_text: str) -> typer.Typer:
    """A group of commands, such as `groundwire bench`."""
    return typer.Typer(help=help_text, no_args_is_help=True, rich_markup_mode=None)


def settings(
    config: Path | None,
    backend: str | None = None,
    target: float | None = None,
    profile: str | None = None,
    store: str | None = None,
    further: Mapping[str, object] | None = None,
) -> Any:
    """The configuration; `further` are dotted keys of a command's own options, None where not given."""
    from groundwire.config import Config
    from groundwire.metrics import setup_logging

    overrides = {
        "hallucination.backend.type": backend,
        "target": target,
        "profile": profile,
        "store.url": store,
        **(further or {}),
    }
    found = Config.load(config, overrides)
    setup_logging(found)
    return found
