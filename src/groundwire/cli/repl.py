"""`groundwire repl`: Python with the verification functions at hand, plain or sandboxed."""

from __future__ import annotations

import ast
import builtins
import sys
from code import InteractiveConsole
from codeop import compile_command
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
    edit_lines,
    is_interactive,
    print_line,
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
            code = _run(session, SandboxConsole(session, console) if sandbox else PlainConsole(session, console))
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


class PlainConsole(InteractiveConsole):
    """Python in this process. Errors that the user can fix are one line; others show their traceback."""

    where = "Python"

    def __init__(self, session: ReplSession, console: Console) -> None:
        names = namespace(session.functions, session.files)
        super().__init__({"__name__": "__console__", "__builtins__": builtins, **names})
        self.console = console
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

    def run_script(self, source: str) -> bool:
        """Run statements one by one up to the first that fails, and show their values; False if one does."""
        try:
            statements = ast.parse(source, "<stdin>").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.showsyntaxerror("<stdin>")
            return False
        for statement in statements:
            self.runcode(compile(ast.Interactive([statement]), "<stdin>", "single"))
            if self.failed:
                return False
        return True

    def close(self) -> None:
        """Free what the console holds."""


class SandboxConsole(PlainConsole):
    where = "a sandbox"

    def __init__(self, session: ReplSession, console: Console) -> None:
        super().__init__(session, console)
        self.locals = dict(session.functions)  # what Tab completes
        self._sandbox = Sandbox(session.functions, session.files, session.config.sandbox)

    def runsource(self, source: str, *_: Any, **__: Any) -> bool:
        """Run the lines typed so far; True if the statement is not complete yet."""
        try:
            complete = compile_command(source) is not None
        except (SyntaxError, ValueError, OverflowError):
            complete = True  # the sandbox reports the error
        if complete and source.strip():
            self.run_script(source)
        return not complete

    def run_script(self, source: str) -> bool:
        output = run(self._sandbox.run(source))
        if output.stdout:
            print_line(self.console, output.stdout.rstrip("\n"))
        if output.value is not None:
            show_result(output.value, self.console)
        if output.error:
            print_line(self.console, output.error, "red")
        return output.error is None

    def close(self) -> None:
        run(self._sandbox.aclose())


def _run(session: ReplSession, console: PlainConsole) -> ExitCode:
    try:
        if not is_interactive():
            done = console.run_script(stdin_bytes().read().decode("utf-8", "replace"))
            return ExitCode.OK if done else ExitCode.BAD_INPUT
        print_line(console.console, f"{console.where} with {', '.join(session.functions)}", "dim")
        files = ", ".join(session.files) or "none: --files FILE adds one"
        print_line(console.console, f"files: {files} · help(verify_claim) · Ctrl-D ends", "dim")
        edit_lines(session.config, "repl", Completer(console.locals).complete)
        console.interact(banner="", exitmsg="")
        return ExitCode.OK
    finally:
        console.close()


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
