"""`groundwire chat` and `groundwire repl`: verifying while you work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli.options import SOURCE_HELP, Backend, ConfigFile, settings
from groundwire.cli.streams import open_console

app = typer.Typer(rich_markup_mode=None)

Files = Annotated[list[str], typer.Option("-s", "--files", help=f"{SOURCE_HELP} May be repeated.")]
Provider = Annotated[str | None, typer.Option(help="openai, anthropic, or llm for the one on this machine.")]
Model = Annotated[str | None, typer.Option(help="The provider's model.")]


@app.command()
def chat(
    files: Files = [],  # noqa: B006 (Typer's way to say "none")
    question: Annotated[str | None, typer.Option("-q", "--question", help="Ask this, and end.")] = None,
    provider: Provider = None,
    model: Model = None,
    mode: Annotated[str | None, typer.Option(help="full, sample or critical_only: what is verified.")] = None,
    on_failure: Annotated[str | None, typer.Option(help="flag, retry or ask.")] = None,
    kb: Annotated[str | None, typer.Option(help="A knowledge base: a SQLite file or postgresql://…")] = None,
    simple: Annotated[bool, typer.Option("--simple", help="Begin without verification.")] = False,
    trajectory: Annotated[Path | None, typer.Option(help="Append what happens to this file.")] = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Talk with a language model whose answers are verified against files; /help lists the commands."""
    from groundwire.cli.chat import Request, run_chat, with_verification

    request = Request(tuple(files), question, provider, model, kb, simple, trajectory)
    found = with_verification(settings(config, backend), mode, on_failure)
    raise typer.Exit(run_chat(request, found, open_console()))


@app.command()
def repl(
    files: Files = [],  # noqa: B006
    sandbox: Annotated[bool, typer.Option("--sandbox", help="Run the code where it can do no harm.")] = False,
    provider: Provider = None,
    model: Model = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Python with verify_claim, audit_trace, llm and the others at hand; code may be piped in."""
    from groundwire.cli.repl import Request, run_repl

    request = Request(tuple(files), provider, model, sandbox)
    raise typer.Exit(run_repl(request, settings(config, backend), open_console()))
