"""`groundwire audit`: a reasoning trace, each step judged, and whether its answer follows from it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from groundwire._loop import run
from groundwire.cli.check import COULD_NOT_CHECK, FINE, FLAGGED
from groundwire.cli.streams import delivered, stdin_bytes, write_whole
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.reports.html import audit_page
from groundwire.reports.json import audit_json
from groundwire.reports.terminal import show_audit
from groundwire.retrieval.load import from_mapping, load_answer, load_sources
from groundwire.traces.formats import Draft, read_trace
from groundwire.traces.record import audit_graph
from groundwire.types import Source, TraceAudit, TraceGraph


@dataclass(frozen=True, slots=True)
class Request:
    """What is audited, and where the audit goes. `store`: keep it as a reasoning trace."""

    trace: str
    sources: tuple[str, ...] = ()
    question: str = ""
    answer: str = ""
    as_json: bool = False
    html: Path | None = None
    store: str | None = None


def run_audit(request: Request, config: Config, console: Console) -> int:
    draft, sources = _read(request, config)
    engine = Groundwire(config, operation="trace")
    question, answer = request.question or draft.question, request.answer or draft.answer
    with Console(stderr=True).status("auditing …"):
        audit = run(engine.audit_trace(draft.steps, question, sources, answer))
    run(engine.aclose())
    with delivered():
        if request.as_json:
            sys.stdout.write(audit_json(audit) + "\n")
        else:
            show_audit(audit, console)
    # Last, so that a store that fails costs nobody the report.
    _put_away(request, audit, sources)
    if audit.flagged is None:
        return COULD_NOT_CHECK
    return FLAGGED if audit.flagged else FINE


def _read(request: Request, config: Config) -> tuple[Draft, tuple[Source, ...]]:
    if "-" in request.sources and request.trace == "-":
        raise InputError("only one of trace and sources can be read from stdin")
    limit = config.limits.max_source_bytes
    draft = read_trace(load_answer(request.trace, stdin=stdin_bytes(), max_bytes=limit))
    named = tuple(from_mapping(draft.sources)) if draft.sources else ()
    given = load_sources(request.sources, stdin=stdin_bytes(), max_bytes=limit) if request.sources else []
    taken = {source.id for source in named}
    clash = next((source.id for source in given if source.id in taken), None)
    if clash:
        raise InputError(f"the trace has a source {clash} of its own", hint="give the other an id of its own")
    return draft, (*named, *given)


def _put_away(request: Request, audit: TraceAudit, sources: tuple[Source, ...]) -> None:
    if request.html:
        write_whole(request.html, audit_page(audit))
    if request.store is not None:
        stored = _keep(audit_graph(audit, sources), request.store)
        print(f"groundwire: kept as {stored}", file=sys.stderr)


def _keep(graph: TraceGraph, url: str) -> str:
    # Only here: who keeps nothing needs no database driver.
    from groundwire.stores.database import open_database
    from groundwire.stores.traces import TraceStore

    database = open_database(url)
    try:
        TraceStore(database).write(graph.nodes, graph.edges)
    finally:
        database.close()
    return graph.nodes[0].id
