"""`groundwire bench detectors`: precision, recall and speed of the eight detectors on labelled sentences."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from groundwire.bench.detectors_data import NOW, LabelledSentence, entities, facts, items
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import HallucinationType, KnowledgeBase

PRECISION, RECALL = 0.90, 0.80
"""Targets over all kinds."""
SECONDS = 0.5
"""Target for a response of ten sentences."""
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
    console: Console,
    config: Config,
    out: Path | None = None,
    kb: Path | None = None,
    *,
    failures: bool = False,
) -> int:
    outcomes = asyncio.run(judge(items(), config))
    rows = tabulate(outcomes)
    for half in HALVES:
        console.print(_table(half, rows))
    _say_verdict(console, rows)
    if failures:
        _show_failures(console, outcomes)
    times = asyncio.run(time_response(config, kb)) if kb else []
    if times:
        console.print(
            f"ten sentences on {kb}: median {median(times) * 1000:.0f} ms (bar {SECONDS * 1000:.0f} ms)"
        )
    if out:
        figures = {"rows": [asdict(row) for row in rows], "ten_sentences_seconds": times}
        out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


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
    return [
        _row(kind, half, outcomes) for half in HALVES for kind in (*(k.value for k in HallucinationType), ALL)
    ]


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
            await engine.detect(TEN_SENTENCES, [], kb=kb, now=NOW)  # the model and the caches are warm
            return [(await engine.detect(TEN_SENTENCES, [], kb=kb, now=NOW)).seconds for _ in range(runs)]
