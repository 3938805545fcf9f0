"""`groundwire kb`: inspect, fill and export a knowledge base."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table
from rich.text import Text

from groundwire.cli.console import ExitCode, open_console, print_json, safe_stdout, stdin_bytes, write_atomic
from groundwire.cli.options import AsJson, ConfigFile, group_app, store_settings
from groundwire.errors import InputError
from groundwire.reports.terminal import progress_bar
from groundwire.stores.database import open_database
from groundwire.stores.formats import READERS, ParsedRow, entity_object, fact_object, format_of, open_text
from groundwire.stores.import_export import (
    ImportResult,
    StrictImportError,
    entities_to_csv,
    facts_to_csv,
    import_rows,
    to_jsonl,
    to_triples,
)
from groundwire.stores.knowledge_base import Knowledge
from groundwire.stores.paths import PathStore
from groundwire.text.controls import sanitize
from groundwire.types import Attribute, Entity, Fact, Match, MatchKind

app = group_app("Inspect, fill and export a knowledge base.")
StoreUrl = Annotated[
    str | None, typer.Option("--store", "--kb", help="A SQLite file or postgresql://… URL; default: as configured.")
]
SHOWN_ERRORS = 20
"""Bad rows printed per file; the rest are counted."""
_MIN_SIMILARITY = 0.6
"""Least similarity (0 to 1) of a name that `kb search` lists. Not tuned on data."""
STREAM = "-"
EXPORTS: dict[str, Callable[[Knowledge], Iterator[str]]] = {
    "jsonl": to_jsonl,
    "triples": to_triples,
    "csv-entities": entities_to_csv,
    "csv-facts": facts_to_csv,
}


@app.command("import")
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="CSV, JSONL or triples; '-' for stdin.")],
    store: StoreUrl = None,
    form: Annotated[str, typer.Option("--format", help="csv, jsonl or triples; default: by file name.")] = "",
    encoding: Annotated[str, typer.Option(help="Encoding of files that are not UTF-8.")] = "utf-8",
    strict: Annotated[bool, typer.Option("--strict", help="Import nothing if any row is bad.")] = False,
    config: ConfigFile = None,
) -> None:
    """Import entities and facts. A bad row is reported with its line; the others are imported."""
    args = ImportArgs(tuple(files), _store_url(store, config), form, encoding, strict)
    raise typer.Exit(run_import(args, open_console()))


@app.command()
def export(
    out: Annotated[Path | None, typer.Option("-o", "--output", help="A file; default: stdout.")] = None,
    form: Annotated[
        str, typer.Option("--format", help="jsonl (everything), triples, csv-entities or csv-facts.")
    ] = "jsonl",
    store: StoreUrl = None,
    config: ConfigFile = None,
) -> None:
    """Export the knowledge base. JSON lines hold all of it and can be imported again."""
    raise typer.Exit(run_export(_store_url(store, config), out, form))


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A name, an alias or an id.")],
    store: StoreUrl = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Show one entity with its attributes and facts."""
    raise typer.Exit(run_show(_store_url(store, config), name, open_console(), as_json=as_json))


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="A name or part of one; it may be misspelt.")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of results.")] = 10,
    store: StoreUrl = None,
    config: ConfigFile = None,
) -> None:
    """Find entities with similar names."""
    raise typer.Exit(run_search(_store_url(store, config), text, limit, open_console()))


@app.command()
def stats(store: StoreUrl = None, as_json: AsJson = False, config: ConfigFile = None) -> None:
    """Count entities, names, attributes and facts."""
    raise typer.Exit(run_stats(_store_url(store, config), open_console(), as_json=as_json))


@app.command()
def paths(
    prefix: Annotated[str, typer.Argument(help="As in /hallucination/SESSION/; a / in a name is %2F.")] = "/",
    store: StoreUrl = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """List the detectors' flags of conversations, by path."""
    raise typer.Exit(run_paths(prefix, _store_url(store, config), open_console(), as_json=as_json))


def _store_url(store: str | None, config: Path | None) -> str:
    return store_settings(config, store).store.url


@dataclass(frozen=True, slots=True)
class ImportArgs:
    files: tuple[Path, ...]
    store: str
    format: str = ""
    encoding: str = "utf-8"
    strict: bool = False


def run_import(args: ImportArgs, console: Console) -> ExitCode:
    """Exit code 1 if some rows could not be imported."""
    for path in args.files:
        format_of(path, args.format)
        if str(path) != STREAM and (not path.exists() or path.is_dir()):
            raise InputError(f"{path} is not a file")
    failed = 0
    with Knowledge.open(args.store) as knowledge:
        for path in args.files:
            done = _import_one(knowledge, path, args)
            failed += done.failed
            console.print(_summary(path, done), markup=False, highlight=False, soft_wrap=True)
    return ExitCode.FLAGGED if failed else ExitCode.OK


def _summary(path: Path, done: ImportResult) -> str:
    entities, facts = _counted(done.entities, "entity", "entities"), _counted(done.facts, "fact", "facts")
    bad = f"; {_counted(done.failed, 'row', 'rows')} could not be used" if done.failed else ""
    return f"{_display_name(path)}: {entities} and {facts}{bad}"


def _import_one(knowledge: Knowledge, path: Path, args: ImportArgs) -> ImportResult:
    errors = Console(stderr=True)
    try:
        with _bytes(path) as file, progress_bar(errors) as progress:
            total = max(1, path.stat().st_size // 1000) if path.is_file() else None
            bar = progress.add_task(f"{path.name} (kB)", total=total)
            with open_text(file, args.encoding) as text:
                rows = _name_errors(READERS[format_of(path, args.format)](text, _source(path)), path)
                done = import_rows(
                    knowledge, rows, strict=args.strict, on_batch=lambda _: _advance(progress, bar, file)
                )
    except StrictImportError as refused:
        _print_bad(path, refused.imported)
        raise InputError(
            f"{_display_name(path)}: {refused.message}", hint="without --strict the rest is imported"
        ) from None
    except UnicodeError:
        raise InputError(f"{_display_name(path)} is not text in its encoding", hint="save it as UTF-8") from None
    _print_bad(path, done)
    return done


def _counted(count: int, one: str, many: str) -> str:
    return f"1 {one}" if count == 1 else f"{count:,} {many}"


def _display_name(path: Path) -> str:
    return "standard input" if str(path) == STREAM else sanitize(str(path))


def _advance(progress: Progress, bar: TaskID, file: BinaryIO) -> None:
    if file.seekable():
        progress.update(bar, completed=file.tell() // 1000)


def _name_errors(rows: Iterator[ParsedRow], path: Path) -> Iterator[ParsedRow]:
    """Add the file's name to errors about the file as a whole."""
    try:
        yield from rows
    except InputError as error:
        raise InputError(f"{_display_name(path)}: {error.message}", hint=error.hint) from None


def _source(path: Path) -> str:
    return "" if str(path) == STREAM else path.name


@contextmanager
def _bytes(path: Path) -> Iterator[BinaryIO]:
    if str(path) == STREAM:
        yield stdin_bytes()
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    with file:
        yield file


def _print_bad(path: Path, done: ImportResult) -> None:
    for row in sorted(done.bad, key=lambda bad: bad.line)[:SHOWN_ERRORS]:
        print(f"{_display_name(path)}, line {row.line}: {sanitize(row.error)}", file=sys.stderr)
    if done.failed > SHOWN_ERRORS:
        print(f"{_display_name(path)}: and {done.failed - SHOWN_ERRORS:,} more", file=sys.stderr)


def run_export(store: str, out: Path | None, form: str) -> ExitCode:
    if form not in EXPORTS:
        raise InputError(f"unknown format '{form}'", hint=f"--format {', '.join(EXPORTS)}")
    with Knowledge.open(store, create=False) as knowledge:
        lines = EXPORTS[form](knowledge)
        if out is None or str(out) == STREAM:
            with safe_stdout():
                for line in lines:
                    sys.stdout.write(line)
        else:
            write_atomic(out, lines, 0o600)
    return ExitCode.OK


def run_show(store: str, name: str, console: Console, *, as_json: bool) -> ExitCode:
    """Print an entity with its attributes and facts. Exit code 1 if there is none of that name."""
    with Knowledge.open(store, create=False) as knowledge:
        match = knowledge.find([name]).get(name)
        entity = match.entity if match else knowledge.entities([name]).get(name)
        if entity is None:
            print(f"there is no entity named '{sanitize(name[:60])}'", file=sys.stderr)
            return ExitCode.FLAGGED
        about = knowledge.facts_about([entity.id])
    with safe_stdout():
        if as_json:
            found = {"entity": entity_object(entity), "facts": [fact_object(fact) for fact in about]}
            print_json(found)
        else:
            _print_entity(console, entity, about, match)
    return ExitCode.OK


def _print_entity(console: Console, entity: Entity, about: Sequence[Fact], match: Match | None) -> None:
    console.print(Text(sanitize(entity.name), style="bold"), Text(sanitize(_kind(entity)), style="dim"))
    if match and match.kind is MatchKind.FUZZY:
        console.print(Text(f"  a similar name ({match.score:.0%})", style="yellow"))
    if entity.aliases:
        console.print(Text(f"  also {sanitize(', '.join(entity.aliases))}"))
    for attribute in entity.attributes:
        console.print(Text(f"  {sanitize(_attribute(attribute))}"))
    for fact in about:
        console.print(Text(f"  · {sanitize(sentence(fact))}"), Text(sanitize(_origin(fact)), style="dim"))


def _kind(entity: Entity) -> str:
    return f"{entity.type + ' ' if entity.type else ''}[{entity.id}]"


def _attribute(attribute: Attribute) -> str:
    times = _times(attribute.valid_from, attribute.valid_to)
    return f"{attribute.name}: {attribute.value.text}{times}"


def _times(start: object, end: object) -> str:
    return f" ({start or ''} – {end or ''})" if start or end else ""


def sentence(fact: Fact) -> str:
    """A fact as a sentence, with additional roles in brackets."""
    if not fact.roles:
        return fact.text
    ends = {"subject": "", "object": ""} | {r.name: r.value.text for r in fact.roles}
    extra = [f"{r.name}: {r.value.text}" for r in fact.roles if r.name not in ("subject", "object")]
    text = " ".join(part for part in (ends["subject"], fact.predicate, ends["object"]) if part)
    return text + (f" ({', '.join(extra)})" if extra else "") + _times(fact.valid_from, fact.valid_to)


def _origin(fact: Fact) -> str:
    confidence = "" if fact.confidence == 1.0 else f", {fact.confidence:.0%} confidence"
    return f"{fact.status}{confidence}{', ' + fact.provenance.source if fact.provenance.source else ''}"


def run_search(store: str, text: str, limit: int, console: Console) -> ExitCode:
    """Print entities with similar names, best first. Exit code 1 if there are none."""
    with Knowledge.open(store, create=False) as knowledge:
        found = knowledge.similar(text, at_least=_MIN_SIMILARITY, limit=limit)
    if not found:
        print(f"there is no name similar to '{sanitize(text[:60])}'", file=sys.stderr)
        return ExitCode.FLAGGED
    table = Table(box=None, pad_edge=False)
    for header in ("name", "type", "id", "match", "similarity"):
        table.add_column(header)
    for match in found:
        entity = match.entity
        cells = (entity.name, entity.type, entity.id, match.kind.value, f"{match.score:.0%}")
        table.add_row(*(Text(sanitize(cell)) for cell in cells))
    with safe_stdout():
        console.print(table)
    return ExitCode.OK


def run_stats(store: str, console: Console, *, as_json: bool) -> ExitCode:
    with Knowledge.open(store, create=False) as knowledge:
        stats = knowledge.stats()
    with safe_stdout():
        if as_json:
            print_json(asdict(stats), indent=None)
            return ExitCode.OK
        console.print(
            f"{stats.entities:,} entities under {stats.names:,} names, {stats.attributes:,} attributes,"
            f" {stats.facts:,} facts",
            highlight=False,
        )
        for title, counts in (("facts", stats.by_status), ("types", stats.types), ("predicates", stats.predicates)):
            listed = ", ".join(f"{sanitize(name) or '(none)'} {count:,}" for name, count in counts.items())
            console.print(Text(f"{title}: {listed or '(none)'}"))
    return ExitCode.OK


def run_paths(prefix: str, store: str, console: Console, *, as_json: bool = False) -> ExitCode:
    """Print one line per path, or all values as nested JSON objects."""
    database = open_database(store, create=False)
    try:
        paths = PathStore(database)
        with safe_stdout():
            if as_json:
                print_json(paths.export(prefix))
            else:
                _show_paths(paths, prefix, console)
    finally:
        database.close()
    return ExitCode.OK


def _show_paths(paths: PathStore, prefix: str, console: Console) -> None:
    found = False
    for entry in paths.scan(prefix):
        found = True
        value = sanitize(json.dumps(entry.value, ensure_ascii=False))
        console.print(Text.assemble(sanitize(entry.path), ("  " + value, "cyan")), soft_wrap=True)
    if not found:
        console.print(Text(f"there is nothing below {sanitize(prefix)}"), soft_wrap=True)
