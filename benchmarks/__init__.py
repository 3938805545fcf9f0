"""Benchmarks of groundwire itself. They need a checkout and are not part of the wheel.

Run one with `python -m benchmarks.NAME` or `make bench-NAME`. What users measure on their own data is
`groundwire bench`.
"""

from __future__ import annotations

import sys

import typer

from groundwire.errors import GroundwireError


def command() -> typer.Typer:
    """A Typer application for a module's one command."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def run(app: typer.Typer) -> None:
    """Run the command. Errors that the user can fix are printed in one line, as the CLI does."""
    try:
        app()
    except GroundwireError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
