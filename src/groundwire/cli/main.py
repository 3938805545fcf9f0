"""The command line. The module of a command is imported when the command runs.

That keeps start-up short: a command loads only the libraries it needs, and the help text none of them.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from importlib import import_module
from io import StringIO, TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from groundwire.cli.console import ExitCode, warn
from groundwire.cli.options import APPS
from groundwire.errors import GroundwireError
from groundwire.text.controls import sanitize
from groundwire.version import __version__

COMMANDS = {
    "check": "Judge every claim of an answer by its sources.",
    "batch": "Judge many responses.",
    "compare": "Show what changed between two batch runs.",
    "calibrate": "Set the operating point from labelled rows.",
    "schema": "Print the JSON Schema of reports.",
    "doctor": "Show what is configured, reachable and installed.",
    "chat": "Talk with a language model whose answers are verified.",
    "guard": "Stop a model while it writes if its sources contradict it.",
    "repl": "Python with the verification functions at hand.",
    "audit": "Judge each step of a reasoning trace.",
    "trajectory": "Show what runs of the orchestrator did.",
    "rag": "Answer questions from documents, with verified claims.",
    "kb": "Inspect, fill and export a knowledge base.",
    "facts": "Facts that must be verified before they are stored.",
    "feedback": "Mark verdicts as right or wrong.",
    "serve": "Serve HTTP: the API, the page and the proxy.",
    "keys": "API keys of the HTTP service.",
    "mcp": "Serve the tools to an MCP client.",
    "install": "Connect a coding assistant to groundwire.",
    "uninstall": "Take away what install wrote.",
    "hook": "Compare an assistant's answer with its tool results.",
    "metta": "Run a MeTTa program.",
    "bench": "Measure groundwire on this machine.",
}
"""The commands in the order of the help text; each is declared in the module of that name, or in `_MODULES`."""
_MODULES = {
    "compare": "batch",
    "schema": "check",
    "keys": "serve",
    "mcp": "serve",
    "uninstall": "install",
    "hook": "install",
}


class _Escaped(Exception):
    """Wraps an error on its way past Typer, which would exit with 1 for it; 1 means "flagged" here."""


class _LazyGroup(TyperGroup):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """A command, whose module is imported on first use."""
        if cmd_name not in COMMANDS:
            return None
        import_module(f"groundwire.cli.{_MODULES.get(cmd_name, cmd_name)}")
        return typer.main.get_command(APPS[cmd_name])

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (EOFError, OSError) as error:
            raise _Escaped from error
        except Exception as error:
            if hasattr(error, "format_message"):  # a usage error, which quotes the arguments
                error.message = sanitize(str(error.message))  # type: ignore[attr-defined]
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(
    name="groundwire",
    cls=_LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False) -> None:
    """How many bits of evidence support each claim that an LLM makes."""
    if version:
        print(f"groundwire {__version__}")
        raise typer.Exit


def main() -> NoReturn:
    """Run the command line. Errors that the user can fix are one line; anything else shows its traceback and
    exits with 3, since nothing was checked.
    """
    if sys.stdout is None:  # closed by the shell (>&-)
        sys.stdout = StringIO()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Characters that the encoding lacks are escaped; JSON reads the escape as the same character.
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = lambda message, *_, **__: warn(str(message))
    try:
        app()
    except GroundwireError as error:
        warn(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        warn("interrupted")
        sys.exit(ExitCode.INTERRUPTED)
    except Exception as error:
        failure = error.__cause__ if isinstance(error, _Escaped) else error
        if isinstance(failure, BrokenPipeError):
            sys.stderr.close()
            sys.exit(ExitCode.OK)
        sys.stderr.write(sanitize("".join(traceback.format_exception(failure))))
        warn("an unexpected error, see above")
        sys.exit(ExitCode.COULD_NOT_CHECK)
    sys.exit(ExitCode.OK)


if __name__ == "__main__":
    main()
