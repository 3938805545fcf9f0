"""`groundwire feedback`: people say which verdicts were right."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from groundwire.cli.options import ConfigFile, Store, settings
from groundwire.cli.streams import open_console


class _OrMark(TyperGroup):
    """`feedback c2 wrong` is `feedback mark c2 wrong`: what names no command names a claim."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = args and (args[0] in self.commands or args[0].startswith("-"))
        return super().resolve_command(ctx, args if known else ["mark", *args])


app = typer.Typer(rich_markup_mode=None)
feedback = typer.Typer(
    cls=_OrMark,
    help="Say whether a verdict was right: groundwire feedback CLAIM right|wrong.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(feedback, name="feedback")


@feedback.command()
def mark(
    claim: Annotated[str, typer.Argument(help="c2 of the last check here, or a claim's key.")],
    verdict: Annotated[str, typer.Argument(metavar="right|wrong", help="Was the verdict right?")],
    note: Annotated[str, typer.Option(help="Why; shown with the verdict from then on.")] = "",
    report: Annotated[Path | None, typer.Option(help="The report it stands in: JSON, or JSON lines.")] = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Keep an opinion on a verdict (`mark` may be left out)."""
    from groundwire.cli.feedback import run_mark

    raise typer.Exit(run_mark(claim, verdict, note, report, settings(config, store=store), open_console()))


@feedback.command("list")
def list_(store: Store = None, config: ConfigFile = None) -> None:
    """What was said of which claim, newest first."""
    from groundwire.cli.feedback import run_list

    raise typer.Exit(run_list(settings(config, store=store), open_console()))


@feedback.command()
def export(
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write to this file.")] = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Every marked claim with its figures and its label, a JSON object a line."""
    from groundwire.cli.feedback import run_export

    raise typer.Exit(run_export(out, settings(config, store=store)))


@feedback.command()
def forget(
    claim: Annotated[str, typer.Argument(help="A claim's key.")],
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Take back what was said of a claim."""
    from groundwire.cli.feedback import run_forget

    raise typer.Exit(run_forget(claim, settings(config, store=store), open_console()))
