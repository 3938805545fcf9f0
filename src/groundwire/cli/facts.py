"""`groundwire facts`: facts that are verified before they are stored, rejected ones, and those that wait."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from groundwire._loop import run
from groundwire.cli.console import ExitCode, open_console, print_json, safe_stdout, stdin_bytes, warn
from groundwire.cli.options import AsJson, Backend, ConfigFile, Sources, Store, group_app, store_settings
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import FactNotGrounded, InputError
from groundwire.memory import JobOutcome, JobResult, MemoryGate, Worker
from groundwire.memory.decision import Decision
from groundwire.memory.gate import load_model, with_full_timeout
from groundwire.memory.writer import QUEUE_NAME, fact_from_roles, fact_sentence
from groundwire.retrieval.load import load_answer, load_sources
from groundwire.stores.database import Database, open_database
from groundwire.stores.facts import list_facts
from groundwire.stores.formats import fact_object
from groundwire.stores.queue import JobQueue, RejectedFacts
from groundwire.text.controls import sanitize
from groundwire.types import Fact, FactStatus, Source

app = group_app("Facts that must be verified before they are stored.")
Limit = Annotated[int, typer.Option(min=1, help="Maximum number, newest first.")]
_STORED = (FactStatus.VERIFIED, FactStatus.ASSERTED)
_STATUS_STYLE = {"verified": "green", "asserted": "", "rejected": "red", FactNotGrounded.status: "red"}


@app.command()
def add(
    fact: Annotated[str, typer.Argument(help="A sentence, a file or '-' for stdin.")] = "",
    source: Sources = None,
    subject: Annotated[str, typer.Option(help="Whom or what the fact is about.")] = "",
    predicate: Annotated[str, typer.Option(help="The relation, as in 'founded in'.")] = "",
    object_: Annotated[str, typer.Option("--object", help="The value.")] = "",
    role: Annotated[list[str] | None, typer.Option("-r", "--role", help="NAME=VALUE; repeatable.")] = None,
    many: Annotated[bool, typer.Option("--many", help="The predicate may have several values.")] = False,
    confidence: Annotated[float, typer.Option(help="Stated confidence of the fact, 0 to 1.")] = 0.95,
    verify: Annotated[bool, typer.Option("--verify/--no-verify", help="--no-verify stores it as asserted.")] = True,
    as_json: AsJson = False,
    store: Store = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Verify a fact by its evidence and store it. Exit code 1 if it is rejected, 3 if not checked."""
    named = [f"{name}={value}" for name, value in (("subject", subject), ("object", object_)) if value]
    args = FactArgs(fact, tuple(source or ()), predicate, (*named, *(role or ())), confidence, many, verify, as_json)
    raise typer.Exit(run_add(args, store_settings(config, store, backend), open_console()))


@app.command("list")
def list_(
    status: Annotated[str, typer.Option(help="Only verified, asserted, unverified, pending or superseded.")] = "",
    limit: Limit = 100,
    as_json: AsJson = False,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """The facts, with their confidence and how they were verified."""
    raise typer.Exit(run_list(status, limit, as_json, store_settings(config, store), open_console()))


@app.command()
def rejected(limit: Limit = 100, as_json: AsJson = False, store: Store = None, config: ConfigFile = None) -> None:
    """The facts that the gate rejected, and what was missing."""
    raise typer.Exit(run_rejected(limit, as_json, store_settings(config, store), open_console()))


@app.command("verify-pending")
def verify_pending(
    watch: Annotated[bool, typer.Option("--watch", help="Continue until interrupted.")] = False,
    as_json: AsJson = False,
    store: Store = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Verify facts that wait for a backend. Exit code 1 if one is rejected, 3 if one still waits."""
    found = store_settings(config, store, backend)
    raise typer.Exit(run_pending(watch, as_json, found, open_console()))


@dataclass(frozen=True, slots=True)
class FactArgs:
    """A fact to add: a sentence, roles (NAME=VALUE), or both."""

    sentence: str
    sources: tuple[str, ...]
    predicate: str = ""
    roles: tuple[str, ...] = ()
    confidence: float = 0.95
    many: bool = False
    verify: bool = True
    as_json: bool = False


def run_add(args: FactArgs, config: Config, console: Console) -> ExitCode:
    """Verify a fact and store it, even if the memory gate is off: the user asked for it explicitly."""
    fact, sources = _fact(args, config), _sources(args, config)
    with _open_store(config, create=True) as database:
        try:
            stored, decision = run(_admit(fact, sources, args, database, config))
        except FactNotGrounded as refusal:
            if not args.as_json:
                raise
            print_json(_refusal_object(refusal, fact if isinstance(fact, str) else fact_sentence(fact)))
            return ExitCode.FLAGGED
    known = f"known already, but {decision.reason}" if stored.status is not decision.status else ""
    reason = known or decision.reason
    with safe_stdout():
        if args.as_json:
            print_json({**fact_object(stored), "reason": reason})
        else:
            _show_fact(stored, console)
            if reason:
                console.print(Text(f"    {sanitize(reason)}", style="yellow"), soft_wrap=True)
    return ExitCode.OK if decision.status in _STORED else ExitCode.COULD_NOT_CHECK


async def _admit(
    fact: Fact | str, sources: list[Source], args: FactArgs, database: Database, config: Config
) -> tuple[Fact, Decision]:
    async with Groundwire(config, operation="memory_gate") as engine, MemoryGate(database, engine, config) as gate:
        if args.verify:
            await load_model(engine)
        return await gate.admit(fact, sources, confidence=args.confidence, verify=args.verify)


def run_list(status: str, limit: int, as_json: bool, config: Config, console: Console) -> ExitCode:
    chosen = _status(status) if status else None
    with _open_store(config) as database, database.read() as connection:
        found = list_facts(connection, status=chosen, limit=limit)
    with safe_stdout():
        if as_json:
            print_json([fact_object(fact) for fact in found])
            return ExitCode.OK
        for fact in found:
            _show_fact(fact, console)
        if not found:
            console.print("no facts")
    return ExitCode.OK


def run_rejected(limit: int, as_json: bool, config: Config, console: Console) -> ExitCode:
    with _open_store(config) as database:
        found = RejectedFacts(database).latest(limit)
    with safe_stdout():
        if as_json:
            print_json([one.as_json() for one in found])
            return ExitCode.OK
        for one in found:
            console.print(_line(FactNotGrounded.status, one.adjusted or 0.0, one.text), soft_wrap=True)
            console.print(Text(f"    {one.recorded_at}  {sanitize(one.reason)}", style="dim"), soft_wrap=True)
        if not found:
            console.print("no rejected facts")
    return ExitCode.OK


def run_pending(watch: bool, as_json: bool, config: Config, console: Console) -> ExitCode:
    """Verify the facts that wait for a backend. Exit code 1 if one was rejected, 3 if one still waits."""
    with _open_store(config) as database, safe_stdout():
        results = run(_verify_waiting(database, watch, as_json, config, console))
        waiting = JobQueue(database, QUEUE_NAME).counts()
    outcomes = {one.outcome for one in results}
    if not as_json:
        done = sum(one.outcome in (JobOutcome.VERIFIED, JobOutcome.REJECTED) for one in results)
        dead = f", {waiting['dead']} given up" if waiting["dead"] else ""
        console.print(f"{done} verified or rejected, {waiting['waiting']} waiting{dead}")
    if waiting["waiting"] or JobOutcome.UNVERIFIED in outcomes:
        return ExitCode.COULD_NOT_CHECK
    return ExitCode.FLAGGED if JobOutcome.REJECTED in outcomes else ExitCode.OK


async def _verify_waiting(
    database: Database, watch: bool, as_json: bool, config: Config, console: Console
) -> list[JobResult]:
    later = with_full_timeout(config)
    seen: list[JobResult] = []
    async with Groundwire(later, operation="memory_gate") as engine:
        worker = Worker(database, engine, later)
        try:
            await load_model(engine)
            source: AsyncIterator[JobResult] = worker.watch() if watch else worker.drain()
            async for settled in source:
                if not watch:  # an endless run must not fill the memory
                    seen.append(settled)
                _show_result(settled, as_json, console)
        finally:
            await worker.aclose()
    return seen


def _show_result(settled: JobResult, as_json: bool, console: Console) -> None:
    if as_json:
        print_json(
            {
                "fact": settled.fact_id,
                "outcome": settled.outcome.value,
                "text": settled.text,
                "reason": settled.reason,
                "confidence": settled.confidence,
            },
            indent=None,
        )
    elif settled.outcome is not JobOutcome.GONE:
        console.print(_line(settled.outcome.value, settled.confidence, settled.text), soft_wrap=True)
        if settled.reason:
            console.print(Text(f"    {sanitize(settled.reason)}", style="dim"), soft_wrap=True)
    sys.stdout.flush()


def _fact(args: FactArgs, config: Config) -> Fact | str:
    if "-" in args.sources and args.sentence == "-":
        raise InputError("only one of fact and evidence can be read from stdin")
    text = ""
    if args.sentence:
        limit = config.limits.max_source_bytes
        text = load_answer(args.sentence, stdin=stdin_bytes(), max_bytes=limit).strip()
    if not args.roles and not args.predicate:
        if not text:
            raise InputError("no fact was given", hint="give a sentence, or --subject, --predicate and --object")
        return text
    if not args.predicate:
        raise InputError("roles need a predicate", hint="name it with --predicate")
    made = fact_from_roles([_pair(role) for role in args.roles], args.predicate, text)
    return replace(made, many=args.many)


def _pair(role: str) -> tuple[str, str]:
    name, equals, value = role.partition("=")
    if not (equals and name.strip() and value.strip()):
        raise InputError(f"invalid role '{role}'", hint="expected NAME=VALUE, as in place=Paris")
    return name.strip(), value.strip()


def _sources(args: FactArgs, config: Config) -> list[Source]:
    if not args.sources and not args.verify:
        return []
    limit = config.limits.max_source_bytes
    return load_sources(args.sources, stdin=stdin_bytes(), max_bytes=limit, report=warn)


def _status(name: str) -> FactStatus:
    try:
        return FactStatus(name)
    except ValueError:
        known = ", ".join(status.value for status in FactStatus)
        raise InputError(f"unknown status '{name}'", hint=f"use one of {known}") from None


@contextmanager
def _open_store(config: Config, *, create: bool = False) -> Iterator[Database]:
    database = open_database(config.store.url, create=create)
    try:
        yield database
    finally:
        database.close()


def _refusal_object(refusal: FactNotGrounded, text: str) -> dict[str, object]:
    gap = None if refusal.gap_bits is None else round(refusal.gap_bits, 4)
    return {"text": text, "status": refusal.status, "gap_bits": gap, "reason": refusal.message}


def _show_fact(fact: Fact, console: Console) -> None:
    console.print(_line(fact.status.value, fact.confidence, fact_sentence(fact)), soft_wrap=True)
    parts = [f"{role.name} {role.value.text}" for role in fact.roles]
    if fact.predicate:
        parts.insert(1, f"predicate {fact.predicate}")
    if fact.record:
        parts.append(f"p1 {fact.record.p1:.2f} · p0 {fact.record.p0:.2f} · {fact.record.bits:.1f} bits")
    if parts:
        console.print(Text(f"    {sanitize(' · '.join(parts))}", style="dim"), soft_wrap=True)


def _line(status: str, confidence: float | None, text: str) -> Text:
    figure = "    " if confidence is None else f"{confidence:.2f}"
    return Text.assemble((f"{status:<10} ", _STATUS_STYLE.get(status, "yellow")), f"{figure}  {sanitize(text)}")
