"""`groundwire kb`: fill a knowledge base from files, look at it, and write it out again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table
from rich.text import Text

from groundwire.cli.streams import delivered, stdin_bytes, write_whole
from groundwire.errors import InputError
from groundwire.reports.plaintext import sanitize
from groundwire.reports.terminal import progress_bar
from groundwire.stores.exports import entities_to_csv, facts_to_csv, to_jsonl, to_triples
from groundwire.stores.imports import READERS, Imported, Refused, import_rows
from groundwire.stores.knowledge import Knowledge
from groundwire.stores.parse_jsonl import entity_object, fact_object
from groundwire.stores.parsing import Read, format_of, opened
from groundwire.types import Attribute, Entity, Fact, Match, MatchKind

FINE, FLAGGED = 0, 1
SHOWN_ERRORS = 20
STREAM = "-"
EXPORTS: dict[str, Callable[[Knowledge], Iterator[str]]] = {
    "jsonl": to_jsonl,
    "triples": to_triples,
    "csv-entities": entities_to_csv,
    "csv-facts": facts_to_csv,
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which files to import, and how."""

    files: tuple[Path, ...]
    store: str
    format: str = ""
    encoding: str = "utf-8"
    strict: bool = False


def run_import(wanted: Wanted, console: Console) -> int:
    """0 where every row went in, 1 where some could not be used."""
    for path in wanted.files:
        format_of(path, wanted.format)
        if str(path) != STREAM and (not path.exists() or path.is_dir()):
            raise InputError(f"there is no file {path}")
    failed = 0
    with Knowledge.open(wanted.store) as knowledge:
        for path in wanted.files:
            done = _import_one(knowledge, path, wanted)
            failed += done.failed
            console.print(_summary(path, done), markup=False, highlight=False, soft_wrap=True)
    return FLAGGED if failed else FINE


def _summary(path: Path, done: Imported) -> str:
    entities, facts = _counted(done.entities, "entity", "entities"), _counted(done.facts, "fact", "facts")
    bad = f"; {_counted(done.failed, 'row', 'rows')} could not be used" if done.failed else ""
    return f"{_called(path)}: {entities} and {facts}{bad}"


def _import_one(knowledge: Knowledge, path: Path, wanted: Wanted) -> Imported:
    errors = Console(stderr=True)
    try:
        with _bytes(path) as file, progress_bar(errors) as progress:
            total = max(1, path.stat().st_size // 1000) if path.is_file() else None
            bar = progress.add_task(f"{path.name} (kB)", total=total)
            with opened(file, wanted.encoding) as text:
                rows = _named(READERS[format_of(path, wanted.format)](text, _source(path)), path)
                done = import_rows(
                    knowledge, rows, strict=wanted.strict, on_batch=lambda _: _advance(progress, bar, file)
                )
    except Refused as refused:
        _print_bad(path, refused.imported)
        raise InputError(
            f"{_called(path)}: {refused.message}", hint="leave --strict out to import the rest"
        ) from None
    except UnicodeError:
        raise InputError(f"{_called(path)} is not text in its encoding", hint="save it as UTF-8") from None
    _print_bad(path, done)
    return done


def _counted(count: int, one: str, many: str) -> str:
    return f"1 {one}" if count == 1 else f"{count:,} {many}"


def _called(path: Path) -> str:
    return "standard input" if str(path) == STREAM else str(path)


def _advance(progress: Progress, bar: TaskID, file: BinaryIO) -> None:
    if file.seekable():
        progress.update(bar, completed=file.tell() // 1000)


def _named(rows: Iterator[Read], path: Path) -> Iterator[Read]:
    """What is wrong with the file as a whole is said with its name."""
    try:
        yield from rows
    except InputError as error:
        raise InputError(f"{_called(path)}: {error.message}", hint=error.hint) from None


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


def _print_bad(path: Path, done: Imported) -> None:
    for row in sorted(done.bad, key=lambda bad: bad.line)[:SHOWN_ERRORS]:
        print(f"{_called(path)}, line {row.line}: {sanitize(row.error)}", file=sys.stderr)
    if done.failed > SHOWN_ERRORS:
        print(f"{_called(path)}: and {done.failed - SHOWN_ERRORS:,} more", file=sys.stderr)


def run_export(store: str, out: Path | None, form: str) -> int:
    if form not in EXPORTS:
        raise InputError(f"'{form}' cannot be written", hint=f"--format {', '.join(EXPORTS)}")
    with Knowledge.open(store, create=False) as knowledge:
        lines = EXPORTS[form](knowledge)
        if out is None or str(out) == STREAM:
            with delivered():
                for line in lines:
                    sys.stdout.write(line)
        else:
            write_whole(out, lines, 0o600)
    return FINE


def run_show(store: str, name: str, console: Console, *, as_json: bool) -> int:
    """An entity with all that is known of it; 1 where there is none."""
    with Knowledge.open(store, create=False) as knowledge:
        match = knowledge.find([name]).get(name)
        entity = match.entity if match else knowledge.entities([name]).get(name)
        if entity is None:
            print(f"nothing is known under the name '{sanitize(name[:60])}'", file=sys.stderr)
            return FLAGGED
        about = knowledge.facts_about([entity.id])
    with delivered():
        if as_json:
            found = {"entity": entity_object(entity), "facts": [fact_object(fact) for fact in about]}
            print(json.dumps(found, ensure_ascii=False, indent=1))
        else:
            _print_entity(console, entity, about, match)
    return FINE


def _print_entity(console: Console, entity: Entity, about: Sequence[Fact], match: Match | None) -> None:
    console.print(Text(sanitize(entity.name), style="bold"), Text(sanitize(_kind(entity)), style="dim"))
    if match and match.kind is MatchKind.FUZZY:
        console.print(Text(f"  a near name ({match.score:.0%} alike)", style="yellow"))
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
    """A fact as one would say it, its further roles in brackets."""
    if not fact.roles:
        return fact.text
    ends = {"subject": "", "object": ""} | {r.name: r.value.text for r in fact.roles}
    extra = [f"{r.name}: {r.value.text}" for r in fact.roles if r.name not in ("subject", "object")]
    said = " ".join(part for part in (ends["subject"], fact.predicate, ends["object"]) if part)
    return said + (f" ({', '.join(extra)})" if extra else "") + _times(fact.valid_from, fact.valid_to)


def _origin(fact: Fact) -> str:
    sure = "" if fact.confidence == 1.0 else f", {fact.confidence:.0%} sure"
    return f"{fact.status}{sure}{', ' + fact.provenance.source if fact.provenance.source else ''}"


def run_search(store: str, text: str, limit: int, console: Console) -> int:
    """Names that are alike, best first; 1 where there are none."""
    with Knowledge.open(store, create=False) as knowledge:
        found = knowledge.similar(text, at_least=0.6, limit=limit)
    if not found:
        print(f"no name is like '{sanitize(text[:60])}'", file=sys.stderr)
        return FLAGGED
    table = Table(box=None, pad_edge=False)
    for header in ("name", "type", "id", "match", "alike"):
        table.add_column(header)
    for match in found:
        entity = match.entity
        cells = (entity.name, entity.type, entity.id, match.kind.value, f"{match.score:.0%}")
        table.add_row(*(Text(sanitize(cell)) for cell in cells))
    with delivered():
        console.print(table)
    return FINE


def run_stats(store: str, console: Console, *, as_json: bool) -> int:
    with Knowledge.open(store, create=False) as knowledge:
        stats = knowledge.stats()
    with delivered():
        if as_json:
            print(json.dumps(asdict(stats), ensure_ascii=False))
            return FINE
        console.print(
            f"{stats.entities:,} entities under {stats.names:,} names, {stats.attributes:,} attributes,"
            f" {stats.facts:,} facts",
            highlight=False,
        )
        for title, counts in (
            ("facts", stats.by_status),
            ("types", stats.types),
            ("predicates", stats.predicates),
        ):
            listed = ", ".join(f"{sanitize(name) or '(none)'} {count:,}" for name, count in counts.items())
            console.print(Text(f"{title}: {listed or '(none)'}"))
    return FINE
