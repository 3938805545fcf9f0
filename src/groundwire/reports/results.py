"""Any result on a terminal as its kind deserves: claims as a table, an audit by steps, the rest as it is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

from rich.console import Console
from rich.pretty import Pretty
from rich.text import Text

from groundwire.reports.audit import show_audit
from groundwire.reports.marks import clean
from groundwire.reports.terminal import show, show_claims
from groundwire.types import ClaimVerification, Detection, HallucinationReport, TraceAudit

_LONG = 20_000
_ITEMS = 200


@singledispatch
def show_result(result: object, console: Console) -> None:
    """Anything else: as Python writes it, in colour, and not without end."""
    if isinstance(result, Sequence) and result and all(isinstance(r, ClaimVerification) for r in result):
        show_claims(result, console)
    elif isinstance(result, str):
        console.print(Text(clean(repr(result)[:_LONG])))
    else:
        console.print(Pretty(result, max_length=_ITEMS, max_string=_LONG))


@show_result.register
def _(result: HallucinationReport, console: Console) -> None:
    show(result, console)


@show_result.register
def _(result: ClaimVerification, console: Console) -> None:
    show_claims([result], console)


@show_result.register
def _(result: TraceAudit, console: Console) -> None:
    show_audit(result, console)


@show_result.register
def _(result: Detection, console: Console) -> None:
    for flag in result.flags:
        console.print(
            Text(f"{flag.type.value} {flag.confidence:.2f}  ", style="bold red").append(clean(flag.content))
        )
        for words in (flag.evidence, flag.suggestion):
            if words:
                console.print(Text(clean(f"    {words}"), style="dim"))
    if not result.flags:
        console.print(Text("nothing found", style="green"))
