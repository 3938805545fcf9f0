"""A conversation: what it is about, what was said, what it cost, and the way from a question to an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import PurePath

from rich.console import Console
from rich.text import Text

from groundwire._loop import run
from groundwire.agent.cost import Cost
from groundwire.agent.orchestrator import Orchestrator, Outcome
from groundwire.agent.trajectory import Event, Watch
from groundwire.cli.chat_view import View
from groundwire.cli.remembered import remember
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError
from groundwire.llm import Generator
from groundwire.reports.plaintext import sanitize
from groundwire.streaming.output import VERIFIER
from groundwire.types import HallucinationReport, OutputCheck, Source, Turn

FINE, FLAGGED, FAILED = 0, 1, 3


@dataclass(slots=True)
class Talk:
    """`simple` answers without verification; `kb` is what the detectors hold answers against; `record` keeps
    every event of every answer.
    """

    config: Config
    engine: Groundwire
    generator: Generator
    console: Console
    sources: list[Source] = field(default_factory=list)
    history: list[Turn] = field(default_factory=list)
    simple: bool = False
    kb: str | None = None
    question: str = ""
    last: Outcome | None = None
    report: HallucinationReport | None = None
    spent: Cost = field(default_factory=Cost)
    record: Watch | None = None
    worst: int = FINE
    ended: bool = False

    def ask(self, question: str, config: Config | None = None) -> None:
        """Answer a question, show the answer with its verdict, and remember both."""
        settings = config or self.config
        view = View(self.console, settings.verification)
        orchestrator = Orchestrator(self.generator, self.engine, settings)

        def watch(event: Event) -> None:
            view.watch(event)
            self._recorded(event)

        verify = not self.simple
        with view.answering():
            outcome = run(
                orchestrator.process(question, self.files, verify=verify, history=self._told, on_event=watch)
            )
        view.outcome(outcome)
        self._show_output(outcome.output)
        self._detect(outcome.answer)
        self._keep(question, outcome)

    @property
    def _told(self) -> list[Turn]:
        """The conversation, and what its last answer got wrong: the model may correct itself."""
        found = self.last.output if self.last else None
        advice = found.feedback if found else ""
        return [*self.history, *([Turn(len(self.history) + 1, VERIFIER, advice)] if advice else [])]

    def _show_output(self, found: OutputCheck | None) -> None:
        if found is None:
            return
        if found.flagged:
            self.worst = FLAGGED
            lines = found.feedback.splitlines()[1:-1]
            self.say("\n".join(["✗ not carried by the conversation:", *map(sanitize, lines)]), "red")
        elif found.flagged is None:
            self.say(f"the output was not verified: {sanitize(found.reason)}", "yellow")
        else:
            self.say("✓ the conversation carries it", "green")

    def _recorded(self, event: Event) -> None:
        """A disk that is full costs the record, and not the answer."""
        if self.record is None:
            return
        try:
            self.record(event)
        except GroundwireError as error:
            self.record = None
            self.worst = self.worst or FAILED
            self.say(f"groundwire: nothing is recorded any more: {sanitize(str(error))}", "yellow")

    @property
    def before(self) -> list[Turn]:
        """The conversation without the last question and, where there was one, its answer."""
        said = 0 if self.last is None else 1 + bool(self.last.answer)
        return self.history[: len(self.history) - said]

    @property
    def files(self) -> dict[str, str]:
        """The sources by the name a reader knows them by: the file's, where no two share it."""
        names = [PurePath(source.origin).name or source.id for source in self.sources]
        return {
            name if names.count(name) == 1 else source.origin or source.id: source.text
            for name, source in zip(names, self.sources, strict=True)
        }

    def add(self, sources: Sequence[Source]) -> None:
        """More sources, under ids that are still free."""
        taken = {source.id for source in self.sources}
        free = (f"S{n}" for n in count() if f"S{n}" not in taken)
        self.sources += [replace(s, id=next(free)) if s.id in taken else s for s in sources]

    def _keep(self, question: str, outcome: Outcome) -> None:
        number = len(self.history)
        said = ((question, "user"), (outcome.answer, "assistant"))
        self.history += [Turn(number + n, role, text) for n, (text, role) in enumerate(said, 1) if text]
        self.question, self.last = question, outcome
        self.spent += outcome.cost
        self.note(outcome.report)
        if outcome.error:
            self.worst = self.worst or FAILED

    def note(self, report: HallucinationReport | None) -> None:
        """A report was shown: its claims can be named from now on, here and by `groundwire feedback`."""
        if report is None or not report.claims:
            return
        self.report = report
        remember(report, self.config)
        if report.flagged or report.should_retry:
            self.worst = FLAGGED

    def _detect(self, answer: str) -> None:
        """What the knowledge base and the conversation hold against the answer."""
        if self.kb is None or self.simple or not answer.strip():
            return
        try:
            found = run(self.engine.detect(answer, self.sources, history=self.history, kb=self.kb))
        except GroundwireError as error:
            self.say(f"the detectors could not be asked: {error}", "yellow")
            return
        for flag in found.flags:
            self.worst = FLAGGED
            self.say(f"✗ {flag.type.value}  {sanitize(flag.content)}  {sanitize(flag.evidence)}", "red")
        if not found.flags:
            self.say("✓ nothing in the knowledge base or the conversation speaks against it", "green")

    def verify(self, text: str) -> HallucinationReport:
        """Every claim of a text against the sources, whatever the mode; the last answer against what was said
        before it.
        """
        is_last = self.last is not None and text == self.last.answer
        before = self.before if is_last else self.history
        question = self.question if is_last else ""
        return run(self.engine.check(text, self.sources, question=question, history=before, kb=self.kb))

    def say(self, words: str, style: str = "dim") -> None:
        self.console.print(Text(words, style=style), soft_wrap=True)

    def close(self) -> None:
        run(self.engine.aclose())
        run(self.generator.aclose())


def attempted(talk: Talk, question: str, config: Config | None = None) -> None:
    """Ask, and survive a model that cannot be reached: the conversation goes on."""
    try:
        talk.ask(question, config)
    except GroundwireError as error:
        talk.worst = talk.worst or FAILED
        talk.say(f"groundwire: {sanitize(str(error))}", "yellow")
