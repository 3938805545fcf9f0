"""`groundwire check`: judge one answer by its sources."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from groundwire._loop import run
from groundwire.cli.console import ExitCode, open_console, print_json, safe_stdout, stdin_bytes, warn, write_atomic
from groundwire.cli.options import (
    AsJson,
    Backend,
    ConfigFile,
    History,
    HtmlOut,
    KnowledgeBase,
    ModelName,
    ProfileOption,
    Sources,
    Target,
    TextCommand,
    command_app,
    settings,
)
from groundwire.config import Config
from groundwire.engine import ContextKwargs, Groundwire
from groundwire.errors import InputError
from groundwire.reports.batch import to_sarif
from groundwire.reports.history import FeedbackReader, remember_report
from groundwire.reports.html import to_html
from groundwire.reports.json import report_object
from groundwire.reports.terminal import show_repair, show_report
from groundwire.retrieval.history import parse_history
from groundwire.retrieval.load import load_answer, load_sources
from groundwire.types import Detection, HallucinationReport, Source, Turn
from groundwire.verdicts.repair import diff

app = command_app()
NO_FILE = "response"
"""Id of a response that is not a file."""


@app.command(cls=TextCommand)
def check(
    answer: Annotated[str, typer.Argument(help="A file, '-' for stdin, or the text itself.")],
    source: Sources = None,
    question: Annotated[str, typer.Option("-q", "--question", help="The question that was asked.")] = "",
    kb: KnowledgeBase = None,
    history: History = None,
    fix: Annotated[bool, typer.Option("--fix", help="Print the repaired answer and what changed.")] = False,
    session: Annotated[str | None, typer.Option(help="Store the detectors' flags under this name.")] = None,
    backend: Backend = None,
    model: ModelName = None,
    target: Target = None,
    profile: ProfileOption = None,
    as_json: AsJson = False,
    bits: Annotated[bool, typer.Option("--bits", help="Show the bits of evidence of each claim.")] = False,
    shares: Annotated[
        bool, typer.Option("--shares", help="Measure what each source adds to claims drawn from several.")
    ] = False,
    html: HtmlOut = None,
    sarif: Annotated[Path | None, typer.Option(help="Write SARIF, for CI systems that annotate files.")] = None,
    config: ConfigFile = None,
) -> None:
    """Judge every claim of ANSWER by its sources. Exit code 1 if any is flagged."""
    args = CheckArgs(answer, tuple(source or ()), question, as_json, html, kb, history, fix, session, bits, sarif)
    asked = {"bits": bits or None, "shares": shares or None}
    chosen = settings(config, backend, target, profile, overrides=asked, model=model)
    raise typer.Exit(run_check(args, chosen, open_console()))


@dataclass(frozen=True, slots=True)
class CheckArgs:
    answer: str
    sources: tuple[str, ...]
    question: str = ""
    as_json: bool = False
    html: Path | None = None
    kb: str | None = None
    history: str | None = None
    fix: bool = False
    session: str | None = None
    bits: bool = False
    sarif: Path | None = None


def run_check(args: CheckArgs, config: Config, console: Console) -> ExitCode:
    _validate(args)
    limit = config.limits.max_source_bytes
    answer = load_answer(args.answer, stdin=stdin_bytes(), max_bytes=limit)
    sources = _sources(args, limit)
    context: ContextKwargs = {"history": _history(args, limit), "kb": args.kb}
    if not (sources or args.kb or context["history"]):
        raise InputError("the history is empty, and there is nothing else to check against")
    engine = Groundwire(config)
    name = _response_id(args.answer)
    report = run(engine.check(answer, sources, question=args.question, response_id=name, **context))
    if args.fix:
        report = run(engine.fix(report, sources, **context))
    with FeedbackReader(config) as feedback:
        report = feedback.annotate(report)
    remember_report(report, config)
    if args.html:
        write_atomic(args.html, to_html(report))
    if args.sarif:
        write_atomic(args.sarif, to_sarif(report, name if name == NO_FILE else Path(args.answer).as_posix()))
    with safe_stdout():
        if args.as_json:
            print_json(report_object(report))
        else:
            show_report(report, console, bits=args.bits)
            if report.repair:
                show_repair(report.repair, diff(report.repair), console)
    run(engine.aclose())
    # Last, so that the report is printed even if the store cannot be written.
    if args.session is not None:
        _store_flags(report, args, config, turn=len(context["history"]) + 1)
    return ExitCode.of(report.flagged)


def _validate(args: CheckArgs) -> None:
    if [*args.sources, args.answer, args.history].count("-") > 1:
        raise InputError("only one of answer, sources and history can be read from stdin")
    if not (args.sources or args.kb or args.history):
        raise InputError("there is nothing to check against", hint="give -s, --kb or --history")
    if args.session is not None and not args.session.strip():
        raise InputError("--session must not be empty")


def _sources(args: CheckArgs, limit: int) -> list[Source]:
    if not args.sources:
        return []
    return load_sources(args.sources, stdin=stdin_bytes(), max_bytes=limit, report=warn)


def _history(args: CheckArgs, limit: int) -> tuple[Turn, ...]:
    if args.history is None:
        return ()
    return parse_history(load_answer(args.history, stdin=stdin_bytes(), max_bytes=limit))


def _store_flags(report: HallucinationReport, args: CheckArgs, config: Config, turn: int) -> None:
    """Store the detectors' flags for this turn of the session; `groundwire kb paths` lists them."""
    from groundwire.stores.database import open_database
    from groundwire.stores.paths import PathStore
    from groundwire.verdicts.paths import record

    database = open_database(args.kb or config.store.url)
    try:
        actions = report.repair.actions if report.repair else ()
        record(PathStore(database), args.session or "", turn, report.detection or Detection(), actions)
    finally:
        database.close()


def _response_id(answer: str) -> str:
    """The file's name if the answer is a file."""
    try:
        return Path(answer).name if answer != "-" and Path(answer).is_file() else NO_FILE
    except (OSError, ValueError):  # a text that is too long for a path, or has a null character
        return NO_FILE
