"""`groundwire repl`: Python with the verifying functions at hand, plain or sandboxed."""

from __future__ import annotations

import ast
import builtins
import sys
from code import InteractiveInterpreter
from codeop import compile_command
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from rlcompleter import Completer
from traceback import format_exception, format_exception_only
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire._loop import run
from groundwire.agent.functions import Evidence, Function, functions_for, namespace
from groundwire.agent.orchestrator import Orchestrator
from groundwire.agent.sandbox import Sandbox
from groundwire.cli.lines import Read, is_interactive, typed
from groundwire.cli.models import open_writer
from groundwire.cli.streams import delivered, stdin_bytes
from groundwire.config import Config
from groundwire.engine import Groundwire, as_sources
from groundwire.errors import GroundwireError, InputError
from groundwire.llm import Generator
from groundwire.reports.plaintext import sanitize
from groundwire.reports.terminal import show_result
from groundwire.retrieval.load import load_sources

FINE, FAILED = 0, 2
Feed = Callable[[str], bool]
"""Takes what was typed so far and runs it; True where it is not complete yet."""


@dataclass(frozen=True, slots=True)
class Request:
    files: tuple[str, ...] = ()
    provider: str | None = None
    model: str | None = None
    sandbox: bool = False


class Session:
    """The engine, the files and the functions of a REPL. A model is opened when it is first asked."""

    def __init__(self, request: Request, config: Config, generator: Generator | None = None) -> None:
        self.request, self.config = request, config
        self.engine = Groundwire(config)
        self._generator = generator
        self.files = self._loaded()
        self.functions: dict[str, Function] = functions_for(self.engine, self.ask)

    async def ask(self, query: str, context: Evidence = "", *, verify: bool = True) -> str:
        """A model's answer about a text, or about the files."""
        if self._generator is None:
            self._generator = open_writer(self.config, self.request.provider, self.request.model)
        orchestrator = Orchestrator(self._generator, self.engine, self.config)
        given = {source.id: source.text for source in as_sources(context)} if context else self.files
        outcome = await orchestrator.process(query, given, verify=verify)
        return outcome.text

    def _loaded(self) -> dict[str, str]:
        if not self.request.files:
            return {}
        limit = self.config.limits.max_source_bytes
        found = load_sources(self.request.files, stdin=stdin_bytes(), max_bytes=limit, report=_say)
        return {source.origin or source.id: source.text for source in found}

    def close(self) -> None:
        run(self.engine.aclose())
        if self._generator is not None:
            run(self._generator.aclose())


class Plain(InteractiveInterpreter):
    """Python in this process. An error that a user can fix is one line; any other shows where."""

    def __init__(self, names: Mapping[str, object], console: Console) -> None:
        super().__init__({"__name__": "__console__", "__builtins__": builtins, **names})
        self._console = console
        self.failed = False

    def showtraceback(self) -> None:
        """Without our own frame, and past any hook: hooks are for errors of the program."""
        self.failed = True
        error = sys.exc_info()[1]
        if isinstance(error, GroundwireError) or error is None:
            self.write(f"{type(error).__name__}: {error}\n")
            return
        where = error.__traceback__.tb_next if error.__traceback__ else None
        self.write("".join(format_exception(type(error), error, where)))

    def showsyntaxerror(self, filename: str | None = None, **_: Any) -> None:  # noqa: ARG002
        self.failed = True
        self.write("".join(format_exception_only(sys.exc_info()[1])))

    def script(self, source: str) -> None:
        """A whole text, statement by statement, up to the first that fails; values are shown."""
        try:
            statements = ast.parse(source, "<stdin>").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.showsyntaxerror("<stdin>")
            return
        for statement in statements:
            self.runcode(compile(ast.Interactive([statement]), "<stdin>", "single"))
            if self.failed:
                return


def run_repl(request: Request, config: Config, console: Console, generator: Generator | None = None) -> int:
    """`generator` is for tests. Input that is no terminal is a script: its values are printed."""
    interactive = is_interactive()
    if "-" in request.files and not interactive:
        raise InputError("standard input cannot hold both a source and the code")
    session = Session(request, config, generator)
    code = FINE
    try:
        with delivered(), _displayed(console):
            code = _sandboxed(session, console) if request.sandbox else _plain(session, console)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else FINE
    finally:
        session.close()
    return code


def _plain(session: Session, console: Console) -> int:
    plain = Plain(namespace(session.functions, session.files), console)
    if not is_interactive():
        plain.script(_script())
        return FAILED if plain.failed else FINE
    _greet(session, console)
    converse(typed(session.config, "repl", _names(plain.locals), **_look()), plain.runsource, console)
    return FINE


def _sandboxed(session: Session, console: Console) -> int:
    sandbox = Sandbox(session.functions, session.files, session.config.sandbox)
    try:
        if not is_interactive():
            return FINE if _ran(sandbox, _script(), console) else FAILED
        _greet(session, console)
        read = typed(session.config, "repl", _names(dict(session.functions)), **_look())
        converse(read, lambda source: _fed(sandbox, source, console), console)
        return FINE
    finally:
        run(sandbox.aclose())


def _fed(sandbox: Sandbox, source: str, console: Console) -> bool:
    try:
        complete = compile_command(source) is not None
    except (SyntaxError, ValueError, OverflowError):
        complete = True  # the sandbox says what is wrong with it
    if complete and source.strip():
        _ran(sandbox, source, console)
    return not complete


def _ran(sandbox: Sandbox, source: str, console: Console) -> bool:
    output = run(sandbox.run(source))
    if output.stdout:
        console.print(Text(sanitize(output.stdout.rstrip("\n"))), soft_wrap=True)
    if output.value is not None:
        show_result(output.value, console)
    if output.error:
        console.print(Text(sanitize(output.error), style="red"), soft_wrap=True)
    return output.error is None


def converse(read: Read, feed: Feed, console: Console) -> None:
    """Lines until they make a statement, statements until the end. An interrupt drops what was begun."""
    lines: list[str] = []
    while True:
        try:
            line = read("... " if lines else ">>> ")
            if line is None:
                return
            lines.append(line)
            if not feed("\n".join(lines)):
                lines = []
        except KeyboardInterrupt:
            lines = []
            console.print("KeyboardInterrupt")


@contextmanager
def _displayed(console: Console) -> Iterator[None]:
    """Values show as their kind deserves, and the last one is `_`, as ever."""

    def display(value: object) -> None:
        if value is not None:
            show_result(value, console)
            builtins._ = value  # type: ignore[attr-defined]

    before, sys.displayhook = sys.displayhook, display
    try:
        yield
    finally:
        sys.displayhook = before


def _greet(session: Session, console: Console) -> None:
    where = "a sandbox" if session.request.sandbox else "Python"
    console.print(Text(f"{where} with {', '.join(session.functions)}", style="dim"))
    held = ", ".join(session.files) or "none: --files FILE brings some"
    console.print(Text(f"files: {held} · help(verify_claim) · Ctrl-D ends", style="dim"))


def _names(names: dict[str, Any]) -> Callable[[str], list[str]]:
    known = Completer(names)

    def complete(begun: str) -> list[str]:
        found = (known.complete(begun, n) for n in range(50)) if begun else iter(())
        return [name for name in found if name]

    return complete


def _look() -> dict[str, Any]:
    if find_spec("prompt_toolkit") is None:
        return {}
    from prompt_toolkit.lexers import PygmentsLexer

    return {"lexer": PygmentsLexer.from_filename("repl.py")}


def _script() -> str:
    return stdin_bytes().read().decode("utf-8", "replace")


def _say(words: str) -> None:
    print(f"groundwire: {words}", file=sys.stderr)
