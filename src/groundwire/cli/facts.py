"""`groundwire facts`: what was verified before it was kept, what was refused, and what still waits."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from groundwire._loop import run
from groundwire.cli.streams import delivered, stdin_bytes
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import FactNotGrounded, InputError
from groundwire.memory import MemoryGate, Outcome, Settled, Worker
from groundwire.memory.decision import Decision
from groundwire.memory.gate import patient, warmed
from groundwire.memory.writer import KIND, given_roles, sentence_of
from groundwire.reports.plaintext import sanitize
from groundwire.retrieval.load import load_answer, load_sources
from groundwire.stores.database import Database, open_database
from groundwire.stores.parse_jsonl import fact_object
from groundwire.stores.queue import Queue
from groundwire.stores.reading import listing
from groundwire.stores.rejected import Rejected, RejectedFacts
from groundwire.types import Fact, FactStatus, Source

FINE, REFUSED, COULD_NOT_CHECK = 0, 1, 3
_KEPT = (FactStatus.VERIFIED, FactStatus.ASSERTED)
_STYLE = {"verified": "green", "asserted": "", "rejected": "red"}


@dataclass(frozen=True, slots=True)
class Addition:
    """One fact to add: a sentence, roles, or both. `roles` are NAME=VALUE."""

    sentence: str
    sources: tuple[str, ...]
    predicate: str = ""
    roles: tuple[str, ...] = ()
    confidence: float = 0.95
    many: bool = False
    verify: bool = True
    as_json: bool = False


def run_add(wanted: Addition, config: Config, console: Console) -> int:
    """Verify a fact and keep it. To ask for it is explicit, so it does not matter whether the gate is on."""
    fact, sources = _fact(wanted, config), _sources(wanted, config)
    with _opened(config, create=True) as database:
        try:
            kept, decision = run(_admit(fact, sources, wanted, database, config))
        except FactNotGrounded as refusal:
            if not wanted.as_json:
                raise
            _print_json(_refusal_object(refusal, fact if isinstance(fact, str) else sentence_of(fact)))
            return REFUSED
    known = f"known already, but {decision.reason}" if kept.status is not decision.status else ""
    reason = known or decision.reason
    with delivered():
        if wanted.as_json:
            _print_json({**fact_object(kept), "reason": reason})
        else:
            _show_fact(kept, console)
            if reason:
                console.print(Text(f"    {sanitize(reason)}", style="yellow"), soft_wrap=True)
    return FINE if decision.status in _KEPT else COULD_NOT_CHECK


async def _admit(
    fact: Fact | str, sources: list[Source], wanted: Addition, database: Database, config: Config
) -> tuple[Fact, Decision]:
    async with (
        Groundwire(config, operation="memory_gate") as engine,
        MemoryGate(database, engine, config) as gate,
    ):
        if wanted.verify:
            await warmed(engine)
        return await gate.admit(fact, sources, confidence=wanted.confidence, verify=wanted.verify)


def run_list(status: str, limit: int, as_json: bool, config: Config, console: Console) -> int:
    wanted = _status(status) if status else None
    with _opened(config) as database, database.read() as connection:
        found = listing(connection, status=wanted, limit=limit)
    with delivered():
        if as_json:
            _print_json([fact_object(fact) for fact in found])
            return FINE
        for fact in found:
            _show_fact(fact, console)
        if not found:
            console.print("no facts")
    return FINE


def run_rejected(limit: int, as_json: bool, config: Config, console: Console) -> int:
    with _opened(config) as database:
        found = RejectedFacts(database).latest(limit)
    with delivered():
        if as_json:
            _print_json([rejected_object(one) for one in found])
            return FINE
        for one in found:
            console.print(_line("rejected", one.adjusted or 0.0, one.text), soft_wrap=True)
            console.print(
                Text(f"    {_when(one.recorded)}  {sanitize(one.reason)}", style="dim"), soft_wrap=True
            )
        if not found:
            console.print("nothing was rejected")
    return FINE


def run_pending(watch: bool, as_json: bool, config: Config, console: Console) -> int:
    """Verify what was put off. Exit code 1 if anything was refused, 3 if anything is still unchecked."""
    with _opened(config) as database, delivered():
        settled = run(_settle(database, watch, as_json, config, console))
        waiting = Queue(database, KIND).counts()
    outcomes = {one.outcome for one in settled}
    if not as_json:
        done = sum(one.outcome in (Outcome.VERIFIED, Outcome.REJECTED) for one in settled)
        dead = f", {waiting['dead']} given up" if waiting["dead"] else ""
        console.print(f"{done} settled, {waiting['waiting']} waiting{dead}")
    if waiting["waiting"] or Outcome.UNVERIFIED in outcomes:
        return COULD_NOT_CHECK
    return REFUSED if Outcome.REJECTED in outcomes else FINE


async def _settle(
    database: Database, watch: bool, as_json: bool, config: Config, console: Console
) -> list[Settled]:
    later = patient(config)
    seen: list[Settled] = []
    async with Groundwire(later, operation="memory_gate") as engine:
        worker = Worker(database, engine, later)
        try:
            await warmed(engine)
            source: AsyncIterator[Settled] = worker.watch() if watch else worker.drain()
            async for settled in source:
                if not watch:  # for ever is longer than a list
                    seen.append(settled)
                _show_settled(settled, as_json, console)
        finally:
            await worker.aclose()
    return seen


def _show_settled(settled: Settled, as_json: bool, console: Console) -> None:
    if as_json:
        _print_json(
            {
                "fact": settled.fact_id,
                "outcome": settled.outcome.value,
                "text": settled.text,
                "reason": settled.reason,
                "confidence": settled.confidence,
            },
            indent=None,
        )
    elif settled.outcome is not Outcome.GONE:
        console.print(_line(settled.outcome.value, settled.confidence, settled.text), soft_wrap=True)
        if settled.reason:
            console.print(Text(f"    {sanitize(settled.reason)}", style="dim"), soft_wrap=True)
    sys.stdout.flush()


def _fact(wanted: Addition, config: Config) -> Fact | str:
    if "-" in wanted.sources and wanted.sentence == "-":
        raise InputError("only one of fact and evidence can be read from stdin")
    text = ""
    if wanted.sentence:
        limit = config.limits.max_source_bytes
        text = load_answer(wanted.sentence, stdin=stdin_bytes(), max_bytes=limit).strip()
    if not wanted.roles and not wanted.predicate:
        if not text:
            raise InputError(
                "there is no fact", hint="give a sentence, or --subject, --predicate and --object"
            )
        return text
    if not wanted.predicate:
        raise InputError("roles need a predicate", hint="name it with --predicate")
    made = given_roles([_pair(role) for role in wanted.roles], wanted.predicate, text)
    return replace(made, many=wanted.many)


def _pair(role: str) -> tuple[str, str]:
    name, equals, value = role.partition("=")
    if not (equals and name.strip() and value.strip()):
        raise InputError(f"'{role}' is no role", hint="write NAME=VALUE, as in place=Paris")
    return name.strip(), value.strip()


def _sources(wanted: Addition, config: Config) -> list[Source]:
    if not wanted.sources and not wanted.verify:
        return []
    limit = config.limits.max_source_bytes
    return load_sources(wanted.sources, stdin=stdin_bytes(), max_bytes=limit, report=_say)


def _say(words: str) -> None:
    print(f"groundwire: {words}", file=sys.stderr)


def _status(name: str) -> FactStatus:
    try:
        return FactStatus(name)
    except ValueError:
        known = ", ".join(status.value for status in FactStatus)
        raise InputError(f"'{name}' is no status of a fact", hint=f"one of {known}") from None


@contextmanager
def _opened(config: Config, *, create: bool = False) -> Iterator[Database]:
    database = open_database(config.store.url, create=create)
    try:
        yield database
    finally:
        database.close()


def rejected_object(one: Rejected) -> dict[str, object]:
    figures = {
        name: getattr(one, name)
        for name in ("confidence", "adjusted", "p0", "p1", "required_bits", "observed_bits", "gap_bits")
    }
    return {
        "text": one.text,
        "fact": json.loads(one.fact),
        "evidence": json.loads(one.evidence),
        **{name: None if value is None else round(value, 4) for name, value in figures.items()},
        "threshold_bits": one.threshold_bits,
        "verdict": one.verdict,
        "method": one.method,
        "reason": one.reason,
        "recorded": _when(one.recorded),
    }


def _refusal_object(refusal: FactNotGrounded, text: str) -> dict[str, object]:
    gap = None if refusal.gap_bits is None else round(refusal.gap_bits, 4)
    return {
        "text": text,
        "status": "rejected",
        "error": refusal.status,
        "gap_bits": gap,
        "reason": str(refusal),
    }


def _print_json(value: Mapping[str, object] | Sequence[Mapping[str, object]], indent: int | None = 2) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=indent) + "\n")


def _show_fact(fact: Fact, console: Console) -> None:
    console.print(_line(fact.status.value, fact.confidence, sentence_of(fact)), soft_wrap=True)
    parts = [f"{role.name} {role.value.text}" for role in fact.roles]
    if fact.predicate:
        parts.insert(1, f"predicate {fact.predicate}")
    if fact.record:
        parts.append(f"p1 {fact.record.p1:.2f} · p0 {fact.record.p0:.2f} · {fact.record.bits:.1f} bits")
    if parts:
        console.print(Text(f"    {sanitize(' · '.join(parts))}", style="dim"), soft_wrap=True)


def _line(status: str, confidence: float | None, text: str) -> Text:
    figure = "    " if confidence is None else f"{confidence:.2f}"
    return Text.assemble((f"{status:<11}", _STYLE.get(status, "yellow")), f"{figure}  {sanitize(text)}")


def _when(stamp: float) -> str:
    return datetime.fromtimestamp(stamp, UTC).isoformat(timespec="seconds")
