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
PEERS_ENV = Path("~/.cache/groundwire/peers")


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
def service(
    seconds: Annotated[float, typer.Option(min=0.5, help="How long each turn takes.")] = 10.0,
    turns: Annotated[int, typer.Option(min=1, help="Turns for the engine and the server each.")] = 3,
    at_once: Annotated[int, typer.Option(min=1, help="Requests at the same time.")] = 16,
    minutes: Annotated[float, typer.Option(min=0, help="Watch the memory for so long.")] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """The HTTP service under load: throughput beside the engine's own, latency, overload, memory."""
    from groundwire.bench.service import Terms, run_service

    terms = Terms(seconds, turns, at_once, minutes)
    raise typer.Exit(run_service(open_console(), terms, as_json=as_json))


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
def kb(
    store: Annotated[str, typer.Option("--store", "--kb", help="Build and keep it here; else it goes.")] = "",
    entities: Annotated[int, typer.Option(min=100, help="How many entities it holds.")] = 100_000,
    facts: Annotated[int, typer.Option(min=100, help="How many facts it holds.")] = 1_000_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each question is asked.")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """How fast a large knowledge base answers: names, misspelt names, facts."""
    from groundwire.bench.kb import Size, run_kb

    raise typer.Exit(run_kb(store, Size(entities, facts), rounds, open_console(), as_json=as_json))


@app.command()
def orchestrator(
    answers: Annotated[int, typer.Option(min=1, help="How many answers to verify.")] = 60,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the figures as JSON.")] = None,
    llm: Annotated[bool, typer.Option("--llm/--no-llm", help="Answer with the local LLM, too.")] = True,
    config: ConfigFile = None,
) -> None:
    """What verifying adds to an answer: seconds, tokens, money; and that switched off it adds nothing."""
    from groundwire.bench.orchestrator import run_orchestrator

    raise typer.Exit(run_orchestrator(open_console(), settings(config), answers, llm=llm, out=json_out))


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
    plots: Annotated[Path | None, typer.Option(help="Write the plots into this folder, as SVG.")] = None,
    peers: Annotated[bool, typer.Option("--peers/--no-peers", help="Measure other detectors too.")] = True,
    peers_env: Annotated[Path, typer.Option(help="Where the peers are installed.")] = PEERS_ENV,
    oof: Annotated[Path | None, typer.Option(help="Held-out predictions for rows trained on.")] = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """AUROC, F1 as shipped, calibration and spans on labelled data, beside trivial ways and peers."""
    from groundwire.bench.quality import Request, run_quality

    chosen, others = tuple(filter(None, sets.split(","))), peers_env.expanduser() if peers else None
    request = Request(data, chosen, limit, json_out, plots, others, oof)
    raise typer.Exit(run_quality(request, settings(config, backend), open_console()))


@app.command()
def streams(
    items: Annotated[int, typer.Option(min=3, help="How many streams to make.")] = 300,
    seed: Annotated[int, typer.Option(help="The same seed makes the same streams.")] = 0,
    data: DataFolder = Path("../shared/data"),
    limit: Annotated[int | None, typer.Option(min=1, help="About so many rows of RAGTruth.")] = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the figures as JSON.")] = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """How soon a stream that contradicts its sources is stopped, and how often one is for nothing."""
    from groundwire.bench.streams import Request, run_streams

    request = Request(items, seed, data, limit, json_out)
    raise typer.Exit(run_streams(open_console(), settings(config, backend), request))


@app.command()
def proxy(
    rounds: Annotated[int, typer.Option(min=1, help="How often one stream is timed.")] = 15,
    streams: Annotated[int, typer.Option(min=1, help="How many go through at once.")] = 200,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """What the proxy adds to a stream, beside the upstream direct, and whether many keep every byte."""
    from groundwire.bench.proxy import run_proxy

    raise typer.Exit(run_proxy(open_console(), rounds, streams, as_json=as_json))


@app.command()
def monitor(
    tokens: Annotated[int, typer.Option(min=1000, help="How long the stream is.")] = 1_000_000,
    data: Annotated[
        Path | None, typer.Option(envvar="GROUNDWIRE_DATA", help="Folder with labelled sets, to be right on.")
    ] = None,
    answers: Annotated[int, typer.Option(min=1, help="About so many of them are checked as streams.")] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """The monitor: tokens a second, memory over a long stream, knowledge of requests, warnings by label."""
    from groundwire.bench.monitor import Request, run_monitor

    raise typer.Exit(run_monitor(open_console(), Request(tokens, data, answers), as_json=as_json))
