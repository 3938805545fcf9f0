"""`groundwire audit`: judge each step of a reasoning trace, and whether its answer follows from the steps."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer
from rich.console import Console

from groundwire._loop import run
from groundwire.agent.reasoning import TraceStore, audit_graph
from groundwire.cli.console import ExitCode, InputReader, print_result, warn, write_atomic
from groundwire.cli.options import AsJson, HtmlOut, Sources, TextCommand, command
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.reports.html import audit_page
from groundwire.reports.json import audit_object
from groundwire.reports.terminal import show_audit
from groundwire.requests import as_sources
from groundwire.traces.audit import audit_trace
from groundwire.traces.steps import read_trace
from groundwire.types import TraceGraph


@command("backend", cls=TextCommand)
def audit(
    trace: Annotated[str, typer.Argument(help="Steps as JSON, messages or text: a file, '-' or the text.")],
    source: Sources = None,
    question: Annotated[str, typer.Option("-q", "--question", help="The question that was asked.")] = "",
    answer: Annotated[str, typer.Option(help="The final answer, if the trace lacks it.")] = "",
    as_json: AsJson = False,
    html: HtmlOut = None,
    store: Annotated[str | None, typer.Option(help="A SQLite file or postgresql://… URL.")] = None,
    *,
    config: Config,
    console: Console,
) -> ExitCode:
    """Judge each step of TRACE, and whether its answer follows from the steps. Exit code 1 if not."""
    inputs = InputReader(config, trace=trace, sources=source)
    draft = read_trace(inputs.text(trace))
    sources = as_sources([*as_sources(draft.sources), *inputs.sources(source)])
    engine = Groundwire(config, operation="trace")
    question, answer = question or draft.question, answer or draft.answer
    with Console(stderr=True).status("auditing …"):
        found = run(audit_trace(engine, draft.steps, question, sources, answer, ledger=draft.ledger))
    run(engine.aclose())
    print_result(as_json, audit_object(found), lambda: show_audit(found, console))
    # Last, so that the audit is printed even if the files or the store cannot be written.
    if html:
        write_atomic(html, audit_page(found))
    if store is not None:
        warn(f"stored as {_store_trace(audit_graph(found, sources), store)}")
    return ExitCode.of(found.flagged)


def _store_trace(graph: TraceGraph, url: str) -> str:
    from groundwire.stores.database import open_database

    with closing(open_database(url)) as database:
        TraceStore(database).write(graph.nodes, graph.edges)
    return graph.nodes[0].id
