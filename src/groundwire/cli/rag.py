"""`groundwire rag`: documents into the index, questions to them, and what is there."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from groundwire._loop import run
from groundwire.cli.models import open_writer
from groundwire.cli.streams import delivered
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.rag.chatbot import Asked, Chatbot, Reply, check
from groundwire.rag.index import PassageIndex, open_index
from groundwire.rag.ingest import Ingest, Ingested
from groundwire.reports.plaintext import sanitize
from groundwire.reports.terminal import progress_bar
from groundwire.verdicts.rag import CheckedClaim

FINE, FLAGGED, FAILED = 0, 1, 3
_WORDS_ALONE = "passages are found by their words alone: pip install 'groundwire[rag]' adds their meaning"


def run_ingest(paths: Sequence[Path], config: Config, console: Console, *, prune: bool) -> int:
    """0 where every file went in, 1 where some could not be read."""
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} does not exist")
    index = open_index(config)
    try:
        done = _ingested(paths, index, config, prune)
        _note_search(index)
    finally:
        index.close()
    for words in done.failed:
        print(f"left out: {sanitize(words)}", file=sys.stderr)
    console.print(_summary(done), markup=False, highlight=False, soft_wrap=True)
    return FLAGGED if done.failed else FINE


def _ingested(paths: Sequence[Path], index: PassageIndex, config: Config, prune: bool) -> Ingested:
    with progress_bar(Console(stderr=True)) as progress:
        bar = progress.add_task("documents", total=None)

        def seen(number: int, of: int) -> None:
            progress.update(bar, completed=number, total=of)

        return Ingest(index, config).files(paths, prune=prune, seen=seen)


def _summary(done: Ingested) -> str:
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


def _note_search(index: PassageIndex) -> None:
    if not index.embedder:
        print(f"groundwire: {_WORDS_ALONE}", file=sys.stderr)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, of which model, and how the answer is shown."""

    text: str
    top_k: int | None = None
    provider: str | None = None
    model: str | None = None
    as_json: bool = False


def run_ask(question: Question, config: Config, console: Console) -> int:
    """0 where all claims are grounded, 1 where one is not, 3 where one could not be checked."""
    index = open_index(config, create=False)
    writer = engine = None
    try:
        writer = open_writer(config, question.provider, question.model)
        engine = Groundwire(config)
        _note_search(index)
        asked = Asked(question.text, top_k=question.top_k)
        reply = run(_answered(Chatbot(index, writer, config.rag), asked, engine, question, console))
    finally:
        index.close()
        if writer is not None:
            run(writer.aclose())
        if engine is not None:
            run(engine.aclose())
    with delivered():
        _show(reply, question, console)
    return _code(reply)


async def _answered(
    bot: Chatbot, asked: Asked, engine: Groundwire, question: Question, console: Console
) -> Reply:
    """On a terminal the words appear as they come, and the verdict after them."""
    live = console.is_terminal and not question.as_json

    def shown(text: str) -> None:
        console.print(Text(sanitize(text)), end="", soft_wrap=True)

    draft = await bot.write(asked, await bot.find(asked), shown if live else None)
    if live:
        console.print()
    return await check(draft, engine)


def _show(reply: Reply, question: Question, console: Console) -> None:
    if question.as_json:
        print(json.dumps(reply, ensure_ascii=False, indent=2))
        return
    if not console.is_terminal:
        console.print(Text(sanitize(reply["response"])), soft_wrap=True)
    console.print()
    for source in reply["sources"]:
        place = " › ".join(filter(None, (source["title"], source["part"], source["heading"])))
        where = f"{_near(source['document'])}:{source['start']}-{source['end']}"
        console.print(
            Text(f"[{source['id']}] {sanitize(place)}  {sanitize(where)}", style="dim"), soft_wrap=True
        )
    for claim in (reply["hallucination_check"] or {"claims": []})["claims"]:
        console.print(_line(claim), soft_wrap=True)
    if reply["warning"]:
        console.print(Text(reply["warning"], style="yellow"), soft_wrap=True)


def _near(name: str) -> str:
    """A file below this folder by its name from here; anything else as it is called."""
    path = Path(name)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else name


def _line(claim: CheckedClaim) -> Text:
    mark, style = ("✓", "green") if claim["grounded"] else ("✗", "red")
    cites = f" [{', '.join(claim['citing'])}]" if claim["citing"] else ""
    figures = "" if claim["p1"] is None else f"  {_shown(claim['p0'])} → {_shown(claim['p1'])}"
    why = f"  {claim['warning']}" if claim["warning"] else ""
    return Text(f"{mark} {sanitize(claim['text'])}{cites}{figures}{why}", style=style)


def _shown(probability: float | None) -> str:
    return "–" if probability is None else f"{probability:.2f}"


def _code(reply: Reply) -> int:
    found = reply["hallucination_check"]
    if found is None or any(claim["p1"] is None for claim in found["claims"]):
        return FAILED
    return (
        FINE if found["overall_grounded"] and found["grounded_claims"] == found["total_claims"] else FLAGGED
    )


def run_list(config: Config, console: Console, *, as_json: bool) -> int:
    index = open_index(config, create=False)
    try:
        found = index.documents()
    finally:
        index.close()
    with delivered():
        if as_json:
            print(json.dumps([asdict(document) for document in found], ensure_ascii=False, indent=2))
            return FINE
        for document in found:
            counts = f"{_counted(document.passages, 'passage')}, {_counted(document.characters, 'character')}"
            words = f"{_near(document.id)}  {counts}"
            console.print(sanitize(words), markup=False, highlight=False, soft_wrap=True)
    return FINE


def run_remove(names: Sequence[str], config: Config, console: Console) -> int:
    """By id, or by the file's name from here."""
    index = open_index(config, create=False)
    try:
        known = {document.id for document in index.documents()}
        wanted = [name if name in known else str(Path(name).resolve()) for name in names]
        missing = [name for name, full in zip(names, wanted, strict=True) if full not in known]
        if missing:
            raise InputError(f"there is no document {missing[0]}", hint="groundwire rag list shows them")
        removed = index.delete(wanted)
    finally:
        index.close()
    console.print(f"{removed} removed", markup=False, highlight=False)
    return FINE
