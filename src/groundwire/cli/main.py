"""The command line. A command reads its arguments, calls the library and prints."""

from __future__ import annotations

import sys
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from groundwire.cli.commands import (
    bench,
    facts,
    feedback,
    guard,
    kb,
    mcp,
    metta,
    rag,
    reasoning,
    serve,
    talk,
    trajectory,
)
from groundwire.cli.options import SOURCE_HELP, Backend, ConfigFile, ProfileOption, Store, Target, settings
from groundwire.cli.streams import open_console
from groundwire.errors import GroundwireError, InputError
from groundwire.version import __version__

app = typer.Typer(
    name="groundwire",
    help="How many bits of evidence stand behind each claim an LLM makes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for _name, _module in (("bench", bench), ("kb", kb), ("facts", facts), ("rag", rag)):
    app.add_typer(_module.app, name=_name)
app.add_typer(serve.keys, name="keys")
for _module in (reasoning, trajectory, talk, guard, feedback, metta, mcp, serve):
    app.add_typer(_module.app)


@app.callback(invoke_without_command=True)
def whole(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """How many bits of evidence stand behind each claim an LLM makes."""
    if version:
        print(f"groundwire {__version__}")
        raise typer.Exit


@app.command()
def check(
    answer: Annotated[str, typer.Argument(help="A file, '-' for stdin, or the text itself.")],
    source: Annotated[list[str], typer.Option("-s", "--source", help=SOURCE_HELP)] = [],  # noqa: B006
    question: Annotated[str, typer.Option("-q", "--question", help="What the answer answers.")] = "",
    kb: Annotated[str | None, typer.Option(help="A knowledge base: a SQLite file or postgresql://…")] = None,
    history: Annotated[str | None, typer.Option(help="The chat before: JSON or a transcript.")] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Print the repaired answer and what changed.")] = False,
    session: Annotated[str | None, typer.Option(help="Keep what was found under this name.")] = None,
    backend: Backend = None,
    target: Target = None,
    profile: ProfileOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write the report as one HTML page.")] = None,
    config: ConfigFile = None,
) -> None:
    """Judge every claim of ANSWER by its sources. Exit code 1 if any is flagged."""
    from groundwire.cli.check import Request, run_check

    request = Request(answer, tuple(source), question, as_json, html, kb, history, fix, session)
    raise typer.Exit(run_check(request, settings(config, backend, target, profile), open_console()))


@app.command()
def batch(
    rows: Annotated[
        Path, typer.Argument(metavar="IN.jsonl", help="One response with its sources a line; '-' is stdin.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="One report a line; '-' is stdout.")],
    engine: Annotated[str, typer.Option(help="local, or ray for many machines.")] = "local",
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an earlier run stopped.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes to spread the rows over.")] = 1,
    max_rate: Annotated[
        float | None, typer.Option(help="Fail only if a larger share than this is flagged, 0 to 1.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit XML file, a test case a row.")] = None,
    summary: Annotated[Path | None, typer.Option(help="Write a summary in Markdown.")] = None,
    backend: Backend = None,
    target: Target = None,
    profile: ProfileOption = None,
    config: ConfigFile = None,
) -> None:
    """Judge many responses. A row that cannot be checked says so and the rest go on."""
    from groundwire.cli.batch import Job, run_batch
    from groundwire.cli.gate import Gate

    job = Job(rows, out, engine, resume, workers, Gate(max_rate, junit, summary))
    raise typer.Exit(run_batch(job, settings(config, backend, target, profile), Console(stderr=True)))


@app.command()
def calibrate(
    rows: Annotated[
        Path | None, typer.Argument(metavar="[LABELLED.jsonl]", help="Batch rows with a label: 1 or 0.")
    ] = None,
    from_feedback: Annotated[
        bool, typer.Option("--from-feedback", help="Use what people said of verdicts instead.")
    ] = False,
    max_fpr: Annotated[float, typer.Option(help="Share of supported responses that may be flagged.")] = 0.05,
    confidence: Annotated[
        float | None, typer.Option(help="Promise it for these very rows, with this confidence.")
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Set the key in this YAML file.")] = None,
    backend: Backend = None,
    target: Target = None,
    profile: ProfileOption = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Set the operating point from labelled rows, so that false alarms stay below a rate."""
    from groundwire.cli.calibrate import Promise, run_calibrate

    promise, found = Promise(max_fpr, confidence), settings(config, backend, target, profile, store)
    if (rows is None) != from_feedback:
        raise InputError("give labelled rows, or --from-feedback, and not both")
    if rows is not None:
        raise typer.Exit(run_calibrate(rows, promise, out, found))
    from groundwire.cli.calibrate_feedback import run_calibrate_feedback

    raise typer.Exit(run_calibrate_feedback(promise, out, found))


@app.command()
def doctor(backend: Backend = None, config: ConfigFile = None) -> None:
    """Say what is configured, reachable and installed."""
    from groundwire.cli.doctor import run_doctor

    raise typer.Exit(run_doctor(settings(config, backend), open_console()))


def main() -> NoReturn:
    """Errors a user can fix are one line; everything else is a bug and shows where."""
    if sys.stdout is None:  # closed by the shell: nobody wants to read it
        sys.stdout = StringIO()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # What a terminal's encoding lacks is escaped, which JSON reads as the same character.
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except GroundwireError as error:
        print(f"groundwire: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("groundwire: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    sys.exit(0)


if __name__ == "__main__":
    main()
