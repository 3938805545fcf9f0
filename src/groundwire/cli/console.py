"""Exit codes and standard streams: closed stdin, a pipe whose reader left, a full disk."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from groundwire.errors import InputError
from groundwire.text.controls import json_text, sanitize

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


def stdin_bytes() -> BinaryIO:
    """Standard input; empty if the shell closed it."""
    return io.BytesIO() if sys.stdin is None else sys.stdin.buffer


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


def write_atomic(path: Path, text: str | Iterable[str], mode: int = 0o644) -> None:
    """Write a file completely or not at all: a full disk leaves no partial file behind.

    A symbolic link stays a link and its target is replaced. A device or a pipe is written to directly.
    """
    parts = [text] if isinstance(text, str) else text
    try:
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8", errors="replace", newline="") as stream:
                stream.writelines(parts)
            return
        path = path.resolve()
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as file:
                file.writelines(parts)
            Path(name).chmod(mode)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
