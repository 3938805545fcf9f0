"""Display of a chat: tokens as they arrive, the answer with unsupported parts marked, one verdict line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from groundwire.agent.checkpoint import is_uncertain
from groundwire.agent.orchestrator import AgentResult
from groundwire.agent.trajectory import Event, EventKind
from groundwire.config import VerificationConfig
from groundwire.reports.plaintext import bracket_spans, shorten, split_at_spans
from groundwire.text.controls import sanitize
from groundwire.types import ClaimKind, HallucinationReport, Span, Status

_SCREEN_MARGIN = 3
"""Lines left free below the growing answer, for the prompt and the verdict."""
_TAIL_CHARS = 8000
"""Characters of a growing answer that are wrapped on every refresh: more than a screen holds."""
_LINE_CHARS = 200
"""Length of a claim or a reason on one line."""


@dataclass(frozen=True, slots=True)
class FailedClaim:
    """A claim that failed verification, and why."""

    claim: str
    status: str
    text: str
    reason: str


class ChatView:
    """Shows one answer at a time. Events arrive on another thread than the one that waits for the answer."""

    def __init__(self, console: Console, settings: VerificationConfig) -> None:
        self.console = console
        self._settings = settings
        self._words = ""
        self._draft = ""
        self._verification: Mapping[str, Any] = {}

    @contextmanager
    def live(self) -> Iterator[None]:
        """Show the tokens as they arrive, and erase them when the block ends."""
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

    def on_event(self, event: Event) -> None:
        """Show an event of the orchestrator. Recursive calls of the model are left to the trajectory."""
        if event.depth:
            return
        data: Mapping[str, Any] = event.data
        if event.kind is EventKind.TOKEN:
            self._words += data["text"]
        elif event.kind is EventKind.ANSWER:
            self._words, self._draft = "", data["text"]
        elif event.kind is EventKind.VERIFICATION:
            self._verification = data
        elif event.kind in _SHOWN_FIELDS:
            self._words = ""
            self._show_step(event.kind, data)

    def _show_step(self, kind: EventKind, data: Mapping[str, Any]) -> None:
        if kind is EventKind.RETRY:
            self._show_draft()
            what = f"↻ asked again with the evidence, {data['attempt']} of {self._settings.max_retries}"
            self.console.print(Text(what, style="yellow"))
            self.console.print()
            return
        text = str(data.get(_SHOWN_FIELDS[kind]) or "").strip()
        if text:
            self.console.print(Text(f"· {kind.value}: {shorten(text, _LINE_CHARS)}", style="dim"))

    def _show_draft(self) -> None:
        report = self._verification.get("report") or {"spans": [], "claims": []}
        spans = [Span(s["start"], s["end"], s["score"]) for s in report["spans"]]
        failed = set(self._verification.get("uncertain", ()))
        failed_claims = [
            FailedClaim(c["id"], Status(c["status"]).words, c["text"], c["reason"])
            for c in report["claims"]
            if c["id"] in failed
        ]
        self._show(self._draft, spans, failed_claims)

    def show_outcome(self, outcome: AgentResult) -> None:
        """Print the final answer with its verdict."""
        report = outcome.report
        claims = report.claims if report else ()
        failed_claims = [
            FailedClaim(c.claim_id, c.status.words, c.claim_text, c.reason)
            for c in claims
            if is_uncertain(c, self._settings)
        ]
        self._show(outcome.answer or "(no answer)", report.spans if report else (), failed_claims)
        if report is not None and claims:
            self.console.print(verdictshorten(report, len(failed_claims), outcome.retries))
        for words in (outcome.skipped and f"not verified: {outcome.skipped}", outcome.stopped):
            if words:
                self.console.print(Text(words, style="dim"))
        if outcome.error:
            self.console.print(Text(f"could not be verified: {sanitize(outcome.error)}", style="yellow"))
        if outcome.asked:
            self.console.print(Text(f"{sanitize(outcome.asked)} (/again)", style="yellow"))

    def _show(self, answer: str, spans: Sequence[Span], failed_claims: Sequence[FailedClaim]) -> None:
        self.console.print(self._mark(answer, spans), soft_wrap=not self.console.is_terminal)
        for claim in failed_claims:
            line = Text().append(f"✗ {claim.claim} {claim.status}  ", style="red")
            line.append(shorten(claim.text, _LINE_CHARS)).append(f"  {shorten(claim.reason, _LINE_CHARS)}", style="dim")
            self.console.print(line, soft_wrap=not self.console.is_terminal)

    def _mark(self, answer: str, spans: Sequence[Span]) -> Text:
        text = sanitize(answer)
        if self.console.no_color or not self.console.is_terminal:
            return Text(bracket_spans(text, spans))
        shown = Text()
        for piece in split_at_spans(text, spans):
            shown.append(piece.text, style="bold red underline" if piece.marked else "")
        return shown

    def _tail(self) -> Text:
        """The last lines of the growing answer, as many as fit on the screen."""
        words = Text(sanitize(self._words[-_TAIL_CHARS:]), style="dim")
        lines = words.wrap(self.console, max(10, self.console.width))
        room = max(1, self.console.height - _SCREEN_MARGIN)
        return Text("\n").join(lines[-room:]) if words.plain else Text("…", style="dim")


_SHOWN_FIELDS = {
    EventKind.CODE: "code",
    EventKind.OUTPUT: "error",
    EventKind.STOPPED: "reason",
    EventKind.RETRY: "guidance",
}


def verdictshorten(report: HallucinationReport, failed: int, retries: int = 0) -> Text:
    """How many claims there are, how many were verified and failed, and the risk of the answer."""
    verified = report.total_claims
    total = verified + sum(claim.kind is ClaimKind.ASSERTION for claim in report.skipped)
    claims = f"{total} claim{'' if total == 1 else 's'}"
    checked = "" if verified == total else f", {verified} verified"
    risk = "unknown" if report.risk is None else f"{report.risk:.2f}"
    style = "red" if failed else "yellow" if report.flagged is None else "green"
    retried = f" · after {retries} retr{'y' if retries == 1 else 'ies'}" if retries else ""
    summary = f"{'✗' if failed else '✓'} {claims}{checked}, {failed} flagged"
    return Text().append(summary, style=f"bold {style}").append(f" · risk {risk}{retried}", style="dim")
