"""`groundwire repl`: Python with the verification functions at hand, plain or sandboxed."""

from __future__ import annotations

import ast
import builtins
import sys
from code import InteractiveInterpreter
from codeop import compile_command
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from rlcompleter import Completer
from traceback import format_exception, format_exception_only
from typing import Annotated, Any

import typer
from rich.console import Console

from groundwire._loop import run
from groundwire.agent.orchestrator import Orchestrator
from groundwire.agent.sandbox import Evidence, Function, Sandbox, functions_for, namespace
from groundwire.cli.console import (
    ExitCode,
    InputReader,
    ReadLine,
    is_interactive,
    print_line,
    read_from_terminal,
    safe_stdout,
    stdin_bytes,
)
from groundwire.cli.options import Files, Model, Provider, command
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError, InputError
from groundwire.llm import Generator, open_chat_model
from groundwire.reports.terminal import show_result
from groundwire.requests import as_sources

Feed = Callable[[str], bool]
"""Runs the statement typed so far; returns True if it is not complete yet."""


@command("backend")
def repl(
    files: Files = None,
    sandbox: Annotated[bool, typer.Option("--sandbox", help="Run the code in a sandbox.")] = False,
    provider: Provider = None,
    model: Model = None,
    *,
    config: Config,
    console: Console,
    generator: Generator | None = None,
) -> int:
    """Python with verify_claim, audit_trace, llm and the others at hand; code may be piped in."""
    if "-" in (files or ()) and not is_interactive():
        raise InputError("stdin cannot be both a source and the code")
    session = ReplSession(config, files or (), lambda: generator or open_chat_model(config, provider, model))
    code: int = ExitCode.OK
    try:
        with safe_stdout(), _display_hook(console):
            code = (_run_sandboxed if sandbox else _run_plain)(session, console)
    except SystemExit as end:  # exit(n) sets the exit code
        code = end.code if isinstance(end.code, int) else ExitCode.OK
    finally:
        session.close()
    return code


class ReplSession:
    """The engine, the files and the functions of a REPL. The model is opened on first use."""

    def __init__(self, config: Config, files: Sequence[str], open_model: Callable[[], Generator]) -> None:
        self.config = config
        self.engine = Groundwire(config, backend=config.verification.backend)
        self._open_model = open_model
        self._generator: Generator | None = None
        self.files = {source.origin or source.id: source.text for source in InputReader(config).sources(files)}
        self.functions: dict[str, Function] = functions_for(self.engine, self.ask)

    async def ask(self, query: str, context: Evidence = "", *, verify: bool = True) -> str:
        """Ask the model about a text, or about the files."""
        if self._generator is None:
            self._generator = self._open_model()
        orchestrator = Orchestrator(self._generator, self.engine, self.config)
        given = {source.id: source.text for source in as_sources(context)} if context else self.files
        outcome = await orchestrator.process(query, given, verify=verify)
        return outcome.text

    def close(self) -> None:
        run(self.engine.aclose())
        if self._generator is not None:
            run(self._generator.aclose())


class PlainInterpreter(InteractiveInterpreter):
    """Python in this process. Errors that the user can fix are one line; others show their traceback."""

    def __init__(self, names: Mapping[str, object]) -> None:
        super().__init__({"__name__": "__console__", "__builtins__": builtins, **names})
        self.failed = False

    def showtraceback(self) -> None:
        """Print the traceback without our own frame, bypassing `sys.excepthook`."""
        self.failed = True
        error = sys.exc_info()[1]
        if isinstance(error, GroundwireError) or error is None:
            self.write(f"{type(error).__name__}: {error}\n")
            return
        frames = error.__traceback__.tb_next if error.__traceback__ else None
        self.write("".join(format_exception(type(error), error, frames)))

    def showsyntaxerror(self, filename: str | None = None, **_: Any) -> None:  # noqa: ARG002
        self.failed = True
        self.write("".join(format_exception_only(sys.exc_info()[1])))

    def run_script(self, source: str) -> None:
        """Run statements one by one up to the first that fails, and show their values."""
        try:
            statements = ast.parse(source, "<stdin>").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.showsyntaxerror("<stdin>")
            return
        for statement in statements:
            self.runcode(compile(ast.Interactive([statement]), "<stdin>", "single"))
            if self.failed:
                return


def _run_plain(session: ReplSession, console: Console) -> ExitCode:
    plain = PlainInterpreter(namespace(session.functions, session.files))
    if not is_interactive():
        plain.run_script(_read_script())
        return ExitCode.BAD_INPUT if plain.failed else ExitCode.OK
    _converse(session, plain.locals, plain.runsource, console, "Python")
    return ExitCode.OK


def _run_sandboxed(session: ReplSession, console: Console) -> ExitCode:
    sandbox = Sandbox(session.functions, session.files, session.config.sandbox)
    try:
        if not is_interactive():
            return ExitCode.OK if _execute(sandbox, _read_script(), console) else ExitCode.BAD_INPUT
        names = dict(session.functions)
        _converse(session, names, lambda source: _feed(sandbox, source, console), console, "a sandbox")
        return ExitCode.OK
    finally:
        run(sandbox.aclose())


def _feed(sandbox: Sandbox, source: str, console: Console) -> bool:
    try:
        complete = compile_command(source) is not None
    except (SyntaxError, ValueError, OverflowError):
        complete = True  # the sandbox reports the error
    if complete and source.strip():
        _execute(sandbox, source, console)
    return not complete


def _execute(sandbox: Sandbox, source: str, console: Console) -> bool:
    output = run(sandbox.run(source))
    if output.stdout:
        print_line(console, output.stdout.rstrip("\n"))
    if output.value is not None:
        show_result(output.value, console)
    if output.error:
        print_line(console, output.error, "red")
    return output.error is None


def converse(read: ReadLine, feed: Feed, console: Console) -> None:
    """Read and run statements until the end of input. Ctrl-C drops the unfinished statement."""
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
def _display_hook(console: Console) -> Iterator[None]:
    """Show values by their type, and keep the last one as `_`, as Python does."""

    def display(value: object) -> None:
        if value is not None:
            show_result(value, console)
            builtins._ = value  # type: ignore[attr-defined]

    before, sys.displayhook = sys.displayhook, display
    try:
        yield
    finally:
        sys.displayhook = before


def _converse(session: ReplSession, names: dict[str, Any], feed: Feed, console: Console, where: str) -> None:
    print_line(console, f"{where} with {', '.join(session.functions)}", "dim")
    files = ", ".join(session.files) or "none: --files FILE adds one"
    print_line(console, f"files: {files} · help(verify_claim) · Ctrl-D ends", "dim")
    converse(read_from_terminal(session.config, "repl", _name_completer(names), **_highlighting()), feed, console)


def _name_completer(names: dict[str, Any]) -> Callable[[str], list[str]]:
    known = Completer(names)

    def complete(prefix: str) -> list[str]:
        found = (known.complete(prefix, n) for n in range(50)) if prefix else iter(())
        return [name for name in found if name]

    return complete


def _highlighting() -> dict[str, Any]:
    if find_spec("prompt_toolkit") is None:
        return {}
    from prompt_toolkit.lexers import PygmentsLexer

    return {"lexer": PygmentsLexer.from_filename("repl.py")}


def _read_script() -> str:
    return stdin_bytes().read().decode("utf-8", "replace")
