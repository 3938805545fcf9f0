"""The report on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groundwire.reports.flags import counts, show_flags
from groundwire.reports.marks import annotated, clean, opinion, pieces
from groundwire.reports.quote import speaking
from groundwire.types import ClaimVerification, HallucinationReport, Status

STYLE = {
    Status.ENTAILED: "green",
    Status.CONTRADICTED: "bold red",
    Status.NOT_IN_CONTEXT: "red",
    Status.UNVERIFIABLE: "yellow",
    Status.UNCHECKED: "yellow",
}
EVIDENCE_WIDTH = 160
TABLE_WIDTH = 100
"""Narrower than this, a table would leave a claim a column of a few letters: each gets lines of its own."""


def show(report: HallucinationReport, console: Console) -> None:
    """The answer with its unsupported parts marked, a row a claim, and the sum of it."""
    console.print(_answer(report, colour=console.is_terminal and not console.no_color))
    console.print()
    show_claims(report.claims, console)
    for claim in report.skipped:
        console.print(Text(f"  skipped ({claim.kind.value}): {short(claim.text)}", style="dim"))
    show_flags(report, console)
    console.print(_verdict(report))


def show_claims(claims: Sequence[ClaimVerification], console: Console) -> None:
    """A row a claim, or where there is no room for rows, a few lines."""
    if claims and console.width >= TABLE_WIDTH:
        console.print(_table(claims))
    elif claims:
        console.print(Group(*(_block(claim) for claim in claims)))


def _answer(report: HallucinationReport, colour: bool) -> RenderableType:
    response = clean(report.response.rstrip())
    if not colour:
        return Text(annotated(response, report.spans))
    text = Text()
    for piece in pieces(response, report.spans):
        text.append(piece.text, style="bold red underline" if piece.marked else "")
    return text


def _table(claims: Sequence[ClaimVerification]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold", expand=False)
    for name in ("", "status"):
        table.add_column(name, no_wrap=True)
    for name in ("p1", "p0", "need", "seen", "gap"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("cites", overflow="fold", max_width=16)
    table.add_column("claim, evidence, reason", overflow="fold", ratio=1)
    for claim in claims:
        table.add_row(*_cells(claim))
    return table


def _cells(claim: ClaimVerification) -> list[RenderableType]:
    status = Text(claim.status.value, style=STYLE[claim.status])
    cites = Text(short(", ".join(claim.citations)) or "–")
    bits = (claim.required_bits, claim.observed_bits, claim.budget_gap)
    numbers: list[RenderableType] = [number(claim.p1, 2), number(claim.p0, 2)]
    gap_style = "red" if claim.is_flagged else "green"
    numbers += [number(bits[0], 1), number(bits[1], 1), Text(number(bits[2], 1), style=gap_style)]
    return [claim.claim_id, status, *numbers, cites, Padding(Group(*_story(claim)), (0, 0, 1, 0))]


def _block(claim: ClaimVerification) -> RenderableType:
    """What a table's row says, for a narrow terminal."""
    head = Text(f"{claim.claim_id}  ").append(claim.status.value, style=STYLE[claim.status])
    if claim.citations:
        head.append(f"  cites {short(', '.join(claim.citations))}")
    lines = _story(claim)
    if claim.p1 is not None:
        bits = zip(
            ("need", "seen", "gap"), (claim.required_bits, claim.observed_bits, claim.budget_gap), strict=True
        )
        figures = [f"p1 {number(claim.p1, 2)}", f"p0 {number(claim.p0, 2)}"]
        figures += [f"{name} {number(value, 1)}" for name, value in bits]
        lines.append(Text(" · ".join(figures), style="dim"))
    return Group(head, Padding(Group(*lines), (0, 0, 1, 4)))


def _story(claim: ClaimVerification) -> list[RenderableType]:
    lines: list[RenderableType] = [Text(short(claim.claim_text))]
    ref = speaking(claim)
    if ref is not None:
        lines.append(Text(f"{short(ref.source)}: “{short(ref.text)}”", style="dim"))
    lines.append(Text(short(claim.reason), style="red" if claim.is_flagged else "dim"))
    if claim.feedback:
        lines.append(Text(short(opinion(claim.feedback)), style="cyan"))
    return lines


def number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def _verdict(report: HallucinationReport) -> Text:
    what = " · ".join(counts(report))
    risk = "unknown" if report.risk is None else f"{report.risk:.2f}"
    facts = f"risk {risk} · backend {report.backend} · profile {report.profile}"
    style = "bold green" if report.flagged is False else "bold red" if report.flagged else "bold yellow"
    text = Text(f"{what} · ", style=style)
    text.append(facts, style="dim")
    if report.error:
        text.append(f"\n{clean(report.error)}", style="yellow")
    return text


def short(text: str) -> str:
    one_line = " ".join(clean(text).split())
    return one_line if len(one_line) <= EVIDENCE_WIDTH else one_line[: EVIDENCE_WIDTH - 1] + "…"
