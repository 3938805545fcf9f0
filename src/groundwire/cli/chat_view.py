"""What a chat shows: words as they come, the answer with its unsupported parts marked, one verdict line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from groundwire.agent.checkpoint import is_uncertain
from groundwire.agent.orchestrator import Outcome
from groundwire.agent.trajectory import Event, Kind
from groundwire.config import VerificationConfig
from groundwire.reports.plaintext import bracket_spans, sanitize, split_at_spans
from groundwire.types import ClaimKind, HallucinationReport, Span

_MARGIN = 3
_TAIL = 8000
_LINE = 200


@dataclass(frozen=True, slots=True)
class Doubt:
    """A claim that fails, and why."""

    claim: str
    status: str
    text: str
    reason: str


class View:
    """Draws one answer at a time. Events come from another thread than the one that waits for the answer."""

    def __init__(self, console: Console, settings: VerificationConfig) -> None:
        self.console = console
        self._settings = settings
        self._words = ""
        self._draft = ""
        self._verification: Mapping[str, Any] = {}

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While an answer is made its words are shown as they come; they go when the answer stands."""
        self._words = self._draft = ""
        self._verification = {}
        if not self.console.is_terminal:
            yield
            return
        try:
            with Live(console=self.console, get_renderable=self._tail, transient=True, refresh_per_second=12):
                yield
        except KeyboardInterrupt:
            if self._words:
                self.console.print(Text(sanitize(self._words), style="dim"))
            raise

    def watch(self, event: Event) -> None:
        """What happens on the way to the answer; calls of the model to itself stay in the trajectory."""
        if event.depth:
            return
        data: Mapping[str, Any] = event.data
        if event.kind is Kind.TOKEN:
            self._words += data["text"]
        elif event.kind is Kind.ANSWER:
            self._words, self._draft = "", data["text"]
        elif event.kind is Kind.VERIFICATION:
            self._verification = data
        elif event.kind in _TOLD:
            self._words = ""
            self._tell(event.kind, data)

    def _tell(self, kind: Kind, data: Mapping[str, Any]) -> None:
        if kind is Kind.RETRY:
            self._show_draft()
            what = f"↻ asked again with the evidence, {data['attempt']} of {self._settings.max_retries}"
            self.console.print(Text(what, style="yellow"))
            self.console.print()
            return
        text = str(data.get(_TOLD[kind]) or "").strip()
        if text:
            self.console.print(Text(f"· {kind.value}: {_line(text)}", style="dim"))

    def _show_draft(self) -> None:
        report = self._verification.get("report") or {"spans": [], "claims": []}
        spans = [Span(s["start"], s["end"], s["score"]) for s in report["spans"]]
        failed = set(self._verification.get("uncertain", ()))
        doubts = [
            Doubt(c["id"], c["status"], c["text"], c["reason"]) for c in report["claims"] if c["id"] in failed
        ]
        self._show(self._draft, spans, doubts)

    def outcome(self, outcome: Outcome) -> None:
        """The answer as it stands, and what is known of it."""
        report = outcome.report
        claims = report.claims if report else ()
        doubts = [
            Doubt(c.claim_id, c.status.value, c.claim_text, c.reason)
            for c in claims
            if is_uncertain(c, self._settings)
        ]
        self._show(outcome.answer or "(no answer)", report.spans if report else (), doubts)
        if report is not None and claims:
            self.console.print(verdict_line(report, len(doubts), outcome.retries))
        for words in (outcome.skipped and f"not verified: {outcome.skipped}", outcome.stopped):
            if words:
                self.console.print(Text(words, style="dim"))
        if outcome.error:
            self.console.print(Text(f"could not be verified: {sanitize(outcome.error)}", style="yellow"))
        if outcome.asked:
            self.console.print(Text(f"{sanitize(outcome.asked)} (/again)", style="yellow"))

    def _show(self, answer: str, spans: Sequence[Span], doubts: Sequence[Doubt]) -> None:
        self.console.print(self._marked(answer, spans), soft_wrap=not self.console.is_terminal)
        for doubt in doubts:
            line = Text().append(f"✗ {doubt.claim} {doubt.status}  ", style="red")
            line.append(_line(doubt.text)).append(f"  {_line(doubt.reason)}", style="dim")
            self.console.print(line, soft_wrap=not self.console.is_terminal)

    def _marked(self, answer: str, spans: Sequence[Span]) -> Text:
        text = sanitize(answer)
        if self.console.no_color or not self.console.is_terminal:
            return Text(bracket_spans(text, spans))
        shown = Text()
        for piece in split_at_spans(text, spans):
            shown.append(piece.text, style="bold red underline" if piece.marked else "")
        return shown

    def _tail(self) -> Text:
        """The last lines of what was written so far: as much as the screen holds."""
        words = Text(sanitize(self._words[-_TAIL:]), style="dim")
        lines = words.wrap(self.console, max(10, self.console.width))
        room = max(1, self.console.height - _MARGIN)
        return Text("\n").join(lines[-room:]) if words.plain else Text("…", style="dim")


_TOLD = {Kind.CODE: "code", Kind.OUTPUT: "error", Kind.STOPPED: "reason", Kind.RETRY: "guidance"}


def verdict_line(report: HallucinationReport, failed: int, retries: int = 0) -> Text:
    """How many claims there are, how many were looked at, how many fail, and how risky it is."""
    seen = report.total_claims
    made = seen + sum(claim.kind is ClaimKind.ASSERTION for claim in report.skipped)
    claims = f"{made} claim{'' if made == 1 else 's'}"
    looked = "" if seen == made else f", {seen} looked at"
    risk = "unknown" if report.risk is None else f"{report.risk:.2f}"
    style = "red" if failed else "yellow" if report.flagged is None else "green"
    again = f" · after {retries} retr{'y' if retries == 1 else 'ies'}" if retries else ""
    said = f"{'✗' if failed else '✓'} {claims}{looked}, {failed} flagged"
    return Text().append(said, style=f"bold {style}").append(f" · risk {risk}{again}", style="dim")


def _line(text: str) -> str:
    one = " ".join(sanitize(text).split())
    return one if len(one) <= _LINE else one[: _LINE - 1] + "…"
