"""`groundwire rag`: index documents, and answer questions from them with verified claims."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from groundwire._loop import run
from groundwire.cli.console import ExitCode, open_console, print_json, safe_stdout, warn
from groundwire.cli.options import AsJson, Backend, ConfigFile, Model, Provider, group_app, settings
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.llm import open_chat_model
from groundwire.rag.chatbot import Chatbot, ChatReply, ChatRequest, check
from groundwire.rag.index import PassageIndex, open_index
from groundwire.rag.ingest import Ingest, IngestResult
from groundwire.reports.plaintext import format_number
from groundwire.reports.terminal import progress_bar
from groundwire.text.controls import sanitize
from groundwire.verdicts.rag import CheckedClaim

app = group_app("Answer questions from documents, and check which claims they support.")
IndexFile = Annotated[Path | None, typer.Option("--index", help="File of the index; default: as configured.")]
_KEYWORDS_ONLY = "passages are ranked by keywords only: pip install 'groundwire[rag]' adds embeddings"


@app.command()
def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="Files and folders, recursively.")],
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents whose files are gone.")] = False,
    index: IndexFile = None,
    config: ConfigFile = None,
) -> None:
    """Add documents to the index. Documents that did not change are skipped."""
    raise typer.Exit(run_ingest(paths, _settings(config, index), open_console(), prune=prune))


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    top_k: Annotated[int | None, typer.Option(min=1, max=50, help="Number of passages to retrieve.")] = None,
    provider: Provider = None,
    model: Model = None,
    backend: Backend = None,
    as_json: AsJson = False,
    index: IndexFile = None,
    config: ConfigFile = None,
) -> None:
    """Answer from the documents. Exit code 1 if they do not support some claim of the answer."""
    args = AskArgs(question, top_k, provider, model, as_json)
    raise typer.Exit(run_ask(args, _settings(config, index, backend), open_console()))


@app.command("list")
def list_(as_json: AsJson = False, index: IndexFile = None, config: ConfigFile = None) -> None:
    """List the documents of the index."""
    raise typer.Exit(run_list(_settings(config, index), open_console(), as_json=as_json))


@app.command()
def remove(
    documents: Annotated[list[str], typer.Argument(metavar="DOCUMENT…", help="Their ids or files.")],
    index: IndexFile = None,
    config: ConfigFile = None,
) -> None:
    """Remove documents from the index."""
    raise typer.Exit(run_remove(documents, _settings(config, index), open_console()))


def _settings(config: Path | None, index: Path | None, backend: str | None = None) -> Config:
    """The configuration with the index of the command line; the one of the configuration is named."""
    if index is not None:
        return settings(config, backend, overrides={"rag.index": "sqlite", "rag.path": str(index)})
    found = settings(config, backend)
    at = found.rag
    warn(f"using the index {at.path if at.index == 'sqlite' else at.pinecone_index}")
    return found


def run_ingest(paths: Sequence[Path], config: Config, console: Console, *, prune: bool) -> ExitCode:
    """Exit code 1 if some files could not be read."""
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} does not exist")
    index = open_index(config)
    try:
        done = _ingest(paths, index, config, prune)
        _warn_without_embeddings(index)
    finally:
        index.close()
    for reason in done.failed:
        print(f"left out: {sanitize(reason)}", file=sys.stderr)
    console.print(_summary(done), markup=False, highlight=False, soft_wrap=True)
    return ExitCode.FLAGGED if done.failed else ExitCode.OK


def _ingest(paths: Sequence[Path], index: PassageIndex, config: Config, prune: bool) -> IngestResult:
    with progress_bar(Console(stderr=True)) as progress:
        bar = progress.add_task("documents", total=None)

        def on_file(number: int, of: int) -> None:
            progress.update(bar, completed=number, total=of)

        return Ingest(index, config).files(paths, prune=prune, progress=on_file)


def _summary(done: IngestResult) -> str:
    parts = [
        f"{len(names)} {what}"
        for names, what in (
            (done.added, "added"), (done.changed, "changed"), (done.unchanged, "unchanged"),
            (done.removed, "removed"), (done.failed, "left out"),
        )
        if names
    ]  # fmt: skip
    return f"{', '.join(parts) or 'no documents'}; {_counted(done.passages, 'new passage')}"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _warn_without_embeddings(index: PassageIndex) -> None:
    if not index.embedder:
        warn(_KEYWORDS_ONLY)


@dataclass(frozen=True, slots=True)
class AskArgs:
    text: str
    top_k: int | None = None
    provider: str | None = None
    model: str | None = None
    as_json: bool = False


def run_ask(args: AskArgs, config: Config, console: Console) -> ExitCode:
    """Exit code 1 if a claim is not grounded, 3 if one could not be checked."""
    index = open_index(config, create=False)
    model = engine = None
    try:
        model = open_chat_model(config, args.provider, args.model)
        engine = Groundwire(config)
        _warn_without_embeddings(index)
        asked = ChatRequest(args.text, top_k=args.top_k)
        reply = run(_answer(Chatbot(index, model, config.rag), asked, engine, args, console))
    finally:
        index.close()
        if model is not None:
            run(model.aclose())
        if engine is not None:
            run(engine.aclose())
    with safe_stdout():
        _show(reply, args, console)
    return _exit_code(reply)


async def _answer(bot: Chatbot, asked: ChatRequest, engine: Groundwire, args: AskArgs, console: Console) -> ChatReply:
    """Answer and check. On a terminal the tokens are shown as they arrive, before the verdict."""
    live = console.is_terminal and not args.as_json

    def show_token(text: str) -> None:
        console.print(Text(sanitize(text)), end="", soft_wrap=True)

    draft = await bot.write(asked, await bot.find(asked), show_token if live else None)
    if live:
        console.print()
    return await check(draft, engine)


def _show(reply: ChatReply, args: AskArgs, console: Console) -> None:
    if args.as_json:
        print_json(reply)
        return
    if not console.is_terminal:
        console.print(Text(sanitize(reply["response"])), soft_wrap=True)
    console.print()
    for source in reply["sources"]:
        place = " › ".join(filter(None, (source["title"], source["part"], source["heading"])))
        where = f"{_relative(source['document'])}:{source['start']}-{source['end']}"
        console.print(Text(f"[{source['id']}] {sanitize(place)}  {sanitize(where)}", style="dim"), soft_wrap=True)
    for claim in (reply["hallucination_check"] or {"claims": []})["claims"]:
        console.print(_claim_line(claim), soft_wrap=True)
    if reply["warning"]:
        console.print(Text(reply["warning"], style="yellow"), soft_wrap=True)


def _relative(name: str) -> str:
    """The path relative to the working folder if it is inside it."""
    path = Path(name)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else name


def _claim_line(claim: CheckedClaim) -> Text:
    mark, style = ("✓", "green") if claim["grounded"] else ("✗", "red")
    cites = f" [{', '.join(claim['citing'])}]" if claim["citing"] else ""
    figures = "" if claim["p1"] is None else f"  {format_number(claim['p0'], 2)} → {format_number(claim['p1'], 2)}"
    warning = f"  {claim['warning']}" if claim["warning"] else ""
    return Text(f"{mark} {sanitize(claim['text'])}{cites}{figures}{warning}", style=style)


def _exit_code(reply: ChatReply) -> ExitCode:
    found = reply["hallucination_check"]
    if found is None or any(claim["p1"] is None for claim in found["claims"]):
        return ExitCode.COULD_NOT_CHECK
    if not found["claims"] and found["overall_grounded"] and reply["sources"]:
        return ExitCode.COULD_NOT_CHECK  # the model's answer asserts nothing
    grounded = found["overall_grounded"] and found["grounded_claims"] == found["total_claims"]
    return ExitCode.of(not grounded)


def run_list(config: Config, console: Console, *, as_json: bool) -> ExitCode:
    index = open_index(config, create=False)
    try:
        found = index.documents()
    finally:
        index.close()
    with safe_stdout():
        if as_json:
            print_json([asdict(document) for document in found])
            return ExitCode.OK
        for document in found:
            counts = f"{_counted(document.passages, 'passage')}, {_counted(document.characters, 'character')}"
            line = f"{_relative(document.id)}  {counts}"
            console.print(sanitize(line), markup=False, highlight=False, soft_wrap=True)
    return ExitCode.OK


def run_remove(names: Sequence[str], config: Config, console: Console) -> ExitCode:
    """Remove documents by id or by path."""
    index = open_index(config, create=False)
    try:
        known = {document.id for document in index.documents()}
        wanted = [name if name in known else str(Path(name).resolve()) for name in names]
        missing = [name for name, full in zip(names, wanted, strict=True) if full not in known]
        if missing:
            raise InputError(f"there is no document {missing[0]}", hint="groundwire rag list shows all")
        removed = index.delete(wanted)
    finally:
        index.close()
    console.print(f"{removed} removed", markup=False, highlight=False)
    return ExitCode.OK
