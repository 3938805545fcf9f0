"""Lines from whoever types or pipes them: with history and completion on a terminal, plain otherwise."""

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

Read = Callable[[str], str | None]
"""Shows a prompt and returns a line; None at the end of input. An interrupt is raised."""
Complete = Callable[[str], Iterable[str]]
"""What the word before the cursor may become."""
_WORD = re.compile(r"[\w./]+$")


def is_interactive() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def piped(stream: TextIO | None, echo: Callable[[str], None]) -> Read:
    """Lines of a pipe; each is echoed behind its prompt, so that the output reads as a conversation."""

    def read(prompt: str) -> str | None:
        line = stream.readline() if stream is not None else ""
        if not line:
            return None
        echo(f"{prompt}{line.rstrip()}")
        return line.rstrip("\r\n")

    return read


def typed(config: Config, name: str, complete: Complete, **options: Any) -> Read:
    """Lines of a terminal: prompt_toolkit where it is installed, else readline.

    `options` are prompt_toolkit's, for what a line looks like.
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
    """What may stand in place of the word before the cursor, as prompt_toolkit wants it."""
    from prompt_toolkit.completion import Completer, Completion

    class Words(Completer):
        def get_completions(self, document: Any, complete_event: Any) -> Iterator[Completion]:  # noqa: ARG002
            word = _WORD.search(document.text_before_cursor)
            begun = word[0] if word else ""
            for found in complete(begun):
                yield Completion(found, start_position=-len(begun))

    return Words()


def _history(config: Config, name: str) -> History:
    """What was typed before, beside the cache and the owner's only; in memory where nothing may be kept."""
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


def _with_readline(complete: Complete) -> Read:
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
