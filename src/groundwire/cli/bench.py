"""`groundwire bench`: measure quality and speed on this machine and on your data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from groundwire.cli.options import JsonOut, command, group
from groundwire.config import Config

bench = group("bench", "Measure groundwire on this machine.")


@command(parent=bench)
def speed(
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    llm: Annotated[bool, typer.Option("--llm/--no-llm", help="Also measure the LLM path.")] = True,
    data: Annotated[
        Path | None, typer.Option(envvar="GROUNDWIRE_DATA", help="Also time whole RAGTruth answers from this folder.")
    ] = None,
    *,
    console: Console,
) -> int:
    """Measure import time, cold start, throughput, latency, memory, cache, and calls of the LLM path."""
    from groundwire.bench.speed import run_speed

    return run_speed(console, as_json=as_json, llm=llm, data=data)


@command("backend", parent=bench)
def cards(
    file: Annotated[Path, typer.Argument(help="Contrast cards, one JSON object per line.")],
    twins: Annotated[Path | None, typer.Option(help="Edits of the cards' documents that change a label.")] = None,
    padding: Annotated[int, typer.Option(min=0, help="Number of cards to pad with unrelated documents.")] = 20,
    json_out: JsonOut = None,
    *,
    config: Config,
    console: Console,
) -> int:
    """Measure on contrast cards: claims, the same claims over edited documents, answers, unrelated text."""
    from groundwire.bench.cards import run_cards

    return run_cards(console, config, file, twins, padding, json_out)


@command(parent=bench)
def cascade(
    file: Annotated[Path, typer.Argument(help="Contrast cards, one JSON object per line.")],
    twins: Annotated[Path | None, typer.Option(help="Edits of the cards' documents that change a label.")] = None,
    right: Annotated[float, typer.Option(min=0.5, max=1.0, help="Share of claims that must be judged right.")] = 0.9,
    json_out: JsonOut = None,
    *,
    config: Config,
    console: Console,
) -> int:
    """Derive cascade.low and cascade.high: beyond them the embedded verifier is right about so many claims."""
    from groundwire.bench.cards import run_cascade

    return run_cascade(console, config, file, twins, right, json_out)


@command("backend", parent=bench)
def quality(
    data: Annotated[Path, typer.Option(envvar="GROUNDWIRE_DATA", help="Folder with dev.*.jsonl.gz files.")] = Path(
        "../shared/data"
    ),
    sets: Annotated[str, typer.Option(help="Only these sets, as in ragtruth,qags.")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="Approximate number of rows per set.")] = None,
    json_out: JsonOut = None,
    oof: Annotated[Path | None, typer.Option(help="Held-out predictions for rows trained on.")] = None,
    *,
    config: Config,
    console: Console,
) -> int:
    """Measure AUROC, F1 as shipped, calibration and spans on labelled data, next to trivial baselines."""
    from groundwire.bench.quality import run_quality

    chosen = tuple(filter(None, sets.split(",")))
    return run_quality(data, chosen, limit, json_out, oof, config=config, console=console)


@command(parent=bench)
def rules(
    data: Annotated[Path, typer.Option(envvar="GROUNDWIRE_DATA", help="Folder with dev.*.jsonl.gz files.")] = Path(
        "../shared/data"
    ),
    sets: Annotated[str, typer.Option(help="Only these sets, as in logicnli,infotabs.")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="Approximate number of rows per set.")] = None,
    json_out: JsonOut = None,
    *,
    console: Console,
) -> int:
    """Measure each rule of the verifier: how often it speaks, how often it is right, what it changes."""
    from groundwire.bench.rules import run_rules

    return run_rules(console, data, tuple(filter(None, sets.split(","))), limit, json_out)
