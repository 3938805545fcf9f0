"""Files of knowledge, read line by line: entities and facts, and what cannot be read with its line.

Nothing is loaded whole. Bytes that are no text in the encoding are smuggled through as surrogates, so that
one bad character costs one row.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from groundwire.errors import InputError
from groundwire.types import Entity, Fact

FORMATS = ("csv", "jsonl", "triples", "nt")
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".nt": "nt",
    ".triples": "triples",
}
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True, slots=True)
class Read:
    """What one row says, or why it cannot be read."""

    line: int
    item: Entity | Fact | None = None
    error: str = ""


def format_of(path: Path, given: str = "") -> str:
    found = given or _SUFFIXES.get(path.suffix.lower(), "")
    if found not in FORMATS:
        what = f"'{given}' is no format" if given else f"what {path} holds is not to be told from its name"
        raise InputError(what, hint=f"--format {', '.join(FORMATS)}")
    return found


@contextmanager
def opened(file: BinaryIO, encoding: str) -> Iterator[TextIO]:
    """The file as text; a byte order mark overrules the encoding."""
    head = file.peek(4)[:4] if isinstance(file, io.BufferedReader) else b""
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), encoding)
    try:
        text = io.TextIOWrapper(file, encoding=marked, errors="surrogateescape", newline="")
    except LookupError:
        raise InputError(f"there is no encoding '{encoding}'") from None
    try:
        yield text
    finally:
        text.detach()


def guarded(line: int, read: Callable[[], Iterator[Entity | Fact]]) -> Iterator[Read]:
    """What a row says; an error costs this row only."""
    try:
        items = list(read())
    except InputError as error:
        yield Read(line, error=str(error))
        return
    for item in items:
        yield Read(line, item)


class Unreadable(InputError):
    """Bytes that are no text in the encoding of the file."""


def readable(text: str) -> str:
    if not text.isascii() and any("\udc80" <= c <= "\udcff" for c in text):
        raise Unreadable("is not in the encoding of the file", hint="save it as UTF-8 or say --encoding")
    return text
