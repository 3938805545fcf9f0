"""`python -m benchmarks.kb`: latency of lookups in a large knowledge base."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks import command, run
from groundwire.cli.console import open_console
from groundwire.errors import InputError
from groundwire.reports.terminal import progress_bar
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import Attribute, Entity, Fact, Role, Value, ValueKind


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SEED = 7
BATCH = 5000
_STARTS = _words("Al Bar Cor Del Eri Fen Gar Hol Ing Jor Kal Lor Mar Nor Or Pel Quin Ros Sal Tor Ul Var Wes Yar Zel")
_MIDDLES = _words("an be ci do el fi go ha in ka li mo na op ra se ti un va we")
_ENDS = _words("berg burn dale er field ford ham house ley man ner ov sen ski son stein ton wick wood worth")
_FIRST = _words(
    "Anna Ben Clara David Elena Frank Grace Henry Irene Jack Karen Leo Maria Nathan Olga Paul Quentin Rosa"
    " Sarah Thomas Ursula Victor Wendy Xavier Yael Zoe James Linda Robert Susan Michael Emily Daniel Laura"
)
_KINDS = ("person", "company", "product", "city")
_PREDICATES = (
    "works in", "founded", "located in", "reports to", "produces", "population", "revenue", "born", "ceo",
    "partner of", "owns", "price", "launched", "manages", "studied at", "married to", "area", "height",
    "visited", "awarded",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LookupLatency:
    """Latency of one kind of lookup in milliseconds; `busy` is the processor time at p99, without waiting."""

    question: str
    count: int
    p50: float
    p99: float
    worst: float
    busy: float


@dataclass(frozen=True, slots=True)
class Size:
    entities: int = 100_000
    facts: int = 1_000_000


def run_kb(store: str, size: Size, rounds: int, console: Console, *, as_json: bool) -> int:
    """Build the store unless it exists, run the lookups and print the figures."""
    with tempfile.TemporaryDirectory(prefix="groundwire-bench-") as folder:
        place = store or str(Path(folder) / "kb.db")
        with Knowledge.open(place) as knowledge:
            began = time.perf_counter()
            built = build(knowledge, size, Console(stderr=True))
            seconds = time.perf_counter() - began
            figures = [measure(knowledge, question, rounds) for question in _questions(knowledge)]
            stats = knowledge.stats()
    if as_json:
        found = {"entities": stats.entities, "facts": stats.facts, "figures": [asdict(f) for f in figures]}
        print(json.dumps(found | ({"build_seconds": round(seconds, 1)} if built else {})))
        return 0
    if built:
        console.print(f"built in {seconds:.0f} s ({size.facts / seconds:,.0f} facts a second)", highlight=False)
    console.print(f"{stats.entities:,} entities, {stats.facts:,} facts, {os.cpu_count()} cores", highlight=False)
    console.print(_table(figures))
    return 0


def build(knowledge: Knowledge, size: Size, console: Console) -> bool:
    """Fill an empty store; returns False if it is filled already."""
    there = knowledge.stats()
    if there.facts == size.facts:
        return False
    if there.entities or there.facts:
        raise InputError(f"the store holds {there.facts:,} facts already", hint="give a new file")
    made = made_entities(size.entities)
    told = made_facts(size.entities, size.facts)
    with progress_bar(console) as progress:
        bar = progress.add_task("building", total=size.entities + size.facts)
        while batch := list(islice(made, BATCH)):
            knowledge.put_entities(batch)
            progress.advance(bar, len(batch))
        while some := list(islice(told, BATCH)):
            knowledge.put_many(some)
            progress.advance(bar, len(some))
    return True


def made_entities(count: int) -> Iterator[Entity]:
    """Deterministic people, companies, products and cities with realistic names."""
    for number in range(count):
        random = Random(SEED * 1_000_003 + number)
        kind = _KINDS[number % len(_KINDS)]
        name = _name(random, kind, number)
        aliases = (f"{name.split()[-1]} {number}",) if number % 2 else ()
        started = Value(f"{1900 + number % 120}-05-01", ValueKind.TEXT)
        yield Entity(f"e{number}", name, kind, aliases, (Attribute("started", started),))


def _name(random: Random, kind: str, number: int) -> str:
    word = random.choice(_STARTS) + "".join(random.choices(_MIDDLES, k=random.randint(1, 2))) + random.choice(_ENDS)
    match kind:
        case "person":
            return f"{random.choice(_FIRST)} {word}"
        case "company":
            return f"{word} {random.choice(('Industries', 'Systems', 'Foods', 'Partners', 'Inc.'))}"
        case "product":
            return f"{word} {random.choice('XRSTM')}{number % 1000}"
    return f"{random.choice(('', 'New ', 'Port ', 'Saint '))}{word}"


def made_facts(entities: int, count: int) -> Iterator[Fact]:
    """Facts with two or three roles; the object of every third is an entity, of the others a value."""
    for number in range(count):
        subject = number % entities
        predicate = _PREDICATES[number // entities % len(_PREDICATES)]
        roles = [Role("subject", _reference(subject)), Role("object", _object(number, entities))]
        if number % 5 == 0:
            roles.append(Role("place", Value(f"Site {number % 977}")))
        yield Fact("", predicate, tuple(roles))


def _reference(number: int) -> Value:
    return Value(f"entity {number}", ValueKind.REFERENCE, entity=f"e{number}")


def _object(number: int, entities: int) -> Value:
    if number % 3 == 0:
        return _reference(number * 7919 % entities)
    return Value(f"{number} m", ValueKind.NUMBER, float(number), "m")


@dataclass(frozen=True, slots=True)
class LookupQuestion:
    name: str
    ask: Callable[[Knowledge, int], object]


def _questions(knowledge: Knowledge) -> list[LookupQuestion]:
    total = knowledge.stats().entities
    names = {e.id: e.name for e in made_entities(min(total, 20_000))}
    listed = list(names.values())
    ids = list(names)
    return [
        LookupQuestion("exact name", lambda kb, n: kb.find([listed[n % len(listed)]])),
        LookupQuestion("alias", lambda kb, n: kb.find([_alias(listed, n)])),
        LookupQuestion("misspelt name", lambda kb, n: kb.find([misspelt(listed[n % len(listed)], n)])),
        LookupQuestion("unknown name", lambda kb, n: kb.find([f"Zorblax Quibbleton {n}"])),
        LookupQuestion("20 names at once", lambda kb, n: kb.find([misspelt(x, n) for x in _twenty(listed, n)])),
        LookupQuestion("similar names", lambda kb, n: kb.similar(misspelt(listed[n % len(listed)], n))),
        LookupQuestion("facts about one", lambda kb, n: kb.facts_about([ids[n % len(ids)]])),
        LookupQuestion("coverage", lambda kb, _: kb.coverage()),
    ]


def _alias(listed: Sequence[str], number: int) -> str:
    odd = number % (len(listed) // 2) * 2 + 1
    return f"{listed[odd].split()[-1]} {odd}"


def _twenty(listed: Sequence[str], number: int) -> list[str]:
    return [listed[(number * 20 + step) % len(listed)] for step in range(20)]


def misspelt(name: str, number: int) -> str:
    """Swap two adjacent letters, or drop one."""
    at = 1 + number % max(1, len(name.split(maxsplit=1)[0]) - 2)
    if number % 2:
        return name[:at] + name[at + 1 :]
    return name[:at] + name[at + 1 : at + 2] + name[at] + name[at + 2 :]


def measure(knowledge: Knowledge, question: LookupQuestion, rounds: int) -> LookupLatency:
    """Every round asks about another entity, so that no answer is cached."""
    random, taken, busy = Random(SEED), [], []
    for _ in range(rounds):
        number = random.randrange(1 << 30)
        began, at_work = time.perf_counter(), time.thread_time()
        question.ask(knowledge, number)
        busy.append((time.thread_time() - at_work) * 1000)
        taken.append((time.perf_counter() - began) * 1000)
    taken.sort()
    most = min(rounds - 1, rounds * 99 // 100)
    return LookupLatency(question.name, rounds, taken[rounds // 2], taken[most], taken[-1], sorted(busy)[most])


def _table(figures: Sequence[LookupLatency]) -> Table:
    table = Table(box=None, pad_edge=False)
    for header in ("question", "asked", "p50 ms", "p99 ms", "worst ms", "p99 busy ms"):
        table.add_column(header, justify="left" if header == "question" else "right")
    for figure in figures:
        times = (f"{ms:.2f}" for ms in (figure.p50, figure.p99, figure.worst, figure.busy))
        table.add_row(figure.question, f"{figure.count:,}", *times)
    return table


app = command()


@app.command()
def main(
    store: Annotated[str, typer.Option("--store", "--kb", help="Build it here and keep it.")] = "",
    entities: Annotated[int, typer.Option(min=100, help="Number of entities.")] = 100_000,
    facts: Annotated[int, typer.Option(min=100, help="Number of facts.")] = 1_000_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each question is asked.")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Time lookups in a large knowledge base: names, misspelt names, facts."""
    run_kb(store, Size(entities, facts), rounds, open_console(), as_json=as_json)


if __name__ == "__main__":
    run(app)
