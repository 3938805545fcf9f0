"""`groundwire rag …`: questions to documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from groundwire.cli.options import AsJson, Backend, ConfigFile, group, settings
from groundwire.cli.streams import open_console

app = group("Ask documents, and see which claims of the answer they carry.")
IndexFile = Annotated[Path | None, typer.Option("--index", help="The index's file; else as configured.")]


@app.command()
def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="Files, and folders with all below.")],
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents whose files are gone.")] = False,
    index: IndexFile = None,
    config: ConfigFile = None,
) -> None:
    """Take documents in. What is unchanged since the last time is left as it is."""
    from groundwire.cli.rag import run_ingest

    raise typer.Exit(run_ingest(paths, _settings(config, index), open_console(), prune=prune))


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    top_k: Annotated[int | None, typer.Option(min=1, max=50, help="How many passages to look at.")] = None,
    provider: Annotated[str | None, typer.Option(help="openai, anthropic or llm (on this machine).")] = None,
    model: Annotated[str | None, typer.Option(help="Which of the provider's models.")] = None,
    backend: Backend = None,
    as_json: AsJson = False,
    index: IndexFile = None,
    config: ConfigFile = None,
) -> None:
    """Answer from the documents. Exit code 1 if they do not carry some claim of the answer."""
    from groundwire.cli.rag import Question, run_ask

    asked = Question(question, top_k, provider, model, as_json)
    raise typer.Exit(run_ask(asked, _settings(config, index, backend), open_console()))


@app.command("list")
def list_(as_json: AsJson = False, index: IndexFile = None, config: ConfigFile = None) -> None:
    """The documents that answers are written from."""
    from groundwire.cli.rag import run_list

    raise typer.Exit(run_list(_settings(config, index), open_console(), as_json=as_json))


@app.command()
def remove(
    documents: Annotated[list[str], typer.Argument(metavar="DOCUMENT…", help="Their ids or files.")],
    index: IndexFile = None,
    config: ConfigFile = None,
) -> None:
    """Let documents go."""
    from groundwire.cli.rag import run_remove

    raise typer.Exit(run_remove(documents, _settings(config, index), open_console()))


def _settings(config: Path | None, index: Path | None, backend: str | None = None) -> Any:
    found = settings(config, backend)
    if index is None:
        return found
    return found.changed(
        rag={**found.rag.model_dump(exclude_unset=True), "index": "sqlite", "path": str(index)}
    )
