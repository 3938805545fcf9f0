"""`groundwire guard`: a question answered under watch."""

from __future__ import annotations

from typing import Annotated

import typer

from groundwire.cli.commands.talk import Files, Model, Provider
from groundwire.cli.options import Backend, ConfigFile, settings
from groundwire.cli.streams import open_console

app = typer.Typer(rich_markup_mode=None)


@app.command()
def guard(
    request: Annotated[str, typer.Argument(help="What the model shall answer.")],
    files: Files = [],  # noqa: B006 (Typer's way to say "none")
    history: Annotated[str | None, typer.Option(help="The chat before: JSON or a transcript.")] = None,
    kb: Annotated[str | None, typer.Option(help="A knowledge base: a SQLite file or postgresql://…")] = None,
    provider: Provider = None,
    model: Model = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each event as a line of JSON.")] = False,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Let a model answer from files, and stop it where they say otherwise. Exit code 1 if it was weak."""
    from groundwire.cli.guard import Request, run_guard

    asked = Request(request, tuple(files), history, kb, provider, model, as_json)
    raise typer.Exit(run_guard(asked, settings(config, backend), open_console()))
