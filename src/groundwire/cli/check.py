"""`groundwire check`: judge one answer by its sources. `groundwire schema`: the JSON Schema of the report."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from groundwire._loop import run
from groundwire.cli.console import ExitCode, InputReader, print_json, print_result, safe_stdout, write_atomic
from groundwire.cli.options import AsJson, History, HtmlOut, KnowledgeBase, Sources, TextCommand, command
from groundwire.config import Config
from groundwire.engine import ContextKwargs, Groundwire
from groundwire.errors import InputError
from groundwire.reports.feedback import FeedbackReader, remember_report
from groundwire.reports.json import report_object
from groundwire.reports.terminal import show_repair, show_report
from groundwire.types import Detection, HallucinationReport

NO_FILE = "response"
"""Id of a response that is not a file."""


@command("backend", "model", "labels", "target", "profile", cls=TextCommand)
def check(
    answer: Annotated[str, typer.Argument(help="A file, '-' for stdin, or the text itself.")],
    source: Sources = None,
    question: Annotated[str, typer.Option("-q", "--question", help="The question that was asked.")] = "",
    kb: KnowledgeBase = None,
    history: History = None,
    fix: Annotated[bool, typer.Option("--fix", help="Print the repaired answer and what changed.")] = False,
    session: Annotated[str | None, typer.Option(help="Store the detectors' flags under this name.")] = None,
    as_json: AsJson = False,
    bits: Annotated[bool, typer.Option("--bits", help="Show the bits of evidence of each claim.")] = False,
    shares: Annotated[
        bool, typer.Option("--shares", help="Measure what each source adds to claims drawn from several.")
    ] = False,
    html: HtmlOut = None,
    sarif: Annotated[Path | None, typer.Option(help="Write SARIF, for CI systems that annotate files.")] = None,
    *,
    config: Config,
    console: Console,
) -> ExitCode:
    """Judge every claim of ANSWER by its sources. Exit code 1 if any is flagged."""
    inputs = InputReader(config, answer=answer, sources=source, history=history)
    if not (source or kb or history):
        raise InputError("there is nothing to check against", hint="give -s, --kb or --history")
    if session is not None and not session.strip():
        raise InputError("--session must not be empty")
    text, sources, turns = inputs.text(answer), inputs.sources(source), inputs.history(history)
    if not (sources or kb or turns):
        raise InputError("the history is empty, and there is nothing else to check against")
    if bits or shares:
        config = config.changed(bits=bits or config.bits, shares=shares or config.shares)
    engine, name = Groundwire(config), _response_id(answer)
    context: ContextKwargs = {"history": turns, "kb": kb}
    report = run(engine.check(text, sources, question=question, response_id=name, **context))
    if fix:
        report = run(engine.fix(report, sources, **context))
    with FeedbackReader(config) as feedback:
        report = feedback.annotate(report)
    remember_report(report, config)
    if html:
        from groundwire.reports.html import to_html

        write_atomic(html, to_html(report))
    if sarif:
        from groundwire.reports.batch import to_sarif

        write_atomic(sarif, to_sarif(report, name if name == NO_FILE else Path(answer).as_posix()))

    def show() -> None:
        show_report(report, console, bits=bits)
        if report.repair:
            from groundwire.verdicts.repair import diff  # imported late: most checks repair nothing

            show_repair(report.repair, diff(report.repair), console)

    print_result(as_json, report_object(report), show)
    run(engine.aclose())
    # Last, so that the report is printed even if the store cannot be written.
    if session is not None:
        _store_flags(report, session, len(turns) + 1, kb or config.store.url)
    return ExitCode.of(report.flagged)


@command()
def schema() -> None:
    """Print the JSON Schema of a report: of `check --json`, a line of `batch`, and `POST /v1/check`."""
    from groundwire.reports.schema import report_schema

    with safe_stdout():
        print_json(report_schema())


def _store_flags(report: HallucinationReport, session: str, turn: int, url: str) -> None:
    """Store the detectors' flags for this turn of the session; `groundwire kb paths` lists them."""
    from groundwire.stores.database import open_database
    from groundwire.stores.paths import PathStore
    from groundwire.verdicts.paths import record

    with closing(open_database(url)) as database:
        actions = report.repair.actions if report.repair else ()
        record(PathStore(database), session, turn, report.detection or Detection(), actions)


def _response_id(answer: str) -> str:
    """The file's name if the answer is a file."""
    try:
        return Path(answer).name if answer != "-" and Path(answer).is_file() else NO_FILE
    except (OSError, ValueError):  # a text that is too long for a path, or has a null character
        return NO_FILE
