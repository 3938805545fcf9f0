"""`groundwire audit`: judge each step of a reasoning trace, and whether its answer follows from the steps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from groundwire._loop import run
from groundwire.agent.reasoning import TraceStore, audit_graph
from groundwire.cli.console import ExitCode, open_console, print_json, safe_stdout, stdin_bytes, warn, write_atomic
from groundwire.cli.options import (
    AsJson,
    Backend,
    ConfigFile,
    HtmlOut,
    Sources,
    Store,
    TextCommand,
    command_app,
    settings,
)
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.reports.html import audit_page
from groundwire.reports.json import audit_object
from groundwire.reports.terminal import show_audit
from groundwire.retrieval.load import from_mapping, load_answer, load_sources
from groundwire.traces.audit import audit_trace
from groundwire.traces.steps import ParsedTrace, read_trace
from groundwire.types import Source, TraceGraph

app = command_app()


@app.command(cls=TextCommand)
def audit(
    trace: Annotated[str, typer.Argument(help="Steps as JSON, messages or text: a file, '-' or the text.")],
    source: Sources = None,
    question: Annotated[str, typer.Option("-q", "--question", help="The question that was asked.")] = "",
    answer: Annotated[str, typer.Option(help="The final answer, if the trace lacks it.")] = "",
    backend: Backend = None,
    as_json: AsJson = False,
    html: HtmlOut = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Judge each step of TRACE, and whether its answer follows from the steps. Exit code 1 if not."""
    args = AuditArgs(trace, tuple(source or ()), question, answer, as_json, html, store)
    raise typer.Exit(run_audit(args, settings(config, backend), open_console()))


@dataclass(frozen=True, slots=True)
class AuditArgs:
    """`store`: URL of a store in which the audit is kept as a reasoning trace."""

    trace: str
    sources: tuple[str, ...] = ()
    question: str = ""
    answer: str = ""
    as_json: bool = False
    html: Path | None = None
    store: str | None = None


def run_audit(args: AuditArgs, config: Config, console: Console) -> ExitCode:
    draft, sources = _read(args, config)
    engine = Groundwire(config, operation="trace")
    question, answer = args.question or draft.question, args.answer or draft.answer
    with Console(stderr=True).status("auditing …"):
        audit = run(audit_trace(engine, draft.steps, question, sources, answer, ledger=draft.ledger))
    run(engine.aclose())
    with safe_stdout():
        if args.as_json:
            print_json(audit_object(audit))
        else:
            show_audit(audit, console)
    # Last, so that the audit is printed even if the files or the store cannot be written.
    if args.html:
        write_atomic(args.html, audit_page(audit))
    if args.store is not None:
        warn(f"stored as {_store_trace(audit_graph(audit, sources), args.store)}")
    return ExitCode.of(audit.flagged)


def _read(args: AuditArgs, config: Config) -> tuple[ParsedTrace, tuple[Source, ...]]:
    if "-" in args.sources and args.trace == "-":
        raise InputError("only one of trace and sources can be read from stdin")
    limit = config.limits.max_source_bytes
    draft = read_trace(load_answer(args.trace, stdin=stdin_bytes(), max_bytes=limit))
    own = tuple(from_mapping(draft.sources)) if draft.sources else ()
    given = load_sources(args.sources, stdin=stdin_bytes(), max_bytes=limit) if args.sources else []
    taken = {source.id for source in own}
    clash = next((source.id for source in given if source.id in taken), None)
    if clash:
        raise InputError(f"the trace already has a source {clash}", hint="rename the one given with -s")
    return draft, (*own, *given)


def _store_trace(graph: TraceGraph, url: str) -> str:
    from groundwire.stores.database import open_database

    database = open_database(url)
    try:
        TraceStore(database).write(graph.nodes, graph.edges)
    finally:
        database.close()
    return graph.nodes[0].id
