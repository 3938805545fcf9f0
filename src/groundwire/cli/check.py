"""`groundwire check`: one answer, its sources, one report."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from groundwire._loop import run
from groundwire.cli.opinions import Said
from groundwire.cli.remembered import remember
from groundwire.cli.streams import delivered, stdin_bytes, write_whole
from groundwire.config import Config
from groundwire.engine import Beside, Groundwire
from groundwire.errors import InputError
from groundwire.reports.html import to_html
from groundwire.reports.json import to_json
from groundwire.reports.terminal import show_repair, show_report
from groundwire.retrieval.history import parse_history
from groundwire.retrieval.load import load_answer, load_sources
from groundwire.types import Detection, HallucinationReport, Source, Turn
from groundwire.verdicts.repair import diff

FINE, FLAGGED, BAD_INPUT, COULD_NOT_CHECK = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Request:
    answer: str
    sources: tuple[str, ...]
    question: str = ""
    as_json: bool = False
    html: Path | None = None
    kb: str | None = None
    history: str | None = None
    fix: bool = False
    session: str | None = None


def run_check(request: Request, config: Config, console: Console) -> int:
    if [*request.sources, request.answer, request.history].count("-") > 1:
        raise InputError("only one of answer, sources and history can be read from stdin")
    if not (request.sources or request.kb or request.history):
        raise InputError("there is nothing to check against", hint="give -s, --kb or --history")
    if request.session is not None and not request.session.strip():
        raise InputError("the session has no name")
    limit = config.limits.max_source_bytes
    answer = load_answer(request.answer, stdin=stdin_bytes(), max_bytes=limit)
    sources = _sources(request, limit)
    beside: Beside = {"history": _history(request, limit), "kb": request.kb}
    if not (sources or request.kb or beside["history"]):
        raise InputError("the history is empty, and there is nothing else to check against")
    engine = Groundwire(config)
    report = run(
        engine.check(
            answer, sources, question=request.question, response_id=_identity(request.answer), **beside
        )
    )
    if request.fix:
        report = run(engine.fix(report, sources, **beside))
    with Said(config) as said:
        report = said.report(report)
    remember(report, config)
    if request.html:
        write_whole(request.html, to_html(report))
    with delivered():
        if request.as_json:
            sys.stdout.write(to_json(report) + "\n")
        else:
            show_report(report, console)
            if report.repair:
                show_repair(report.repair, diff(report.repair), console)
    run(engine.aclose())
    if request.session is not None:  # last: a store that cannot be written costs nobody the report
        _keep(report, request, config, turn=len(beside["history"]) + 1)
    return exit_code(report)


def _sources(request: Request, limit: int) -> list[Source]:
    """None at all is fine where there is something else to check against."""
    if not request.sources:
        return []
    return load_sources(request.sources, stdin=stdin_bytes(), max_bytes=limit, report=_say)


def _history(request: Request, limit: int) -> tuple[Turn, ...]:
    if request.history is None:
        return ()
    return parse_history(load_answer(request.history, stdin=stdin_bytes(), max_bytes=limit))


def _keep(report: HallucinationReport, request: Request, config: Config, turn: int) -> None:
    """What the detectors found in this turn of the session, by path."""
    from groundwire.stores.database import open_database
    from groundwire.stores.paths import PathStore
    from groundwire.verdicts.paths import record

    database = open_database(request.kb or config.store.url)
    try:
        actions = report.repair.actions if report.repair else ()
        record(PathStore(database), request.session or "", turn, report.detection or Detection(), actions)
    finally:
        database.close()


def _say(words: str) -> None:
    print(f"groundwire: {words}", file=sys.stderr)


def exit_code(report: HallucinationReport) -> int:
    if report.flagged is None:
        return COULD_NOT_CHECK
    return FLAGGED if report.flagged else FINE


def _identity(answer: str) -> str:
    """The file's name, where the answer is a file."""
    try:
        return Path(answer).name if answer != "-" and Path(answer).is_file() else "response"
    except (OSError, ValueError):
        return "response"
