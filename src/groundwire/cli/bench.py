"""`groundwire bench`: measure quality and speed on this machine and on your data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from groundwire.cli.console import open_console
from groundwire.cli.options import Backend, ConfigFile, JsonOut, group_app, settings

app = group_app("Measure groundwire on this machine.")
DataFolder = Annotated[Path, typer.Option(envvar="GROUNDWIRE_DATA", help="Folder with dev.*.jsonl.gz files.")]


@app.command()
def speed(
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    llm: Annotated[bool, typer.Option("--llm/--no-llm", help="Also measure the LLM path.")] = True,
    data: Annotated[
        Path | None,
        typer.Option(envvar="GROUNDWIRE_DATA", help="Also time whole RAGTruth answers from this folder."),
    ] = None,
) -> None:
    """Measure import time, cold start, throughput, latency, memory, cache, and calls of the LLM path."""
    from groundwire.bench.speed import run_speed

    raise typer.Exit(run_speed(open_console(), as_json=as_json, llm=llm, data=data))


@app.command()
def procedural(
    items: Annotated[int, typer.Option(min=14, help="Number of responses to generate.")] = 1050,
    seed: Annotated[int, typer.Option(help="The same seed makes the same responses.")] = 0,
    json_out: JsonOut = None,
    write: Annotated[Path | None, typer.Option(help="Write the responses and sources as JSON lines.")] = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Measure recall and false alarms on generated responses that miscount, misquote, mix up or invent."""
    from groundwire.bench.procedural import run_procedural

    raise typer.Exit(run_procedural(Console(), settings(config, backend), items, seed, json_out, write))


@app.command()
def cards(
    file: Annotated[Path, typer.Argument(help="Contrast cards, one JSON object per line.")],
    twins: Annotated[
        Path | None, typer.Option(help="Edits of the cards' documents that change a label.")
    ] = None,
    padding: Annotated[
        int, typer.Option(min=0, help="Number of cards to pad with unrelated documents.")
    ] = 20,
    json_out: JsonOut = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Measure on contrast cards: claims, the same claims over edited documents, answers, unrelated text."""
    from groundwire.bench.cards import run_cards

    raise typer.Exit(run_cards(open_console(), settings(config, backend), file, twins, padding, json_out))


@app.command()
def detectors(
    json_out: JsonOut = None,
    kb: Annotated[
        Path | None, typer.Option(help="Also time ten sentences on this store; it is modified.")
    ] = None,
    failures: Annotated[
        bool, typer.Option("--failures", help="Print the failures on the open half.")
    ] = False,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Measure precision and recall of the eight detectors on labelled sentences."""
    from groundwire.bench.detectors import run_detectors

    chosen = settings(config, backend)
    raise typer.Exit(run_detectors(open_console(), chosen, json_out, kb, failures=failures))


@app.command()
def quality(
    data: DataFolder = Path("../shared/data"),
    sets: Annotated[str, typer.Option(help="Only these sets, as in ragtruth,qags.")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="Approximate number of rows per set.")] = None,
    json_out: JsonOut = None,
    oof: Annotated[Path | None, typer.Option(help="Held-out predictions for rows trained on.")] = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Measure AUROC, F1 as shipped, calibration and spans on labelled data, next to trivial baselines."""
    from groundwire.bench.quality import Request, run_quality

    request = Request(data, tuple(filter(None, sets.split(","))), limit, json_out, oof)
    raise typer.Exit(run_quality(request, settings(config, backend), open_console()))
