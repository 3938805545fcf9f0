"""`python -m benchmarks.monitor`: throughput, memory and accuracy of the generation monitor."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import resource
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks import command, run
from groundwire.bench.measures import Figure, LabelledRow, load_sets, show
from groundwire.cli.console import open_console
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.retrieval.select import Index
from groundwire.streaming.guard import GenerationMonitor
from groundwire.streaming.incremental import IncrementalVerifier
from groundwire.streaming.patterns import PATTERNS
from groundwire.streaming.session import verify_knowledge
from groundwire.types import Source
from groundwire.types.stream import Context

QUESTIONS = ("dev.ragtruth.test", "dev.ragtruth.train", "train.mctest.dev", "dev.expertqa.dev")
_MAX_QUESTIONS = 200
_OTHER_SOURCES = 5
# RAGTruth repeats the question at the head of its passages, which would answer everything.
_REPEATED = re.compile(r"\AQuestion:.*?\n\n", re.DOTALL)


@dataclass(frozen=True, slots=True)
class QuestionWithSource:
    """A question and a text that holds its answer."""

    question: str
    text: str
    index: Index

    def answers(self, other: QuestionWithSource) -> bool:
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
            others += [not other.answers(pair) for other in random.sample(strange, min(_OTHER_SOURCES, len(strange)))]
            close = max(strange, key=lambda other, q=pair.question: other.index.coverage(q)[0])  # type: ignore[misc]
            nearest.append(not close.answers(pair))
        title = f"{name}, {len(pairs)} questions"
        yield Figure(f"{title}: own source seen as enough", _percent(own), "%")
        yield Figure(f"{title}: another's seen as lacking", _percent(others), "%")
        yield Figure(f"{title}: the nearest of all others' seen as lacking", _percent(nearest), "%")


def _pairs(folder: Path, name: str) -> list[QuestionWithSource]:
    found: dict[str, str] = {}
    for file in (f for f in QUESTIONS if f.split(".")[1] == name):
        path = folder / f"{file}.jsonl.gz"
        for row in _rows(path) if path.exists() else ():
            question = (row.get("meta") or {}).get("question")
            if question and row["label"] == 1:
                found.setdefault(str(question), _REPEATED.sub("", str(row["context"])))
    chosen = list(found.items())
    Random(0).shuffle(chosen)
    return [QuestionWithSource(q, text, Index([Source("S0", text)])) for q, text in chosen[:_MAX_QUESTIONS]]


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
        rates = [100 * answers[name, bad] / max(1, n) for bad, n in ((True, len(ragtruth.rows) - good), (False, good))]
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
            inc = IncrementalVerifier(engine, row.context, question=row.question)
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


TOKEN = 4
"""Characters a token, as language models have them on average."""

_TENTHS = 10
_CHUNK_TOKENS = 100
_ROUNDS = 25
_WORDS = (200, 800, 3200)


@dataclass(frozen=True, slots=True)
class MonitorArgs:
    """`data` is a folder with labelled sets, or None; `answers` how many of them are checked as streams."""

    tokens: int
    data: Path | None
    answers: int


def run_monitor(console: Console, request: MonitorArgs, *, as_json: bool) -> int:
    figures = list(measure(request))
    return show(console, figures, as_json=as_json)


def measure(request: MonitorArgs) -> Iterator[Figure]:
    yield from _stream(request.tokens)
    yield from _knowledge()
    if request.data is not None:
        yield from questions_answered(request.data)
        yield from warnings_by_label(request.data)
        yield from asyncio.run(ahead_of_time(request.data, request.answers))


def _stream(tokens: int) -> Iterator[Figure]:
    """One long answer, token by token: the pattern path alone, by processor time."""
    monitor = GenerationMonitor(PATTERNS, _sources(400))
    feed, costs, resident = _tokens(Random(0)), [], []
    for _ in range(_TENTHS):
        spent, left = 0.0, max(_CHUNK_TOKENS, tokens // _TENTHS)
        for _ in range(left // _CHUNK_TOKENS):
            bite = [next(feed) for _ in range(_CHUNK_TOKENS)]
            began = process_time()
            for token in bite:
                monitor.update(token)
            spent += process_time() - began
        costs.append(spent / (left // _CHUNK_TOKENS * _CHUNK_TOKENS))
        resident.append(_resident_mb())
    told = sum(monitor.counts.values())
    yield Figure("tokens a second on one core, all patterns", _TENTHS / sum(costs), "1/s", "≥ 50,000")
    yield Figure("cost of a token, last tenth by first", costs[-1] / costs[0], "×", "does not grow")
    grown = resident[-1] - resident[0]
    yield Figure(f"memory grown over {tokens:,} tokens, after the first tenth", grown, "MB", "flat")
    yield Figure("warnings in that stream", told, "", f"{len(monitor.warnings)} kept")


def _tokens(random: Random) -> Iterator[str]:
    """An endless answer: facts from the sources, and now and then something made up."""
    while True:
        text = _sentence(random)
        yield from (text[at : at + TOKEN] for at in range(0, len(text), TOKEN))


def _sentence(random: Random) -> str:
    n = random.randrange(400)
    plain = f"Plant {n} in sector {n * 7 % 90} produced {n * 37 % 911} tonnes of steel in {1950 + n % 70}"
    other = random.randrange(12)
    if other == 0:
        return f"Studies show that {random.randrange(1000) / 10}% of all plants closed. "
    if other == 1:
        return f"Plant {n} was led by Otto Brandt{random.randrange(999)} until {random.randrange(1700, 1900)}. "
    if other == 2:
        return f"{plain} [S{random.randrange(2000)}].\n\n- "
    if other < 7:
        return "The people of the region remember the works well, and many of their children still live nearby. "
    return f"{plain}, which was a good year for the whole region and its people. "


def _sources(facts: int) -> list[Source]:
    lines = (
        f"Plant {n} in sector {n * 7 % 90} produced {n * 37 % 911} tonnes of steel in {1950 + n % 70}."
        for n in range(facts)
    )
    return [Source("S0", " ".join(lines))]


def _resident_mb() -> float:
    """What the process holds right now; where that cannot be read, the most it ever held."""
    held = Path("/proc/self/statm")
    if held.exists():
        return int(held.read_text(encoding="ascii").split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _knowledge() -> Iterator[Figure]:
    """The look before an answer, with sources of several lengths; the index is made anew each time."""
    asked = "How many tonnes of steel did Plant 7 produce in 1957, and why did Plant 9 close?"
    for words in _WORDS:
        context = Context((Source("S0", " ".join(_sources(words // 12)[0].text.split()[:words])),))
        look = partial(verify_knowledge, asked, context)
        look()
        times = [_timed(look) for _ in range(_ROUNDS)]
        bar = "≤ 50" if words == _WORDS[0] else ""
        yield Figure(f"knowledge of a request, {words:,} words of sources", 1000 * median(times), "ms", bar)


def _timed(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began


app = command()


@app.command()
def main(
    tokens: Annotated[int, typer.Option(min=1000, help="Length of the stream.")] = 1_000_000,
    data: Annotated[
        Path | None, typer.Option(envvar="GROUNDWIRE_DATA", help="Folder with labelled sets, for accuracy.")
    ] = None,
    answers: Annotated[int, typer.Option(min=1, help="Approximate number of answers to stream.")] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Measure tokens per second, memory over a long stream, request checks and warnings by label."""
    run_monitor(open_console(), MonitorArgs(tokens, data, answers), as_json=as_json)


if __name__ == "__main__":
    run(app)
