"""Read lines interactively: with history and completion on a terminal, plain from a pipe."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from groundwire.config import Config

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.history import History

ReadLine = Callable[[str], str | None]
"""Shows a prompt and returns a line, or None at the end of input. Ctrl-C raises `KeyboardInterrupt`."""
Complete = Callable[[str], Iterable[str]]
"""Returns the completions of the word before the cursor."""
_WORD = re.compile(r"[\w./]+$")


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


def read_from_terminal(config: Config, name: str, complete: Complete, **options: Any) -> ReadLine:
    """Read lines with prompt_toolkit if it is installed, else with readline.

    `name` selects the history file; `options` are passed to prompt_toolkit's session.
    """
    if find_spec("prompt_toolkit") is None:
        return _with_readline(complete)
    from prompt_toolkit import PromptSession
    from prompt_toolkit.auto_suggest import AutoSuggestFromHistory

    session: PromptSession[str] = PromptSession(
        history=_history(config, name),
        auto_suggest=AutoSuggestFromHistory(),
        completer=completer(complete),
        complete_while_typing=False,
        **options,
    )

    def read(prompt: str) -> str | None:
        try:
            return session.prompt(prompt)
        except EOFError:
            return None

    return read


def completer(complete: Complete) -> Completer:
    """A prompt_toolkit completer around a function."""
    from prompt_toolkit.completion import Completer, Completion

    class WordCompleter(Completer):
        def get_completions(self, document: Any, complete_event: Any) -> Iterator[Completion]:  # noqa: ARG002
            word = _WORD.search(document.text_before_cursor)
            prefix = word[0] if word else ""
            for found in complete(prefix):
                yield Completion(found, start_position=-len(prefix))

    return WordCompleter()


def _history(config: Config, name: str) -> History:
    """The history file next to the cache, readable by its owner only; in memory if there is no cache path."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    if not config.store.cache_path:
        return InMemoryHistory()
    try:
        path = Path(config.store.cache_path).expanduser().parent / f"{name}.history"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except (OSError, RuntimeError):
        return InMemoryHistory()
    return FileHistory(str(path))


def _with_readline(complete: Complete) -> ReadLine:
    if find_spec("readline") is not None:
        import readline

        readline.set_completer(lambda text, n: next(iter(list(complete(text))[n:]), None))
        readline.set_completer_delims(" \t\n()[]{}=,'\"")
        readline.parse_and_bind("tab: complete")

    def read(prompt: str) -> str | None:
        try:
            return input(prompt)
        except EOFError:
            return None

    return read
