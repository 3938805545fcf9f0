"""`python -m benchmarks.streams`: how soon the guard stops a stream that contradicts its sources.

Answers come in threes over one source: the middle sentence is true, contradicts the source, or says something
the source does not mention. Nothing else differs. The same seed and count give the same answers.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from statistics import median
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from benchmarks import command, run
from benchmarks.procedural import Rate, rate
from benchmarks.procedural_domains import (
    Domain,
    GeneratedFact,
    capital,
    domains,
    draw_other,
    lay_out,
    nearest,
    response_sentences,
)
from benchmarks.procedural_items import fill, named, scene
from groundwire.bench.measures import LabelledRow, load_sets
from groundwire.cli.console import open_console
from groundwire.cli.options import Backend, ConfigFile, settings
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.llm.fake import ScriptedGenerator
from groundwire.reports.terminal import progress_bar
from groundwire.streaming.guard import guard
from groundwire.types import Source
from groundwire.types.stream import Context, InterruptedEvent

Kind = Literal["supported", "contradicted", "unsupported"]
KINDS: tuple[Kind, ...] = ("supported", "contradicted", "unsupported")


@dataclass(frozen=True, slots=True)
class Stream:
    """`sentences[middle]` is the one that differs; `held`: of the second half of the domains."""

    id: str
    kind: Kind
    domain: str
    source: str
    question: str
    sentences: tuple[str, ...]
    middle: int
    held: bool = False

    @property
    def text(self) -> str:
        return " ".join(self.sentences)

    def place(self, number: int) -> tuple[int, int]:
        """Where a sentence stands in the text."""
        start = sum(len(sentence) + 1 for sentence in self.sentences[:number])
        return start, start + len(self.sentences[number])


def streams(count: int = 300, seed: int = 0) -> list[Stream]:
    """About as many as asked for, a third of each kind, half of them from each half of the domains."""
    return [stream for number in range(max(1, count // 3)) for stream in _triple(number, seed)]


def _triple(number: int, seed: int) -> Iterator[Stream]:
    held = bool(number % 2)
    half = domains(held=held)
    domain = half[number // 2 % len(half)]
    rng = Random(f"{seed}/stream/{number}")
    facts = scene(domain, rng, rng.randint(2, 3), min(3, len(domain.attributes)))
    told = rng.sample(facts, min(len(facts), rng.randint(5, 7)))
    middle = rng.randint(1, len(told) - 3)
    right, wrong = _right_and_wrong(told[middle], facts, rng)
    sentences = [response_sentences(fact, rng)[0] for fact in told]
    one = Stream(
        f"stream-{number:04d}", "supported", domain.name, lay_out(facts, domain, rng),
        f"What is known about {told[middle].thing}?", tuple(sentences), middle, held,
    )  # fmt: skip
    middles = {
        "supported": right,
        "contradicted": wrong,
        "unsupported": _unsupported_sentence(told[middle], domain, rng),
    }
    for kind in KINDS:
        own = (*sentences[:middle], middles[kind], *sentences[middle + 1 :])
        yield replace(one, id=f"{one.id}-{kind}", kind=kind, sentences=own)


def _right_and_wrong(fact: GeneratedFact, facts: list[GeneratedFact], rng: Random) -> tuple[str, str]:
    """The fact as it is, and with a value that stands nowhere: often one that is easily mistaken for it."""
    taken = {f.value.plain for f in facts if f.attribute is fact.attribute}
    drawn = [draw_other(fact.attribute.value, taken, rng) for _ in range(rng.choice((1, 20)))]
    right, wrong = response_sentences(fact, rng, nearest(fact.value, drawn))
    return right, wrong


def _unsupported_sentence(fact: GeneratedFact, domain: Domain, rng: Random) -> str:
    return f"{capital(named(domain, fact.thing))} {fill(rng.choice(domain.details), rng)}."


BAR = 0.01
"""False interruptions of supported answers."""
_ASKED = "Tell what the source says."
_SEEN = "The shipped weights were fitted on these answers among others: on unseen ones it may differ."


@dataclass(frozen=True, slots=True)
class StreamOutcome:
    """A stream and where it was stopped, if it was. The lag counts from the end of the wrong sentence."""

    stream: Stream
    at: int | None

    @property
    def early(self) -> bool:
        """Stopped before anything wrong was said."""
        return self.at is not None and (self.stream.kind != "contradicted" or self.at < self._wrong[1])

    @property
    def lacking(self) -> bool:
        """Stopped at the very sentence that only lacks support."""
        start, end = self._wrong
        after = self.stream.place(min(self.stream.middle + 1, len(self.stream.sentences) - 1))[1]
        unsupported = self.stream.kind == "unsupported" and self.at is not None
        return unsupported and start < (self.at or 0) <= max(end, after)

    @property
    def caught(self) -> bool:
        return self.at is not None and not self.early

    @property
    def lag_chars(self) -> int:
        return (self.at or 0) - self._wrong[1]

    @property
    def lag_claims(self) -> int:
        """Sentences begun behind the wrong one: 1 where the next had not come to its end."""
        after = range(self.stream.middle + 1, len(self.stream.sentences))
        return sum(self.stream.place(number)[0] < (self.at or 0) for number in after)

    @property
    def _wrong(self) -> tuple[int, int]:
        return self.stream.place(self.stream.middle)


@dataclass(frozen=True, slots=True)
class StreamFigures:
    """One line of the result; the lags are about those that were stopped in time."""

    name: str
    stopped: Rate
    early: Rate
    lacking: Rate
    within_one: Rate
    lag_claims: float
    most_claims: int
    lag_chars: float
    most_chars: int


@dataclass(frozen=True, slots=True)
class StreamsArgs:
    """How many streams to make, from which seed; where RAGTruth is, and how much of it to read."""

    items: int
    seed: int
    data: Path
    limit: int | None = None
    out: Path | None = None


def run_streams(console: Console, config: Config, request: StreamsArgs) -> int:
    data, out = request.data, request.out
    made = streams(request.items, request.seed)
    config = config.changed(realtime={**config.realtime.model_dump(), "check_knowledge": False})
    seen, answers = asyncio.run(_measure(made, _supported(data, request.limit), config))
    rows = tabulate(seen)
    console.print(_table(rows))
    false = rate(stopped for stopped in answers) if answers else None
    for line in verdicts(rows, false):
        console.print(line, style="bold")
    if false is None:
        console.print(f"There is no RAGTruth in {data}: --data or GROUNDWIRE_DATA says where it is.")
    else:
        console.print(_SEEN)
    if out:
        found = {"rows": [asdict(row) for row in rows], "supported": asdict(false) if false else None}
        out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0


def _supported(data: Path, limit: int | None) -> list[LabelledRow]:
    """Answers that people found to be supported in every word."""
    if not any(data.glob("dev.ragtruth.*.jsonl.gz")):
        return []
    (found,) = load_sets(data, ["ragtruth"], limit)
    return [row for row in found.rows if not row.bad]


async def _measure(
    made: Sequence[Stream], answers: Sequence[LabelledRow], config: Config
) -> tuple[list[StreamOutcome], list[bool]]:
    seen: list[StreamOutcome] = []
    stopped: list[bool] = []
    with progress_bar(Console(stderr=True)) as progress:
        bar = progress.add_task("streams", total=len(made) + len(answers))
        async with Groundwire(config) as engine:
            for one in made:
                seen.append(StreamOutcome(one, await stopped_at(one.text, one.source, one.question, engine)))
                progress.advance(bar)
            for row in answers:
                at = await stopped_at(row.claim, row.context, row.question or _ASKED, engine)
                stopped.append(at is not None)
                progress.advance(bar)
    return seen, stopped


async def stopped_at(text: str, source: str, question: str, engine: Groundwire) -> int | None:
    """Where the guard stops a model that says this, word by word; None where it lets it come to its end."""
    context = Context((Source("S0", source),))
    async with aclosing(guard(ScriptedGenerator([text]), question, context, engine=engine)) as events:
        async for event in events:
            if isinstance(event, InterruptedEvent):
                return event.at
            if event.kind == "done":
                break
    return None


def tabulate(seen: Sequence[StreamOutcome]) -> list[StreamFigures]:
    """A row a kind, and the contradicted ones by half."""
    groups: dict[str, list[StreamOutcome]] = {kind: [s for s in seen if s.stream.kind == kind] for kind in KINDS}
    wrong = groups["contradicted"]
    groups["  first half"] = [s for s in wrong if not s.stream.held]
    groups["  held-out half"] = [s for s in wrong if s.stream.held]
    return [_row(name, own) for name, own in groups.items()]


def _row(name: str, seen: Sequence[StreamOutcome]) -> StreamFigures:
    caught = [s for s in seen if s.caught]
    claims, chars = [s.lag_claims for s in caught], [s.lag_chars for s in caught]
    return StreamFigures(
        name=name,
        stopped=rate(s.caught for s in seen),
        early=rate(s.early for s in seen),
        lacking=rate(s.lacking for s in seen),
        within_one=rate(claim <= 1 for claim in claims),
        lag_claims=median(claims) if claims else 0.0,
        most_claims=max(claims, default=0),
        lag_chars=median(chars) if chars else 0.0,
        most_chars=max(chars, default=0),
    )


def _table(rows: Sequence[StreamFigures]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("streams")
    for heading in ("of", "stopped", "within one claim", "lag, claims", "lag, characters", "for nothing"):
        table.add_column(heading, justify="right")
    for row in rows:
        wrong = row.name not in ("supported", "unsupported")
        table.add_row(
            row.name,
            str(row.stopped.of),
            _percent(row.stopped) if wrong else "–",
            _percent(row.within_one) if wrong else "–",
            f"{row.lag_claims:g} (at most {row.most_claims})" if wrong else "–",
            f"{row.lag_chars:g} (at most {row.most_chars})" if wrong else "–",
            _percent(row.early),
        )
    return table


def _percent(found: Rate) -> str:
    return f"{100 * found.share:.1f} % ({100 * found.low:.0f}–{100 * found.high:.0f})"


def verdicts(rows: Sequence[StreamFigures], false: Rate | None) -> list[str]:
    """The bars, held against the figures."""
    by_name = {row.name: row for row in rows}
    wrong, lacking = by_name["contradicted"], by_name["unsupported"]
    met = {True: "met", False: "not met"}
    lines = [
        f"stopped within one claim of the contradiction: {_percent(wrong.within_one)} of the stopped, "
        f"{met[wrong.within_one.share == 1.0]}",
        f"never stopped for lack of support: {lacking.lacking.hits} of {lacking.lacking.of}, "
        f"{met[lacking.lacking.hits == 0]}",
    ]
    if false is not None:
        share = f"{100 * false.share:.2f} % ({100 * false.low:.1f}–{100 * false.high:.1f})"
        lines.append(
            f"supported RAGTruth answers stopped, at most 1 %: {false.hits} of {false.of}, {share}, "
            f"{met[false.share <= BAR]}"
        )
    return lines


app = command()


@app.command()
def main(
    items: Annotated[int, typer.Option(min=3, help="Number of streams to generate.")] = 300,
    seed: Annotated[int, typer.Option(help="The same seed makes the same streams.")] = 0,
    data: Annotated[Path, typer.Option(envvar="GROUNDWIRE_DATA", help="Folder with dev.*.jsonl.gz files.")] = Path(
        "../shared/data"
    ),
    limit: Annotated[int | None, typer.Option(min=1, help="Approximate number of RAGTruth rows.")] = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the figures as JSON.")] = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Measure how soon a contradicting stream is stopped, and how often a supported one is."""
    run_streams(open_console(), settings(config, backend), StreamsArgs(items, seed, data, limit, json_out))


if __name__ == "__main__":
    run(app)
