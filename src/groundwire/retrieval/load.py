"""Load sources and answers from a command line argument: a file, a folder, '-' for stdin, or the text itself.

An argument of several lines, or a very long one, is text. An existing file or folder is read. An argument
that does not exist but looks like a path (no spaces and an extension such as .txt; a leading ./, ~/ or /; a
trailing /; or an existing folder before its last /) is an error. Anything else is text.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, TextIO

from groundwire.conversion.converter import Conversion
from groundwire.conversion.formats import FileInput, Named, named_in
from groundwire.errors import InputError
from groundwire.types import Source

_ENDINGS = frozenset((
    ".txt", ".text", ".md", ".markdown", ".rst", ".html", ".htm", ".xhtml", ".pdf", ".docx", ".doc", ".odt",
    ".rtf", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".xml", ".yaml", ".yml", ".log", ".tex", ".xls",
    ".xlsx", ".ppt", ".pptx", ".epub", ".png", ".jpg", ".jpeg", ".gif", ".zip", ".gz", ".py", ".ipynb",
    ".metta",
))  # fmt: skip
_URL = re.compile(r"https?://\S+$", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_OPEN = (Path("/dev/fd"), Path("/proc/self/fd"))
_MAX_NAME = 1024  # characters; longer arguments are text
_MAX_FILES = 10_000  # read from one folder
_FOLDER_FACTOR = 10  # a folder may contain ten times as many bytes as a single file
_log = logging.getLogger("groundwire.evidence")

Report = Callable[[str], None]


def load_sources(
    specs: Sequence[str], *, stdin: TextIO | BinaryIO, max_bytes: int, report: Report = _log.warning
) -> list[Source]:
    """Load all sources, in order.

    Args:
        specs: files, folders, '-' for stdin, or texts.
        max_bytes: limit for one source.
        report: called with a message for each unreadable file in a folder.

    Raises `InputError` if a source is missing, unreadable, empty or too large.
    """
    if not specs:
        raise InputError("no sources given", hint="pass at least one with -s: a file, a folder, '-' or the text itself")
    found: list[Named] = []
    for spec in specs:
        found.extend(_loaded(spec, stdin, max_bytes, report))
    return _numbered(found)


def load_answer(spec: str, *, stdin: TextIO | BinaryIO, max_bytes: int) -> str:
    """Load the answer to check: a file, '-' for stdin, or the text itself; see `load_sources`."""
    path = as_path(spec)
    if spec != "-" and path is not None and path.is_dir():
        raise InputError(f"{spec} is a folder", hint="the answer must be a file, '-' or the text itself")
    if spec == "-":
        return _text(_read_stdin(stdin, max_bytes), "the answer on stdin", "", max_bytes)
    if path is None:
        return _filled(spec, "the answer")
    return _text(read_file(path, max_bytes), str(path), path.suffix, max_bytes)


def sources_in(data: bytes, path: Path, max_bytes: int) -> list[Source]:
    """The sources in the bytes of a file: one, or those that the file itself names."""
    return _numbered(_read(data, FileInput(str(path), path.suffix, max_bytes, path.name)))


def read_bytes(data: bytes, name: str, max_bytes: int, conversion: Conversion | None = None) -> list[Named]:
    """The sources in an uploaded file; the local disk is not read.

    Args:
        name: the file's name, of which the extension decides the format.
        conversion: lets the caller stop the conversion.
    """
    if len(data) > max_bytes:
        raise _too_large(name, max_bytes)
    file = FileInput(name, Path(name).suffix, max_bytes, name)
    found = _read(data, file, conversion)
    return [Named(_printable(one.text), one.origin, one.id and _printable(one.id)) for one in found]


def as_path(spec: str) -> Path | None:
    """The file or folder that an argument names; None for text. Raises `InputError` for a missing path."""
    if not spec.strip() or len(spec) > _MAX_NAME or "\n" in spec or "\x00" in spec:
        return None
    path = Path(spec).expanduser() if spec.startswith("~/") else Path(spec)
    if _exists(path):
        return path
    if _URL.match(spec):
        raise InputError(f"{spec} is a URL", hint="groundwire does not download: save the page and pass the file")
    if _looks_like_path(spec, path):
        raise InputError(
            f"{spec} does not exist", hint="check the path; pass text that looks like one on stdin, with '-'"
        )
    return None


def _exists(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except (OSError, ValueError):
        return False


def _looks_like_path(spec: str, path: Path) -> bool:
    if path.suffix.lower() in _ENDINGS:
        return "/" in spec or "\\" in spec or not re.search(r"\s", spec)
    if re.search(r"\s", spec):
        return False
    if spec.startswith(("./", "../", "/", "~/")) or spec.endswith("/"):
        return True
    return "/" in spec and path.parent != Path() and _exists(path.parent)


def _loaded(spec: str, stdin: TextIO | BinaryIO, max_bytes: int, report: Report) -> list[Named]:
    if spec == "-":
        return _read(_read_stdin(stdin, max_bytes), FileInput("stdin", "", max_bytes, ""))
    path = as_path(spec)
    if path is None:
        if len(spec.encode("utf-8", "replace")) > max_bytes:
            raise _too_large("the text", max_bytes)
        return named_in(_filled(spec, "the source"), "", "", strict=False)
    if path.is_dir():
        return _folder(path, max_bytes, report)
    return _read(read_file(path, max_bytes), FileInput(str(path), path.suffix, max_bytes, path.name))


def _folder(folder: Path, max_bytes: int, report: Report) -> list[Named]:
    """Load all files below a folder, sorted by name; hidden files are skipped, unreadable ones reported."""
    found: list[Named] = []
    missed: list[str] = []
    size = 0
    for number, path in enumerate(files_below(folder, missed.append)):
        origin = path.relative_to(folder).as_posix()
        try:
            data = read_file(path, max_bytes)
            size += len(data)
            if number >= _MAX_FILES or size > max_bytes * _FOLDER_FACTOR:
                raise InputError(f"{folder} is too large to check", hint="pass fewer files, or a smaller folder")
            found.extend(_read(data, FileInput(str(path), path.suffix, max_bytes, origin)))
        except InputError as error:
            if number >= _MAX_FILES or size > max_bytes * _FOLDER_FACTOR:
                raise
            missed.append(error.message)
    if not found:
        why = f" ({missed[0]})" if missed else ""
        raise InputError(
            f"{folder} contains no readable files{why}", hint="put text, Markdown, HTML, PDF, docx, JSON or CSV there"
        )
    for message in missed:
        report(f"left out: {message}")
    return found


def files_below(folder: Path, report: Report) -> Iterator[Path]:
    """All files below a folder, sorted by name; hidden ones are skipped, unreadable folders reported."""

    def unreadable(error: OSError) -> None:
        report(f"{error.filename}: {error.strerror}")

    for place, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(place) / name


def read_file(path: Path, max_bytes: int) -> bytes:
    """Read a file, after checking its type and size. Raises `InputError`.

    A pipe is read only if it is already open, as in a shell's `<(command)`: another may never be written to.
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode) and not (path.parent in _OPEN and stat.S_ISFIFO(about.st_mode)):
            raise InputError(f"{path} is not a regular file", hint="pass a file, or pipe it in with '-'")
        if about.st_size > max_bytes:
            raise _too_large(str(path), max_bytes)
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except PermissionError:
        raise InputError(f"{path}: permission denied", hint="check its permissions") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})", hint="check the path and the disk") from None
    if len(data) > max_bytes:
        raise _too_large(str(path), max_bytes)
    return data


def _too_large(name: str, max_bytes: int) -> InputError:
    return InputError(f"{name} is larger than {max_bytes:,} bytes", hint="split it, or raise limits.max_source_bytes")


def _read_stdin(stdin: TextIO | BinaryIO, max_bytes: int) -> bytes:
    stream = getattr(stdin, "buffer", stdin)
    data = stream.read(max_bytes + 1)
    raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data)
    if len(raw) > max_bytes:
        raise _too_large("stdin", max_bytes)
    return raw


def _text(data: bytes, name: str, suffix: str, max_bytes: int) -> str:
    (found,) = _read(data, FileInput(name, suffix, max_bytes, split=False))
    return _printable(found.text)


def _read(data: bytes, file: FileInput, conversion: Conversion | None = None) -> list[Named]:
    if not data.strip():
        raise InputError(f"{file.name} is empty", hint="give some text")
    return (conversion or Conversion()).run(data, file)


def _filled(text: str, name: str) -> str:
    if not text.strip():
        raise InputError(f"{name} is empty", hint="give some text")
    return _printable(text)


def _printable(text: str) -> str:
    """Replace lone surrogates (from broken JSON or a terminal), which UTF-8 cannot encode; offsets stay."""
    return _SURROGATE.sub("\ufffd", text)


def _numbered(found: Sequence[Named]) -> list[Source]:
    """Give ids to the sources: their own, or S0, S1, … in order, skipping ids that are taken."""
    taken: set[str] = set()
    for item in found:
        if item.id is not None and item.id in taken:
            raise InputError(f"two sources have the id {item.id!r}", hint="give each source a unique id")
        taken.update((item.id,) if item.id is not None else ())
    sources: list[Source] = []
    number = 0
    for item in found:
        while item.id is None and f"S{number}" in taken:
            number += 1
        sources.append(Source(item.id or f"S{number}", _printable(item.text), item.origin))
        number += item.id is None
    return sources
