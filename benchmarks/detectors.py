"""`make bench-detectors`: precision, recall and speed of the eight detectors on labelled sentences.

The sentences are about a fictional company, which is also the knowledge base.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Annotated
from zlib import crc32

import typer
from rich.console import Console
from rich.table import Table

from benchmarks import command, run
from groundwire.cli.console import open_console
from groundwire.cli.options import Backend, ConfigFile, JsonOut, settings
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import Attribute, Entity, Fact, HallucinationType, KnowledgeBase, Role, Turn, Value, ValueKind

NOW = datetime(2026, 6, 15)

PEOPLE = """
Ingrid Vos|Management|chief executive officer|Rotterdam|i.vos@helion.example|
Tomas Lindqvist|Engineering|engineering manager|Rotterdam|t.lindqvist@helion.example|Ingrid Vos
Amara Okafor|Analytics|data analyst|Lisbon|a.okafor@helion.example|Tomas Lindqvist
Yuki Tanaka|Research|principal scientist|Rotterdam|y.tanaka@helion.example|Ingrid Vos
Leila Haddad|Sales|account manager|Dubai|l.haddad@helion.example|Ingrid Vos
Marcus Webb|Finance|accountant|Rotterdam|m.webb@helion.example|Ingrid Vos
Priya Raman|Support|support engineer|Mumbai|p.raman@helion.example|Tomas Lindqvist
Olga Petrova|Legal|lawyer|Rotterdam|o.petrova@helion.example|Ingrid Vos
Diego Alvarez|Logistics|warehouse manager|Utrecht|d.alvarez@helion.example|Marcus Webb
Hannah Keller|Marketing|brand manager|Lisbon|h.keller@helion.example|Leila Haddad
Samuel Osei|Engineering|firmware developer|Utrecht|s.osei@helion.example|Tomas Lindqvist
"""
PRODUCTS = """
Orion Spectrometer|14500|6.2|2019|3
Lyra Sensor|320|0.4|2022|2
Vega Microscope|27900|18|2015|5
"""
PROJECTS = """
Project Tern|Yuki Tanaka|2025-02-03|2026-09-30|1200000|active
Project Heron|Samuel Osei|2024-11-12|2026-07-15|300000|cancelled
"""
EVENTS = """
the board meeting|scheduled for|Thursday
the sales training|start at|14:30
the safety audit|scheduled for|9 July 2026
the product launch|held in|Vienna
the supplier review|scheduled for|Monday
the summer party|held in|Utrecht
"""


def entities() -> list[Entity]:
    return [*_company(), *_people(), *_products(), *_projects(), *_events()]


def facts() -> list[Fact]:
    """Appointments, one acquisition with its roles, and spoken languages."""
    found = []
    for row in table_rows(EVENTS):
        subject = Role("subject", Value(row[0], ValueKind.REFERENCE, entity=_id(row[0])))
        found.append(Fact("", row[1], (subject, Role("object", Value(row[2])))))
    helion = Role("subject", Value("Helion Instruments", ValueKind.REFERENCE, entity="helion-instruments"))
    bought = (helion, Role("object", Value("Brandt Optik")), Role("year", Value("2021")))
    found.append(Fact("", "acquire", bought))
    for language in ("Portuguese", "English"):
        amara = Role("subject", Value("Amara Okafor", ValueKind.REFERENCE, entity="amara-okafor"))
        found.append(Fact("", "speaks", (amara, Role("object", Value(language))), many=True))
    return found


def _company() -> Iterator[Entity]:
    given = {
        "industry": Value("optics"),
        "headquarters": Value("Rotterdam"),
        "ceo": Value("Ingrid Vos", ValueKind.REFERENCE, entity="ingrid-vos"),
        "founded": Value("1998"),
        "founder": Value("Pieter de Graaf"),
        "employees": _number("420"),
        "revenue": _number("96000000", "EUR"),
        "website": Value("www.helion.example"),
    }
    yield Entity("helion-instruments", "Helion Instruments", "company", ("Helion",), _attributes(given))
    yield Entity("brandt-optik", "Brandt Optik", "company")


def _people() -> Iterator[Entity]:
    for name, department, title, city, email, manager in table_rows(PEOPLE):
        given = {"department": Value(department), "title": Value(title), "location": Value(city), "email": Value(email)}
        if manager:
            given["manager"] = Value(manager, ValueKind.REFERENCE, entity=_id(manager))
        yield Entity(_id(name), name, "person", (), _attributes(given))


def _products() -> Iterator[Entity]:
    for name, price, weight, launch, warranty in table_rows(PRODUCTS):
        given = {
            "price": _number(price, "EUR"),
            "weight": _number(weight, "kg"),
            "launch": Value(launch),
            "warranty": _number(warranty, "years"),
        }
        yield Entity(_id(name), name, "product", (name.split()[0],), _attributes(given))


def _projects() -> Iterator[Entity]:
    for name, manager, start, deadline, budget, status in table_rows(PROJECTS):
        given = {
            "manager": Value(manager, ValueKind.REFERENCE, entity=_id(manager)),
            "start date": _day(start),
            "deadline": _day(deadline),
            "budget": _number(budget, "EUR"),
            "status": Value(status),
        }
        short = name.removeprefix("Project ")
        yield Entity(_id(name), name, "project", (f"the {short} project", f"{short} project"), _attributes(given))


def _events() -> Iterator[Entity]:
    for name, *_ in table_rows(EVENTS):
        yield Entity(_id(name), name, "event", (name.removeprefix("the "),))


def table_rows(table: str) -> list[list[str]]:
    return [row.split("|") for row in table.strip().splitlines()]


def _id(name: str) -> str:
    return name.lower().replace(" ", "-")


def _attributes(given: dict[str, Value]) -> tuple[Attribute, ...]:
    return tuple(Attribute(name, value) for name, value in given.items())


def _number(text: str, unit: str = "") -> Value:
    return Value(text, ValueKind.NUMBER, float(text), unit)


def _day(text: str) -> Value:
    return Value(text, ValueKind.DATE, day=datetime.fromisoformat(text).date())


_ACCEPT = {
    HallucinationType.WRONG_ATTRIBUTE: HallucinationType.CONTRADICTS_FACT,
    HallucinationType.CONTRADICTS_FACT: HallucinationType.WRONG_ATTRIBUTE,
    HallucinationType.FABRICATED_FACT: HallucinationType.NONEXISTENT_ENTITY,
    HallucinationType.NONEXISTENT_ENTITY: HallucinationType.FABRICATED_FACT,
}
"""Other kinds that count as correct for a label: an attribute may be stored as a fact."""


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """A sentence with its label ('' if it is right), the conversation before it and its sources."""

    text: str
    label: str = ""
    history: tuple[Turn, ...] = ()
    source: str = ""
    origin: str = "hand"
    also: str = ""
    """A second correct kind: a wrong manager may also be an unknown person."""

    @property
    def held(self) -> bool:
        return crc32(self.text.encode()) % 2 == 1

    @property
    def accepted(self) -> frozenset[str]:
        if not self.label:
            return frozenset()
        kind = HallucinationType(self.label)
        return frozenset({kind.value, _ACCEPT.get(kind, kind).value, self.also} - {""})


def items() -> list[LabelledSentence]:
    """The stored set."""
    text = (files("benchmarks") / "detectors_set.jsonl").read_text(encoding="utf-8")
    return [read_item(json.loads(line), "") for line in text.splitlines()]


def read_item(row: dict[str, object], origin: str) -> LabelledSentence:
    """Parse a row of the set; `origin` applies to rows without one."""
    turns = row.get("history") or ()
    assert isinstance(turns, list | tuple)
    history = tuple(Turn(i, str(turn["role"]), str(turn["text"])) for i, turn in enumerate(turns, start=1))
    source = str(row.get("source") or "")
    came, also = str(row.get("origin") or origin), str(row.get("also") or "")
    return LabelledSentence(str(row["text"]), str(row["label"]), history, source, came, also)


# Targets of the specification.
PRECISION, RECALL = 0.90, 0.80  # over all kinds
SECONDS = 0.5  # for a response of ten sentences
HALVES = ("open", "held-out", "both")
ALL = "all kinds"
TEN_SENTENCES = (
    "Hannah Keller works in the Finance department. The Orion Spectrometer weighs 6.2 kg. "
    "Helion Instruments was founded in 1998 by Pieter de Graaf. The board meeting is on Tuesday. "
    "Please contact Gloria Simmons in the Quality team. Project Tern is managed by Yuki Tanaka. "
    "Studies show that this sensor doubles output. The Lyra Sensor costs 450 euros. "
    "Marcus Webb reports to Ingrid Vos. The summer party is in Utrecht."
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One sentence and the kinds that the detectors flagged it as."""

    item: LabelledSentence
    flagged: tuple[str, ...]

    @property
    def hit(self) -> bool:
        return bool(self.item.accepted.intersection(self.flagged))


@dataclass(frozen=True, slots=True)
class DetectorFigures:
    """One kind on one half: true positives, false positives and misses."""

    kind: str
    half: str
    hits: int
    false_alarms: int
    misses: int

    @property
    def precision(self) -> float | None:
        raised = self.hits + self.false_alarms
        return self.hits / raised if raised else None

    @property
    def recall(self) -> float | None:
        wrong = self.hits + self.misses
        return self.hits / wrong if wrong else None


def run_detectors(
    console: Console, config: Config, out: Path | None = None, kb: Path | None = None, *, failures: bool = False
) -> None:
    outcomes = asyncio.run(judge(items(), config))
    rows = tabulate(outcomes)
    for half in HALVES:
        console.print(_table(half, rows))
    _say_verdict(console, rows)
    if failures:
        _show_failures(console, outcomes)
    times = asyncio.run(time_response(config, kb)) if kb else []
    if times:
        console.print(f"ten sentences on {kb}: median {median(times) * 1000:.0f} ms (bar {SECONDS * 1000:.0f} ms)")
    if out:
        figures = {"rows": [asdict(row) for row in rows], "ten_sentences_seconds": times}
        out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


async def judge(given: Sequence[LabelledSentence], config: Config) -> list[Outcome]:
    """Check every sentence against the knowledge base of the fictional company."""
    with tempfile.TemporaryDirectory() as folder, Knowledge.open(str(Path(folder) / "kb.db")) as kb:
        fill(kb)
        async with Groundwire(config) as engine:
            return [await _outcome(engine, kb, item) for item in given]


def fill(kb: Knowledge) -> None:
    kb.put_entities(entities())
    kb.put_many(facts())


async def _outcome(engine: Groundwire, kb: KnowledgeBase, item: LabelledSentence) -> Outcome:
    sources = [item.source] if item.source else []
    found = await engine.detect(item.text, sources, history=item.history, kb=kb, now=NOW)
    return Outcome(item, tuple(dict.fromkeys(flag.type.value for flag in found.flags)))


def tabulate(outcomes: Sequence[Outcome]) -> list[DetectorFigures]:
    """By kind and over all. A sentence flagged only as another kind is a miss and a false alarm."""
    return [_row(kind, half, outcomes) for half in HALVES for kind in (*(k.value for k in HallucinationType), ALL)]


def _row(kind: str, half: str, outcomes: Sequence[Outcome]) -> DetectorFigures:
    own = [o for o in outcomes if half == "both" or o.item.held == (half == "held-out")]
    labelled = [o for o in own if o.item.label and kind in (o.item.label, ALL)]
    alarms = [o for o in own if not o.hit and (kind in o.flagged or (kind == ALL and o.flagged))]
    hits = sum(o.hit for o in labelled)
    return DetectorFigures(kind, half, hits, len(alarms), len(labelled) - hits)


def _table(half: str, rows: Sequence[DetectorFigures]) -> Table:
    table = Table(title=f"{half}{' halves' if half == 'both' else ' half'}")
    for column in ("kind", "sentences", "precision", "recall", "false alarms"):
        table.add_column(column, justify="left" if column == "kind" else "right")
    for row in rows:
        if row.half == half:
            count = str(row.hits + row.misses)
            table.add_row(row.kind, count, _share(row.precision), _share(row.recall), str(row.false_alarms))
    return table


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _say_verdict(console: Console, rows: Sequence[DetectorFigures]) -> None:
    for row in rows:
        if row.kind == ALL:
            good = (row.precision or 0) >= PRECISION and (row.recall or 0) >= RECALL
            figures = f"precision {_share(row.precision)} (bar {PRECISION:.0%}), recall {_share(row.recall)}"
            console.print(f"{row.half}: {figures} (bar {RECALL:.0%}): {'reached' if good else 'missed'}")


def _show_failures(console: Console, outcomes: Sequence[Outcome]) -> None:
    """Print failures of the open half only: the held-out half must stay unseen."""
    for outcome in outcomes:
        wrong = (outcome.item.label and not outcome.hit) or (outcome.flagged and not outcome.item.label)
        if wrong and not outcome.item.held:
            label = outcome.item.label or "nothing wrong"
            console.print(f"{label} | {', '.join(outcome.flagged) or 'not flagged'} | {outcome.item.text}")


async def time_response(config: Config, store: Path, runs: int = 7) -> list[float]:
    """Time ten sentences on a large store, to which the fictional company is added."""
    with Knowledge.open(str(store)) as kb:
        fill(kb)
        async with Groundwire(config) as engine:
            await engine.detect(TEN_SENTENCES, [], kb=kb, now=NOW)  # warms up the model and the caches
            return [(await engine.detect(TEN_SENTENCES, [], kb=kb, now=NOW)).seconds for _ in range(runs)]


app = command()


@app.command()
def main(
    json_out: JsonOut = None,
    kb: Annotated[Path | None, typer.Option(help="Also time ten sentences on this store; it is modified.")] = None,
    failures: Annotated[bool, typer.Option("--failures", help="Print the failures on the open half.")] = False,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Measure precision and recall of the eight detectors on labelled sentences."""
    run_detectors(open_console(), settings(config, backend), json_out, kb, failures=failures)


if __name__ == "__main__":
    run(app)
