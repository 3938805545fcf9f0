"""The monitor on labelled data: questions with their own and other sources, answers with their labels."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

from groundwire.bench.figures import Figure
from groundwire.bench.quality_data import LabelledRow, load_sets
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.retrieval.select import Index
from groundwire.streaming.generation import GenerationMonitor
from groundwire.streaming.incremental import Incremental
from groundwire.streaming.knowledge import verify_knowledge
from groundwire.streaming.patterns import PATTERNS
from groundwire.types import Source
from groundwire.types.realtime import Context

QUESTIONS = ("dev.ragtruth.test", "dev.ragtruth.train", "train.mctest.dev", "dev.expertqa.dev")
_AT_MOST = 200
_OTHERS = 5
# RAGTruth repeats the question at the head of its passages, which would answer everything.
_REPEATED = re.compile(r"\AQuestion:.*?\n\n", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and a text that holds its answer."""

    question: str
    text: str
    index: Index

    def answers(self, other: Asked) -> bool:
        """Whether this one's text is taken to hold the answer to another one's question."""
        return verify_knowledge(other.question, Context(self.index.sources), index=self.index).verified


def questions_answered(folder: Path) -> Iterator[Figure]:
    """Each question with its own source, with five others, and with the one of all others nearest to it."""
    for name in dict.fromkeys(file.split(".")[1] for file in QUESTIONS):
        pairs = _pairs(folder, name)
        if not pairs:
            continue
        random, own, others, nearest = Random(0), [], [], []
        for pair in pairs:
            strange = [other for other in pairs if other.text != pair.text]
            own.append(pair.answers(pair))
            others += [
                not other.answers(pair) for other in random.sample(strange, min(_OTHERS, len(strange)))
            ]
            close = max(strange, key=lambda other, q=pair.question: other.index.coverage(q)[0])  # type: ignore[misc]
            nearest.append(not close.answers(pair))
        title = f"{name}, {len(pairs)} questions"
        yield Figure(f"{title}: own source seen as enough", _percent(own), "%")
        yield Figure(f"{title}: another's seen as lacking", _percent(others), "%")
        yield Figure(f"{title}: the nearest of all others' seen as lacking", _percent(nearest), "%")


def _pairs(folder: Path, name: str) -> list[Asked]:
    found: dict[str, str] = {}
    for file in (f for f in QUESTIONS if f.split(".")[1] == name):
        path = folder / f"{file}.jsonl.gz"
        for row in _rows(path) if path.exists() else ():
            question = (row.get("meta") or {}).get("question")
            if question and row["label"] == 1:
                found.setdefault(str(question), _REPEATED.sub("", str(row["context"])))
    chosen = list(found.items())
    Random(0).shuffle(chosen)
    return [Asked(q, text, Index([Source("S0", text)])) for q, text in chosen[:_AT_MOST]]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"cannot read {path}: {error}") from None


def _percent(hits: Sequence[bool]) -> float:
    return 100 * sum(hits) / max(1, len(hits))


def warnings_by_label(folder: Path) -> Iterator[Figure]:
    """How many answers each pattern warns of, by what people said of them; and whether it hits the place."""
    (ragtruth,) = load_sets(folder, ["ragtruth"])
    answers: Counter[tuple[str, bool]] = Counter()
    hits: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    interrupted = 0
    for row in ragtruth.rows:
        monitor = _watched(row)
        interrupted += monitor.should_interrupt() and not row.bad
        for warning in monitor.warnings:
            totals[warning.pattern] += 1
            hits[warning.pattern] += any(a < warning.end and warning.start < b for a, b in row.spans or ())
        answers.update((name, row.bad) for name in {warning.pattern for warning in monitor.warnings})
    good = sum(not row.bad for row in ragtruth.rows)
    yield Figure(f"supported answers of RAGTruth interrupted by patterns, of {good}", interrupted, "", "0")
    for name in sorted(totals, key=lambda name: -totals[name]):
        rates = [
            100 * answers[name, bad] / max(1, n)
            for bad, n in ((True, len(ragtruth.rows) - good), (False, good))
        ]
        where = f"{rates[1]:.1f} % of supported; {hits[name]} of {totals[name]} in a marked span"
        yield Figure(f"{name}: unsupported answers warned of", rates[0], "%", where)


def _watched(row: LabelledRow) -> GenerationMonitor:
    monitor = GenerationMonitor(PATTERNS, [Source("context", row.context)], request=row.question)
    monitor.update(row.claim)
    monitor.close()
    return monitor


async def ahead_of_time(folder: Path, answers: int) -> list[Figure]:
    """Answers as streams: what is judged before they end, what that costs, and if the report is the same."""
    (ragtruth,) = load_sets(folder, ["ragtruth"], answers)
    same = claims = ahead = 0
    whole = growing = 0.0
    async with Groundwire(Config(), backend="local") as engine:
        await engine.check("The sky is blue.", "The sky is blue.")
        for row in ragtruth.rows:
            began = process_time()
            report = await engine.check(row.claim, row.context, question=row.question)
            whole += process_time() - began
            began = process_time()
            inc = Incremental(engine, row.context, question=row.question)
            for at in range(0, len(row.claim), 40):
                inc.push(row.claim[at : at + 40])
                await asyncio.sleep(0)
            known = {(v.start, v.end, v.p1) for v in await inc.drain()}
            same += await inc.finish() == report
            growing += process_time() - began
            claims += len(report.claims)
            ahead += sum((c.start, c.end, c.p1) in known for c in report.claims)
    return [
        Figure("reports of streams equal to the whole's", 100 * same / len(ragtruth.rows), "%", "100"),
        Figure("claims judged before the answer ends", 100 * ahead / max(1, claims), "%"),
        Figure("processor time of a stream by that of one check", growing / whole, "×"),
    ]
