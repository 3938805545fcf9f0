"""`groundwire bench …`: the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from groundwire.cli.options import Backend, ConfigFile, group, settings
from groundwire.cli.streams import open_console

app = group("Measure groundwire on this machine.")
DataFolder = Annotated[Path, typer.Option(envvar="GROUNDWIRE_DATA", help="Folder with dev.*.jsonl.gz files.")]


@app.command()
def speed(
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    llm: Annotated[bool, typer.Option("--llm/--no-llm", help="Measure the LLM path too.")] = True,
    data: Annotated[
        Path | None,
        typer.Option(envvar="GROUNDWIRE_DATA", help="Time whole RAGTruth answers from this folder."),
    ] = None,
) -> None:
    """Cold start, import time, claims a second, latency, memory, cache, and the LLM path's calls."""
    from groundwire.bench.speed import run_speed

    raise typer.Exit(run_speed(open_console(), as_json=as_json, llm=llm, data=data))


@app.command()
def procedural(
    items: Annotated[int, typer.Option(min=14, help="How many responses to make and judge.")] = 1050,
    seed: Annotated[int, typer.Option(help="The same seed makes the same responses.")] = 0,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the figures as JSON.")] = None,
    write: Annotated[Path | None, typer.Option(help="Write the responses and sources as JSON lines.")] = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Responses made to miscount, misquote, mix up or invent: how many are caught, at what cost."""
    from groundwire.bench.procedural import run_procedural

    raise typer.Exit(run_procedural(Console(), settings(config, backend), items, seed, json_out, write))


@app.command()
def detectors(
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the figures as JSON.")] = None,
    kb: Annotated[
        Path | None, typer.Option(help="Time ten sentences on this store (it is added to).")
    ] = None,
    failures: Annotated[
        bool, typer.Option("--failures", help="Print what went wrong on the open half.")
    ] = False,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Precision and recall of the eight detectors on labelled sentences, by kind and by half."""
    from groundwire.bench.detectors import run_detectors

    chosen = settings(config, backend)
    raise typer.Exit(run_detectors(open_console(), chosen, json_out, kb, failures=failures))


@app.command()
def quality(
    data: DataFolder = Path("../shared/data"),
    sets: Annotated[str, typer.Option(help="Only these, as in ragtruth,qags.")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="About so many rows of each set.")] = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the figures as JSON.")] = None,
    oof: Annotated[Path | None, typer.Option(help="Held-out predictions for rows trained on.")] = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """AUROC, F1 as shipped, calibration and spans on labelled data, next to trivial baselines."""
    from groundwire.bench.quality import Request, run_quality

    request = Request(data, tuple(filter(None, sets.split(","))), limit, json_out, oof)
    raise typer.Exit(run_quality(request, settings(config, backend), open_console()))
