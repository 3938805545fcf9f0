"""`groundwire facts`: facts that are verified before they are stored, rejected ones, and those that wait."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, closing
from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from groundwire._loop import run
from groundwire.cli.console import ExitCode, InputReader, print_json, print_line, print_result, safe_stdout
from groundwire.cli.options import AsJson, Sources, command, group
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import FactNotGrounded, InputError
from groundwire.memory import JobOutcome, JobResult, MemoryGate, Worker
from groundwire.memory.gate import load_model, with_full_timeout
from groundwire.memory.writer import QUEUE_NAME, fact_from_roles, fact_sentence
from groundwire.stores.database import Database, open_database
from groundwire.stores.facts import list_facts
from groundwire.stores.import_export import fact_object
from groundwire.stores.queue import JobQueue, RejectedFacts
from groundwire.text.controls import sanitize
from groundwire.types import Fact, FactStatus

facts = group("facts", "Facts that must be verified before they are stored.")
Limit = Annotated[int, typer.Option(min=1, help="Maximum number, newest first.")]
_STORED = (FactStatus.VERIFIED, FactStatus.ASSERTED)
_STATUS_STYLE = {"verified": "green", "asserted": "", "rejected": "red", FactNotGrounded.status: "red"}


@command("store", "backend", parent=facts)
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
    *,
    config: Config,
    console: Console,
) -> ExitCode:
    """Verify a fact by its evidence and store it. Exit code 1 if it is rejected, 3 if not checked."""
    inputs = InputReader(config, fact=fact, evidence=source)
    named = [f"{name}={value}" for name, value in (("subject", subject), ("object", object_)) if value]
    text = inputs.text(fact).strip() if fact else ""
    given = _fact(text, predicate, [*named, *(role or ())], many)
    sources = inputs.sources(source)
    if verify and not sources:
        raise InputError("no sources given", hint="pass at least one with -s: a file, a folder, '-' or the text itself")

    async def admit(database: Database) -> tuple[Fact, FactStatus | None, str]:
        # Also if the memory gate is off: the user asked for it explicitly.
        async with Groundwire(config, operation="memory_gate") as engine, MemoryGate(database, engine, config) as gate:
            if verify:
                await load_model(engine)
            stored, decision = await gate.admit(given, sources, confidence=confidence, verify=verify)
            return stored, decision.status, decision.reason

    with closing(open_database(config.store.url, create=True)) as database:
        try:
            stored, status, reason = run(admit(database))
        except FactNotGrounded as refusal:
            if not as_json:
                raise
            gap = None if refusal.gap_bits is None else round(refusal.gap_bits, 4)
            said = given if isinstance(given, str) else fact_sentence(given)
            print_json({"text": said, "status": refusal.status, "gap_bits": gap, "reason": refusal.message})
            return ExitCode.FLAGGED
    reason = f"known already, but {reason}" if stored.status is not status else reason

    def show() -> None:
        _show_fact(stored, console)
        if reason:
            print_line(console, f"    {reason}", "yellow")

    print_result(as_json, {**fact_object(stored), "reason": reason}, show)
    return ExitCode.OK if status in _STORED else ExitCode.COULD_NOT_CHECK


@command("store", parent=facts)
def list_(
    status: Annotated[str, typer.Option(help="Only verified, asserted, unverified, pending or superseded.")] = "",
    limit: Limit = 100,
    as_json: AsJson = False,
    *,
    config: Config,
    console: Console,
) -> None:
    """The facts, with their confidence and how they were verified."""
    chosen = _status(status) if status else None
    with closing(open_database(config.store.url, create=False)) as database, database.read() as connection:
        found = list_facts(connection, status=chosen, limit=limit)

    def show() -> None:
        for fact in found:
            _show_fact(fact, console)
        if not found:
            console.print("no facts")

    print_result(as_json, [fact_object(fact) for fact in found], show)


@command("store", parent=facts)
def rejected(limit: Limit = 100, as_json: AsJson = False, *, config: Config, console: Console) -> None:
    """The facts that the gate rejected, and what was missing."""
    with closing(open_database(config.store.url, create=False)) as database:
        found = RejectedFacts(database).latest(limit)

    def show() -> None:
        for one in found:
            _show_line(FactNotGrounded.status, one.adjusted or 0.0, one.text, console)
            print_line(console, f"    {one.recorded_at}  {one.reason}", "dim")
        if not found:
            console.print("no rejected facts")

    print_result(as_json, [one.as_json() for one in found], show)


@command("store", "backend", parent=facts)
def verify_pending(
    watch: Annotated[bool, typer.Option("--watch", help="Continue until interrupted.")] = False,
    as_json: AsJson = False,
    *,
    config: Config,
    console: Console,
) -> ExitCode:
    """Verify facts that wait for a backend. Exit code 1 if one is rejected, 3 if one still waits."""
    config = with_full_timeout(config)
    outcomes: list[JobOutcome] = []

    async def work(database: Database) -> None:
        async with (
            Groundwire(config, operation="memory_gate") as engine,
            aclosing(Worker(database, engine, config)) as worker,
        ):
            await load_model(engine)
            jobs: AsyncIterator[JobResult] = worker.watch() if watch else worker.drain()
            async for job in jobs:
                if not watch:  # an endless run must not fill the memory
                    outcomes.append(job.outcome)
                _show_job(job, as_json, console)

    with closing(open_database(config.store.url, create=False)) as database:
        with safe_stdout():
            run(work(database))
        waiting = JobQueue(database, QUEUE_NAME).counts()
    if not as_json:
        done = sum(outcome in (JobOutcome.VERIFIED, JobOutcome.REJECTED) for outcome in outcomes)
        dead = f", {waiting['dead']} given up" if waiting["dead"] else ""
        console.print(f"{done} verified or rejected, {waiting['waiting']} waiting{dead}")
    if waiting["waiting"] or JobOutcome.UNVERIFIED in outcomes:
        return ExitCode.COULD_NOT_CHECK
    return ExitCode.FLAGGED if JobOutcome.REJECTED in outcomes else ExitCode.OK


def _fact(text: str, predicate: str, roles: Sequence[str], many: bool) -> Fact | str:
    """A sentence, or a fact of roles (NAME=VALUE) with a predicate."""
    if not roles and not predicate:
        if not text:
            raise InputError("no fact was given", hint="give a sentence, or --subject, --predicate and --object")
        return text
    if not predicate:
        raise InputError("roles need a predicate", hint="name it with --predicate")
    return replace(fact_from_roles([_pair(role) for role in roles], predicate, text), many=many)


def _pair(role: str) -> tuple[str, str]:
    name, equals, value = role.partition("=")
    if not (equals and name.strip() and value.strip()):
        raise InputError(f"invalid role '{role}'", hint="expected NAME=VALUE, as in place=Paris")
    return name.strip(), value.strip()


def _status(name: str) -> FactStatus:
    try:
        return FactStatus(name)
    except ValueError:
        known = ", ".join(status.value for status in FactStatus)
        raise InputError(f"unknown status '{name}'", hint=f"use one of {known}") from None


def _show_job(job: JobResult, as_json: bool, console: Console) -> None:
    if as_json:
        shown = {"fact": job.fact_id, "outcome": job.outcome.value, "text": job.text, "reason": job.reason}
        print_json({**shown, "confidence": job.confidence}, indent=None)
    elif job.outcome is not JobOutcome.GONE:
        _show_line(job.outcome.value, job.confidence, job.text, console)
        if job.reason:
            print_line(console, f"    {job.reason}", "dim")
    sys.stdout.flush()


def _show_fact(fact: Fact, console: Console) -> None:
    _show_line(fact.status.value, fact.confidence, fact_sentence(fact), console)
    parts = [f"{role.name} {role.value.text}" for role in fact.roles]
    if fact.predicate:
        parts.insert(1, f"predicate {fact.predicate}")
    if fact.record:
        parts.append(f"p1 {fact.record.p1:.2f} · p0 {fact.record.p0:.2f} · {fact.record.bits:.1f} bits")
    if parts:
        print_line(console, f"    {' · '.join(parts)}", "dim")


def _show_line(status: str, confidence: float | None, text: str, console: Console) -> None:
    figure = "    " if confidence is None else f"{confidence:.2f}"
    line = Text.assemble((f"{status:<10} ", _STATUS_STYLE.get(status, "yellow")), f"{figure}  {sanitize(text)}")
    console.print(line, soft_wrap=True)
