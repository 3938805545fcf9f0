"""Standard input and output at their ends: closed, a pipe whose reader left, a full disk."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rich.console import Console

from groundwire.errors import InputError

PIPE_DEFAULT, PIPE_WIDTH = 80, 110


class PipeConsole(Console):
    """Rich ends the process with exit code 1 when a reader leaves, which would say "flagged"."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def open_console() -> Console:
    """As wide as the terminal; in a pipe, which has no width, wide enough for a table of claims."""
    console = PipeConsole()
    wide = console.is_terminal or console.width != PIPE_DEFAULT
    return console if wide else PipeConsole(width=PIPE_WIDTH)


def stdin_bytes() -> BinaryIO:
    """Standard input; a closed one is empty."""
    return io.BytesIO() if sys.stdin is None else sys.stdin.buffer


@contextmanager
def delivered() -> Iterator[None]:
    """A reader that left (`| head`) is no error, so the exit code stays the verdict's; a full disk is one."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _hush()
    except OSError as error:
        _hush()
        raise InputError(
            f"cannot write the report: {error.strerror}", hint="send standard output elsewhere"
        ) from None


def _hush() -> None:
    """What is still in the buffer goes nowhere: flushing it at the end would fail once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def write_whole(path: Path, text: str | Iterable[str], mode: int = 0o644) -> None:
    """All of it or nothing: a full disk leaves no half of a file behind.

    What is no file (a device, a pipe) is written to and stays what it is; of a link the file is replaced.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8", errors="replace", newline="") as stream:
                stream.writelines([text] if isinstance(text, str) else text)
            return
        path = path.resolve()
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as file:
                file.writelines([text] if isinstance(text, str) else text)
            Path(name).chmod(mode)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
