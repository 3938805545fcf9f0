"""The terminal: exit codes, standard streams that may be closed or full, and lines that a user types."""

from __future__ import annotations

import atexit
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from enum import IntEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.text.controls import json_text, sanitize

if TYPE_CHECKING:
    from groundwire.types import Source, Turn

RICH_DEFAULT_WIDTH = 80
"""Columns that Rich assumes if the output is not a terminal and COLUMNS is not set."""
PIPE_WIDTH = 110
"""Columns of output into a pipe: wide enough for the table of claims."""


class ExitCode(IntEnum):
    """Exit codes of all commands. Scripts and CI jobs rely on them."""

    OK = 0
    FLAGGED = 1
    BAD_INPUT = 2
    COULD_NOT_CHECK = 3
    INTERRUPTED = 130  # 128 + SIGINT, as shells report it

    @classmethod
    def of(cls, flagged: bool | None) -> ExitCode:
        """The exit code of a verdict; None means that it could not be checked."""
        return cls.COULD_NOT_CHECK if flagged is None else cls.FLAGGED if flagged else cls.OK


class PipeConsole(Console):
    """A console that raises `BrokenPipeError`. Rich would exit with code 1, which means "flagged" here.

    Control characters in what it prints (a file's name, a model's answer) do not reach the terminal.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else sanitize(text), style, control)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def open_console() -> Console:
    """Standard output, as wide as the terminal or `PIPE_WIDTH` columns."""
    console = PipeConsole()
    has_width = console.is_terminal or console.width != RICH_DEFAULT_WIDTH
    return console if has_width else PipeConsole(width=PIPE_WIDTH)


def warn(message: str) -> None:
    """Print a message to stderr, marked with the program's name and without control characters."""
    print(f"groundwire: {sanitize(message)}", file=sys.stderr)


def print_json(value: object, indent: int | None = 2) -> None:
    sys.stdout.write(json_text(value, indent) + "\n")


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print a line without control characters, which the terminal wraps: a copied line stays whole."""
    console.print(Text(sanitize(text), style=style), soft_wrap=True)


def print_table(console: Console, heads: Sequence[str], rows: Iterable[Iterable[object]], empty: str = "") -> None:
    """Print a table without lines; lists are joined, None is an empty cell. `empty` is printed if there are no rows."""
    table = Table(*heads, box=None, pad_edge=False)
    for row in rows:
        cells = (", ".join(value) if isinstance(value, list) else str("" if value is None else value) for value in row)
        table.add_row(*(Text(sanitize(cell)) for cell in cells))
    console.print(table if table.row_count else empty)


def print_result(as_json: bool, value: object, show: Callable[[], None]) -> None:
    """Print a result: as JSON, or as `show` prints it."""
    with safe_stdout():
        print_json(value) if as_json else show()


def stdin_bytes() -> BinaryIO:
    """Standard input; empty if the shell closed it."""
    return io.BytesIO() if sys.stdin is None else sys.stdin.buffer


class InputReader:
    """Reads what arguments name: a file, a folder, '-' for stdin, or the text itself.

    `inputs` are the arguments by name, of which only one may be stdin.
    """

    def __init__(self, config: Config, **inputs: str | Sequence[str] | None) -> None:
        self._max_bytes = config.limits.max_source_bytes
        named = [name for value in inputs.values() for name in ([value] if isinstance(value, str) else value or ())]
        if named.count("-") > 1:
            *others, last = inputs
            raise InputError(f"only one of {', '.join(others)} and {last} can be read from stdin")

    def text(self, name: str) -> str:
        from groundwire.retrieval.load import load_answer

        return load_answer(name, stdin=stdin_bytes(), max_bytes=self._max_bytes)

    def sources(self, names: Sequence[str] | None, report: Callable[[str], None] = warn) -> list[Source]:
        """The sources; none if none is named. `report` gets a message for each unreadable file of a folder."""
        from groundwire.retrieval.load import load_sources

        if not names:
            return []
        return load_sources(names, stdin=stdin_bytes(), max_bytes=self._max_bytes, report=report)

    def history(self, name: str | None) -> tuple[Turn, ...]:
        """The turns of a conversation; none if it is not named."""
        from groundwire.requests import parse_history

        return () if name is None else parse_history(self.text(name))


@contextmanager
def safe_stdout() -> Iterator[None]:
    """Write and flush standard output inside this block.

    A reader that left (`| head`) is not an error, so the exit code stays that of the verdict. A full disk
    raises `InputError`.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_stdout()
    except OSError as error:
        _discard_stdout()
        hint = "redirect standard output to another place"
        raise InputError(f"cannot write the report: {error.strerror}", hint=hint) from None


def _discard_stdout() -> None:
    # Python flushes the buffer once more at exit, which would fail again.
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)


@contextmanager
def replacement(path: Path, mode: int = 0o644) -> Iterator[Path]:
    """A temporary file that takes the place of `path` when the block ends, or vanishes if it fails."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    part = Path(name)
    try:
        yield part
        part.chmod(mode)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_atomic(path: Path, text: str | Iterable[str], mode: int = 0o644) -> None:
    """Write a file completely or not at all: a full disk leaves no partial file behind.

    A symbolic link stays a link and its target is replaced. A device or a pipe is written to directly.
    """
    try:
        is_device = path.exists() and not path.is_file()
        with (
            nullcontext(path) if is_device else replacement(path.resolve(), mode) as part,
            part.open("w", encoding="utf-8", errors="replace", newline="") as file,
        ):
            file.writelines([text] if isinstance(text, str) else text)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


# ---- lines that a user types: with history and completion on a terminal, plain from a pipe

ReadLine = Callable[[str], str | None]
"""Shows a prompt and returns a line, or None at the end of input. Ctrl-C raises `KeyboardInterrupt`."""
Complete = Callable[[str, int], str | None]
"""Returns the n-th completion of the word before the cursor, or None, as `readline` asks for them."""


def is_interactive() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def read_from_pipe(stream: TextIO | None, echo: Callable[[str], None]) -> ReadLine:
    """Read lines from a pipe. Each is echoed after its prompt, so that the output reads as a conversation."""

    def read(prompt: str) -> str | None:
        line = stream.readline() if stream is not None else ""
        if not line:
            return None
        echo(f"{prompt}{line.rstrip()}")
        return line.rstrip("\r\n")

    return read


def read_from_terminal(prompt: str) -> str | None:
    try:
        return input(prompt)
    except EOFError:
        return None


def edit_lines(config: Config, name: str, complete: Complete) -> None:
    """Give `input` completion by the Tab key, and a history file next to the cache that only its owner can read."""
    if find_spec("readline") is None:  # as on Windows
        return
    import readline

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n()[]{}=,'\"")
    readline.parse_and_bind("tab: complete")
    if not config.store.cache_path:
        return
    with suppress(OSError, RuntimeError):  # no home folder, or one that cannot be written to: no history
        path = Path(config.store.cache_path).expanduser().parent / f"{name}.history"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        atexit.register(_save_history, path)
        readline.read_history_file(path)


def _save_history(path: Path) -> None:
    import readline

    with suppress(OSError):
        readline.write_history_file(path)
