"""`groundwire rag`: index documents, and answer questions from them with verified claims."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from groundwire._loop import run
from groundwire.cli.console import ExitCode, print_line, print_result, warn
from groundwire.cli.options import AsJson, Model, Provider, command, group
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.llm import Generator, open_chat_model
from groundwire.rag.chatbot import Chatbot, ChatReply, ChatRequest, check
from groundwire.rag.index import PassageIndex, open_index
from groundwire.rag.ingest import Ingest
from groundwire.reports.plaintext import counted, format_number
from groundwire.reports.terminal import progress_bar
from groundwire.text.controls import sanitize
from groundwire.verdicts.summary import CheckedClaim

rag = group("rag", "Answer questions from documents, and check which claims they support.")
IndexFile = Annotated[Path | None, typer.Option("--index", help="File of the index; default: as configured.")]


@contextmanager
def _open_index(config: Config, file: Path | None, *, create: bool = False) -> Iterator[PassageIndex]:
    """The index of the command line; the one of the configuration is named."""
    if file is not None:
        own = config.rag.model_dump(exclude_unset=True)
        config = config.changed(rag={**own, "index": "sqlite", "path": str(file)})
    else:
        warn(f"using the index {config.rag.path if config.rag.index == 'sqlite' else config.rag.pinecone_index}")
    index = open_index(config, create=create)
    try:
        yield index
    finally:
        index.close()


@command(parent=rag)
def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="Files and folders, recursively.")],
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents whose files are gone.")] = False,
    index: IndexFile = None,
    *,
    config: Config,
    console: Console,
) -> ExitCode:
    """Add documents to the index. Documents that did not change are skipped."""
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise InputError(f"{missing} does not exist")
    with _open_index(config, index, create=True) as opened, progress_bar(Console(stderr=True)) as progress:
        bar = progress.add_task("documents", total=None)

        def on_file(number: int, of: int) -> None:
            progress.update(bar, completed=number, total=of)

        done = Ingest(opened, config).files(paths, prune=prune, progress=on_file)
        _warn_without_embeddings(opened)
    for reason in done.failed:
        print(f"left out: {sanitize(reason)}", file=sys.stderr)
    counts = {"added": done.added, "changed": done.changed, "unchanged": done.unchanged, "removed": done.removed}
    parts = [f"{len(names)} {what}" for what, names in (counts | {"left out": done.failed}).items() if names]
    print_line(console, f"{', '.join(parts) or 'no documents'}; {counted(done.passages, 'new passage')}")
    return ExitCode.FLAGGED if done.failed else ExitCode.OK


def _warn_without_embeddings(index: PassageIndex) -> None:
    if not index.embedder:
        warn("passages are ranked by keywords only: pip install 'groundwire[rag]' adds embeddings")


@command("backend", parent=rag)
def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    top_k: Annotated[int | None, typer.Option(min=1, max=50, help="Number of passages to retrieve.")] = None,
    provider: Provider = None,
    model: Model = None,
    as_json: AsJson = False,
    index: IndexFile = None,
    *,
    config: Config,
    console: Console,
) -> ExitCode:
    """Answer from the documents. Exit code 1 if they do not support some claim of the answer."""
    # On a terminal the tokens are shown as they arrive, before the verdict.
    live = console.is_terminal and not as_json

    def show_token(text: str) -> None:
        console.print(Text(sanitize(text)), end="", soft_wrap=True)

    async def answer(opened: PassageIndex, writer: Generator) -> ChatReply:
        try:
            async with Groundwire(config) as engine:
                _warn_without_embeddings(opened)
                bot, asked = Chatbot(opened, writer, config.rag), ChatRequest(question, top_k=top_k)
                draft = await bot.write(asked, await bot.find(asked), show_token if live else None)
                if live:
                    console.print()
                return await check(draft, engine)
        finally:
            await writer.aclose()

    with _open_index(config, index) as opened:
        reply = run(answer(opened, open_chat_model(config, provider, model)))
    print_result(as_json, reply, lambda: _show(reply, console))
    return _exit_code(reply)


def _show(reply: ChatReply, console: Console) -> None:
    if not console.is_terminal:
        print_line(console, reply["response"])
    console.print()
    for source in reply["sources"]:
        place = " › ".join(filter(None, (source["title"], source["part"], source["heading"])))
        where = f"{_relative(source['document'])}:{source['start']}-{source['end']}"
        print_line(console, f"[{source['id']}] {place}  {where}", "dim")
    for claim in (reply["hallucination_check"] or {"claims": []})["claims"]:
        print_line(console, *_claim_line(claim))
    if reply["warning"]:
        print_line(console, reply["warning"], "yellow")


def _relative(name: str) -> str:
    """The path relative to the working folder if it is inside it."""
    path = Path(name)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else name


def _claim_line(claim: CheckedClaim) -> tuple[str, str]:
    mark, style = ("✓", "green") if claim["grounded"] else ("✗", "red")
    cites = f" [{', '.join(claim['citing'])}]" if claim["citing"] else ""
    figures = "" if claim["p1"] is None else f"  {format_number(claim['p0'], 2)} → {format_number(claim['p1'], 2)}"
    warning = f"  {claim['warning']}" if claim["warning"] else ""
    return f"{mark} {claim['text']}{cites}{figures}{warning}", style


def _exit_code(reply: ChatReply) -> ExitCode:
    """1 if a claim is not grounded, 3 if one could not be checked or the answer asserts nothing."""
    found = reply["hallucination_check"]
    if found is None or any(claim["p1"] is None for claim in found["claims"]):
        return ExitCode.COULD_NOT_CHECK
    if not found["claims"] and found["overall_grounded"] and reply["sources"]:
        return ExitCode.COULD_NOT_CHECK
    grounded = found["overall_grounded"] and found["grounded_claims"] == found["total_claims"]
    return ExitCode.of(not grounded)


@command(parent=rag)
def list_(as_json: AsJson = False, index: IndexFile = None, *, config: Config, console: Console) -> None:
    """List the documents of the index."""
    with _open_index(config, index) as opened:
        found = opened.documents()

    def show() -> None:
        for document in found:
            counts = f"{counted(document.passages, 'passage')}, {counted(document.characters, 'character')}"
            print_line(console, f"{_relative(document.id)}  {counts}")

    print_result(as_json, [asdict(document) for document in found], show)


@command(parent=rag)
def remove(
    documents: Annotated[list[str], typer.Argument(metavar="DOCUMENT…", help="Their ids or files.")],
    index: IndexFile = None,
    *,
    config: Config,
    console: Console,
) -> None:
    """Remove documents from the index."""
    with _open_index(config, index) as opened:
        known = {document.id for document in opened.documents()}
        wanted = [name if name in known else str(Path(name).resolve()) for name in documents]
        missing = next((name for name, full in zip(documents, wanted, strict=True) if full not in known), None)
        if missing is not None:
            raise InputError(f"there is no document {missing}", hint="groundwire rag list shows all")
        removed = opened.delete(wanted)
    print_line(console, f"{removed} removed")
