"""The report on a terminal."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groundwire.report.marks import annotated, pieces
from groundwire.types import ClaimVerification, HallucinationReport, Status

_STYLE = {
    Status.ENTAILED: "green",
    Status.CONTRADICTED: "bold red",
    Status.NOT_IN_CONTEXT: "red",
    Status.UNVERIFIABLE: "yellow",
    Status.UNCHECKED: "yellow",
}
EVIDENCE_WIDTH = 160


def show(report: HallucinationReport, console: Console) -> None:
    """The answer with its unsupported parts marked, a row a claim, and the sum of it."""
    console.print(_answer(report, colour=console.is_terminal and not console.no_color))
    console.print()
    if report.claims:
        console.print(_table(report))
    for claim in report.skipped:
        console.print(Text(f"  skipped ({claim.kind.value}): {_short(claim.text)}", style="dim"))
    console.print(_verdict(report))


def _answer(report: HallucinationReport, colour: bool) -> RenderableType:
    if not colour:
        return Text(annotated(clean(report.response), report.spans))
    text = Text()
    for piece in pieces(clean(report.response), report.spans):
        text.append(piece.text, style="bold red underline" if piece.marked else "")
    return text


def _table(report: HallucinationReport) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold", expand=False)
    for name in ("", "status"):
        table.add_column(name, no_wrap=True)
    for name in ("p1", "p0", "need", "seen", "gap"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("cites", no_wrap=True)
    table.add_column("claim, evidence, reason", overflow="fold", ratio=1)
    for claim in report.claims:
        table.add_row(*_cells(claim))
    return table


def _cells(claim: ClaimVerification) -> list[RenderableType]:
    status = Text(claim.status.value, style=_STYLE[claim.status])
    bits = (claim.required_bits, claim.observed_bits, claim.budget_gap)
    numbers: list[RenderableType] = [_number(claim.p1, 2), _number(claim.p0, 2)]
    gap_style = "red" if claim.is_flagged else "green"
    numbers += [_number(bits[0], 1), _number(bits[1], 1), Text(_number(bits[2], 1), style=gap_style)]
    return [claim.claim_id, status, *numbers, escape(", ".join(claim.citations) or "–"), _story(claim)]


def _story(claim: ClaimVerification) -> RenderableType:
    lines: list[RenderableType] = [Text(_short(claim.claim_text))]
    if claim.evidence:
        ref = claim.evidence[0]
        lines.append(Text(f"{ref.source}: “{_short(ref.text)}”", style="dim"))
    lines.append(Text(_short(claim.reason), style="red" if claim.is_flagged else "dim"))
    return Padding(Group(*lines), (0, 0, 1, 0))


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")


def _verdict(report: HallucinationReport) -> Text:
    what = f"{report.flagged_claims} of {report.total_claims} claims flagged"
    facts = f"risk {report.risk:.2f} · backend {report.backend} · profile {report.profile}"
    style = "bold green" if report.flagged is False else "bold red" if report.flagged else "bold yellow"
    text = Text(f"{what} · ", style=style)
    text.append(facts, style="dim")
    if report.error:
        text.append(f"\n{report.error}", style="yellow")
    return text


def clean(text: str) -> str:
    """Control characters of hostile text must not reach the terminal; offsets stay as they are."""
    return text.translate(_VISIBLE)


_BIDI_CONTROLS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_VISIBLE: dict[int, str] = {
    **dict.fromkeys((*range(32), *range(127, 160), *range(0xD800, 0xE000)), "\ufffd"),
    **dict.fromkeys(map(ord, _BIDI_CONTROLS), "\ufffd"),
    **{ord("\n"): "\n", ord("\t"): "\t", ord("\r"): " "},
}


def _short(text: str) -> str:
    one_line = " ".join(clean(text).split())
    return one_line if len(one_line) <= EVIDENCE_WIDTH else one_line[: EVIDENCE_WIDTH - 1] + "…"
