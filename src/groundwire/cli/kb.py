"""`groundwire kb`: inspect, fill and export a knowledge base."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from groundwire.cli.console import (
    ExitCode,
    print_json,
    print_line,
    print_result,
    print_table,
    safe_stdout,
    stdin_bytes,
    write_atomic,
)
from groundwire.cli.options import AsJson, command, group, setting
from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.reports.plaintext import counted
from groundwire.reports.terminal import progress_bar
from groundwire.stores.database import open_database
from groundwire.stores.import_export import (
    READERS,
    WRITERS,
    ImportResult,
    StrictImportError,
    entity_object,
    fact_object,
    format_of,
    import_rows,
    open_text,
)
from groundwire.stores.knowledge_base import Knowledge
from groundwire.stores.paths import PathStore
from groundwire.text.controls import sanitize
from groundwire.types import Entity, Fact, Match, MatchKind

kb = group("kb", "Inspect, fill and export a knowledge base.")
STORE = setting("store.url", "--store", "--kb", help="A SQLite file or postgresql://… URL; default: as configured.")
SHOWN_ERRORS = 20
"""Bad rows printed per file; the rest are counted."""
_MIN_SIMILARITY = 0.6
"""Least similarity (0 to 1) of a name that `kb search` lists. Not tuned on data."""
STREAM = "-"


@command(parent=kb, store=STORE)
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="CSV, JSONL or triples; '-' for stdin.")],
    form: Annotated[str, typer.Option("--format", help="csv, jsonl or triples; default: by file name.")] = "",
    encoding: Annotated[str, typer.Option(help="Encoding of files that are not UTF-8.")] = "utf-8",
    strict: Annotated[bool, typer.Option("--strict", help="Import nothing if any row is bad.")] = False,
    *,
    config: Config,
    console: Console,
) -> ExitCode:
    """Import entities and facts. A bad row is reported with its line; the others are imported."""
    for path in files:
        format_of(path, form)
        if str(path) != STREAM and (not path.exists() or path.is_dir()):
            raise InputError(f"{path} is not a file")
    failed = 0
    with Knowledge.open(config.store.url) as knowledge:
        for path in files:
            done = _import_one(knowledge, path, format_of(path, form), encoding, strict)
            failed += done.failed
            entities, facts = counted(done.entities, "entity", "entities"), counted(done.facts, "fact")
            bad = f"; {counted(done.failed, 'row')} could not be used" if done.failed else ""
            print_line(console, f"{_display_name(path)}: {entities} and {facts}{bad}")
    return ExitCode.FLAGGED if failed else ExitCode.OK


def _import_one(knowledge: Knowledge, path: Path, form: str, encoding: str, strict: bool) -> ImportResult:
    """Import one file, with its name in errors."""
    is_stream = str(path) == STREAM
    try:
        with (
            nullcontext(stdin_bytes()) if is_stream else path.open("rb") as file,
            progress_bar(Console(stderr=True)) as progress,
            open_text(file, encoding) as text,
        ):
            total = max(1, path.stat().st_size // 1000) if path.is_file() else None
            bar = progress.add_task(f"{path.name} (kB)", total=total)

            def advance(_: object) -> None:
                if file.seekable():
                    progress.update(bar, completed=file.tell() // 1000)

            rows = READERS[form](text, "" if is_stream else path.name)
            done = import_rows(knowledge, rows, strict=strict, on_batch=advance)
    except StrictImportError as refused:
        _print_bad(path, refused.imported)
        hint = "without --strict the rest is imported"
        raise InputError(f"{_display_name(path)}: {refused.message}", hint=hint) from None
    except InputError as error:
        raise InputError(f"{_display_name(path)}: {error.message}", hint=error.hint) from None
    except UnicodeError:
        raise InputError(f"{_display_name(path)} is not text in its encoding", hint="save it as UTF-8") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    _print_bad(path, done)
    return done


def _display_name(path: Path) -> str:
    return "standard input" if str(path) == STREAM else sanitize(str(path))


def _print_bad(path: Path, done: ImportResult) -> None:
    for row in sorted(done.bad, key=lambda bad: bad.line)[:SHOWN_ERRORS]:
        print(f"{_display_name(path)}, line {row.line}: {sanitize(row.error)}", file=sys.stderr)
    if done.failed > SHOWN_ERRORS:
        print(f"{_display_name(path)}: and {done.failed - SHOWN_ERRORS:,} more", file=sys.stderr)


@command(parent=kb, store=STORE)
def export(
    out: Annotated[Path | None, typer.Option("-o", "--output", help="A file; default: stdout.")] = None,
    form: Annotated[
        str, typer.Option("--format", help="jsonl (everything), triples, csv-entities or csv-facts.")
    ] = "jsonl",
    *,
    config: Config,
) -> None:
    """Export the knowledge base. JSON lines hold all of it and can be imported again."""
    if form not in WRITERS:
        raise InputError(f"unknown format '{form}'", hint=f"--format {', '.join(WRITERS)}")
    with Knowledge.open(config.store.url, create=False) as knowledge:
        lines = WRITERS[form](knowledge)
        if out is None or str(out) == STREAM:
            with safe_stdout():
                sys.stdout.writelines(lines)
        else:
            write_atomic(out, lines, 0o600)


@command(parent=kb, store=STORE)
def show(
    name: Annotated[str, typer.Argument(help="A name, an alias or an id.")],
    as_json: AsJson = False,
    *,
    config: Config,
    console: Console,
) -> ExitCode:
    """Show one entity with its attributes and facts."""
    with Knowledge.open(config.store.url, create=False) as knowledge:
        match = knowledge.find([name]).get(name)
        entity = match.entity if match else knowledge.entities([name]).get(name)
        if entity is None:
            print(f"there is no entity named '{sanitize(name[:60])}'", file=sys.stderr)
            return ExitCode.FLAGGED
        about = knowledge.facts_about([entity.id])
    found = {"entity": entity_object(entity), "facts": [fact_object(fact) for fact in about]}
    print_result(as_json, found, lambda: _print_entity(console, entity, about, match))
    return ExitCode.OK


@command(parent=kb, store=STORE)
def search(
    text: Annotated[str, typer.Argument(help="A name or part of one; it may be misspelt.")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of results.")] = 10,
    *,
    config: Config,
    console: Console,
) -> ExitCode:
    """Find entities with similar names."""
    with Knowledge.open(config.store.url, create=False) as knowledge:
        found = knowledge.similar(text, at_least=_MIN_SIMILARITY, limit=limit)
    if not found:
        print(f"there is no name similar to '{sanitize(text[:60])}'", file=sys.stderr)
        return ExitCode.FLAGGED
    rows = [(m.entity.name, m.entity.type, m.entity.id, m.kind.value, f"{m.score:.0%}") for m in found]
    with safe_stdout():
        print_table(console, ("name", "type", "id", "match", "similarity"), rows)
    return ExitCode.OK


@command(parent=kb, store=STORE)
def stats(as_json: AsJson = False, *, config: Config, console: Console) -> None:
    """Count entities, names, attributes and facts."""
    with Knowledge.open(config.store.url, create=False) as knowledge:
        size = knowledge.stats()
    with safe_stdout():
        if as_json:
            print_json(asdict(size), indent=None)
            return
        counts = f"{size.entities:,} entities under {size.names:,} names, {size.attributes:,} attributes"
        print_line(console, f"{counts}, {size.facts:,} facts")
        for title, kinds in (("facts", size.by_status), ("types", size.types), ("predicates", size.predicates)):
            listed = ", ".join(f"{name or '(none)'} {count:,}" for name, count in kinds.items())
            console.print(Text(f"{title}: {sanitize(listed) or '(none)'}"))


@command(parent=kb, store=STORE)
def paths(
    prefix: Annotated[str, typer.Argument(help="As in /hallucination/SESSION/; a / in a name is %2F.")] = "/",
    as_json: AsJson = False,
    *,
    config: Config,
    console: Console,
) -> None:
    """List the detectors' flags of conversations, by path."""
    with closing(open_database(config.store.url, create=False)) as database, safe_stdout():
        stored = PathStore(database)
        if as_json:
            print_json(stored.export(prefix))
            return
        found = False
        for entry in stored.scan(prefix):
            found = True
            value = sanitize(json.dumps(entry.value, ensure_ascii=False))
            console.print(Text.assemble(sanitize(entry.path), ("  " + value, "cyan")), soft_wrap=True)
        if not found:
            print_line(console, f"there is nothing below {prefix}")


def _print_entity(console: Console, entity: Entity, about: Sequence[Fact], match: Match | None) -> None:
    kind = f"{entity.type} [{entity.id}]".strip()
    console.print(Text(sanitize(entity.name), style="bold"), Text(sanitize(kind), style="dim"))
    if match and match.kind is MatchKind.FUZZY:
        console.print(Text(f"  a similar name ({match.score:.0%})", style="yellow"))
    if entity.aliases:
        console.print(Text(f"  also {sanitize(', '.join(entity.aliases))}"))
    for one in entity.attributes:
        text = f"{one.name}: {one.value.text}{_times(one.valid_from, one.valid_to)}"
        console.print(Text(f"  {sanitize(text)}"))
    for fact in about:
        console.print(Text(f"  · {sanitize(sentence(fact))}"), Text(sanitize(_origin(fact)), style="dim"))


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
