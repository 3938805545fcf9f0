"""`python -m benchmarks.orchestrator`: what verification adds to an answer, in time and money."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks import command, run
from benchmarks.procedural_items import generate
from groundwire.agent import AgentResult, Orchestrator
from groundwire.agent.trajectory import Cost, Usage
from groundwire.cli.console import open_console
from groundwire.cli.options import ConfigFile, settings
from groundwire.config import Config, Price
from groundwire.engine import Groundwire
from groundwire.errors import MissingExtra
from groundwire.llm import Completion, open_generator
from groundwire.llm.base import Generator
from groundwire.llm.fake import ScriptedCall, ScriptedGenerator

LATENCY_BAR = 0.5
SHARE_BAR = 0.10
_SENTENCES = 8
_TIMEOUT_SECONDS = 600.0  # seconds; a slow answer is a figure, too
_QUESTION = "What do the files say? Answer in several sentences."
LARGE, SMALL = Price(input=3.0, output=15.0), Price(input=0.25, output=1.25)
"""A model that answers and one a twelfth of its price that verifies, as vendors sell them side by side."""
ROOMS = (2000, 200)
"""How much of the files a verifier that is a model reads for one claim."""


@dataclass(frozen=True, slots=True)
class TargetFigure:
    name: str
    value: float
    unit: str
    bar: str = ""
    met: bool | None = None


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """A question over one file, and what a scripted model answers to it."""

    text: str
    answer: str


def jobs(count: int, seed: int = 0) -> list[ScriptedAnswer]:
    """Files of the procedural suite and what it has models say of them, eight sentences an answer."""
    items = generate(count * _SENTENCES, seed)
    groups = [items[start : start + _SENTENCES] for start in range(0, len(items), _SENTENCES)][:count]
    return [
        ScriptedAnswer(
            "\n\n".join(dict.fromkeys(text for item in group for text in item.sources.values())),
            " ".join(item.response for item in group),
        )
        for group in groups
    ]


def run_orchestrator(console: Console, config: Config, count: int, *, llm: bool, out: Path | None = None) -> int:
    figures = asyncio.run(measure(config, count, llm=llm))
    if out is not None:
        out.write_text(json.dumps([asdict(figure) for figure in figures], indent=2) + "\n", encoding="utf-8")
    console.print(_table(figures))
    return 0


async def measure(config: Config, count: int, *, llm: bool) -> list[TargetFigure]:
    made = jobs(count)
    figures = [*await _latency(config, made), *await _disabled(config, made)]
    if not llm:
        return figures
    few = made[: max(1, count // 10)]
    patient = config.changed(hallucination=config.hallucination.model_copy(update={"timeout": _TIMEOUT_SECONDS}))
    try:
        return [*figures, *await real_share(patient, few), *await priced_share(patient, few)]
    except MissingExtra:
        return figures


async def _answered(config: Config, generator: Generator, made: Sequence[ScriptedAnswer]) -> list[AgentResult]:
    async with Groundwire(config) as engine:
        orchestrator = Orchestrator(generator, engine, config)
        await orchestrator.process(_QUESTION, {"warm.txt": made[0].text})  # loading the model is no latency
        return [await orchestrator.process(_QUESTION, {"file.txt": job.text}) for job in made]


def _scripted(made: Sequence[ScriptedAnswer], *, name: str = "large") -> ScriptedGenerator:
    """Says the answers, and counts tokens as a server would: four characters each."""
    said = iter([made[0].answer, *(job.answer for job in made)])

    def reply(call: ScriptedCall) -> Completion:
        text = next(said)
        return Completion(text, prompt_tokens=len(call.prompt) // 4, completion_tokens=len(text) // 4, model=name)

    return ScriptedGenerator(reply, name=name)


async def _latency(config: Config, made: Sequence[ScriptedAnswer]) -> list[TargetFigure]:
    figures = []
    for mode in ("sample", "full"):
        settings = config.verification.model_copy(update={"mode": mode, "on_failure": "flag", "enabled": True})
        outcomes = await _answered(config.changed(verification=settings), _scripted(made), made)
        added = sorted(outcome.cost.verification.seconds for outcome in outcomes)
        middle, worst = median(added), added[int(0.95 * (len(added) - 1))]
        bar = LATENCY_BAR if mode == "sample" else None
        figures += [_with_target(f"verification adds, mode {mode}, median", middle, "s", bar),
                    _with_target(f"verification adds, mode {mode}, 95 of 100", worst, "s", bar)]  # fmt: skip
    return figures


async def _disabled(config: Config, made: Sequence[ScriptedAnswer]) -> list[TargetFigure]:
    off = config.changed(verification=config.verification.model_copy(update={"enabled": False}))
    outcomes = await _answered(off, _scripted(made), made)
    same = sum(outcome.text == job.answer.strip() for outcome, job in zip(outcomes, made, strict=True))
    calls = sum(outcome.cost.verification.calls for outcome in outcomes)
    return [
        TargetFigure("switched off: answers unchanged", same / len(made), "share", "1", same == len(made)),
        TargetFigure("switched off: verification calls", calls, "calls", "0", calls == 0),
    ]


async def priced_share(
    config: Config, made: Sequence[ScriptedAnswer], rooms: Sequence[int] = ROOMS
) -> list[TargetFigure]:
    """A verifier that is a language model, too: the local one reads the prompts, and its tokens are priced as
    those of a small model beside a large one that answers.
    """
    figures = []
    for room in rooms:
        changed = _sampling(config).changed(
            openai=config.openai.model_copy(update={"context_tokens": room}),
            generator=config.generator.model_copy(update={"provider": "llm"}),
            store=config.store.model_copy(update={"cache_path": ""}),
        )
        async with Groundwire(changed, backend="self") as engine:
            orchestrator = Orchestrator(_scripted(made), engine, changed)
            outcomes = [await orchestrator.process(_QUESTION, {"file.txt": job.text}) for job in made]
        cost = sum((outcome.cost for outcome in outcomes), Cost())
        share = dollars(cost.verification, SMALL) / dollars(cost.base, LARGE)
        name = f"LLM verifier, sample, {room} tokens of context"
        figures += [
            _with_target(f"{name}: money", share, "of the answer's", SHARE_BAR),
            _with_target(f"{name}: tokens", cost.share("tokens") or 0.0, "of the answer's", None),
        ]
    return figures


def dollars(usage: Usage, price: Price) -> float:
    return (usage.prompt_tokens * price.input + usage.completion_tokens * price.output) / 1_000_000


def _sampling(config: Config) -> Config:
    chosen = {"mode": "sample", "on_failure": "flag", "enabled": True}
    return config.changed(verification=config.verification.model_copy(update=chosen))


async def real_share(config: Config, made: Sequence[ScriptedAnswer]) -> list[TargetFigure]:
    """The local language model answers, the embedded verifier checks."""
    brief = config.orchestrator.model_copy(update={"max_tokens": min(128, config.orchestrator.max_tokens)})
    generator = open_generator(config, "llm")
    try:
        outcomes = await _answered(_sampling(config).changed(orchestrator=brief), generator, made)
    finally:
        await generator.aclose()
    verified = [outcome for outcome in outcomes if outcome.report is not None and outcome.report.claims]
    cost = sum((outcome.cost for outcome in verified), Cost())
    share = cost.share("seconds")
    if share is None:
        return []
    return [
        _with_target("real local LLM: share of the time, sample", share, "of the answer's", SHARE_BAR),
        TargetFigure("real local LLM: answers verified", len(verified), f"of {len(outcomes)}"),
    ]


def _with_target(name: str, value: float, unit: str, bar: float | None) -> TargetFigure:
    return (
        TargetFigure(name, value, unit) if bar is None else TargetFigure(name, value, unit, f"< {bar:g}", value < bar)
    )


def _table(figures: Sequence[TargetFigure]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("figure")
    table.add_column("measured", justify="right")
    for column in ("", "bar", ""):
        table.add_column(column)
    for row in _rows(figures):
        table.add_row(*row)
    return table


def _rows(figures: Sequence[TargetFigure]) -> Iterator[tuple[str, ...]]:
    words = {True: "met", False: "missed", None: ""}
    for figure in figures:
        yield figure.name, f"{figure.value:,.3g}", figure.unit, figure.bar, words[figure.met]


app = command()


@app.command()
def main(
    answers: Annotated[int, typer.Option(min=1, help="Number of answers to verify.")] = 60,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the figures as JSON.")] = None,
    llm: Annotated[bool, typer.Option("--llm/--no-llm", help="Also answer with the local LLM.")] = True,
    config: ConfigFile = None,
) -> None:
    """Measure what verification adds to an answer: time, tokens, money; and nothing when it is off."""
    run_orchestrator(open_console(), settings(config), answers, llm=llm, out=json_out)


if __name__ == "__main__":
    run(app)
