"""`groundwire chat`: a conversation whose answers are verified."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path, PurePath
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from groundwire._loop import run
from groundwire.agent.checkpoint import is_uncertain
from groundwire.agent.orchestrator import AgentResult, Orchestrator
from groundwire.agent.trajectory import Cost, Event, EventHandler, EventKind, Recorder, Trajectory
from groundwire.cli.console import (
    ExitCode,
    InputReader,
    ReadLine,
    edit_lines,
    is_interactive,
    print_line,
    read_from_pipe,
    read_from_terminal,
    safe_stdout,
    write_atomic,
)
from groundwire.cli.options import Backend, Files, KnowledgeBase, Model, Provider, Setting, command, setting
from groundwire.cli.trajectory import show_trajectory
from groundwire.config import Config, VerificationConfig
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError, InputError
from groundwire.llm import STRONGER_MODEL_HINT, Generator, is_local, open_chat_model
from groundwire.reports.feedback import remember_report
from groundwire.reports.json import report_from, report_object
from groundwire.reports.plaintext import counted, feedback_line, shorten, split_at_spans
from groundwire.reports.terminal import marked_text, show_report
from groundwire.streaming.output import VERIFIER
from groundwire.text.controls import sanitize
from groundwire.types import ClaimKind, ClaimVerification, HallucinationReport, OutputCheck, Source, Turn

PROMPT = "> "


@command(
    mode=setting("verification.mode", help="full, sample or critical_only: what is verified."),
    on_failure=setting("verification.on_failure", help="flag, retry or ask."),
    backend=Setting("hallucination.backend.type verification.verification_model", Backend),
)
def chat(
    files: Files = None,
    question: Annotated[str | None, typer.Option("-q", "--question", help="Ask this and exit.")] = None,
    provider: Provider = None,
    model: Model = None,
    kb: KnowledgeBase = None,
    simple: Annotated[bool, typer.Option("--simple", help="Start without verification.")] = False,
    trajectory: Annotated[Path | None, typer.Option(help="Append the events to this file.")] = None,
    *,
    config: Config,
    console: Console,
    generator: Generator | None = None,
) -> ExitCode:
    """Talk with a language model whose answers are verified against files; /help lists the commands."""
    if "-" in (files or ()) and question is None:
        raise InputError("stdin cannot be both a source and the questions", hint="give -q")
    writer = generator or open_chat_model(config, provider, model)
    engine = Groundwire(config, backend=config.verification.backend)
    session = ChatSession(config, engine, writer, console, simple=simple)
    interactive = question is None and is_interactive()
    try:
        with safe_stdout(), Recorder(trajectory) if trajectory else nullcontext() as session.record:
            session.add_sources(InputReader(config).sources(files, session.say))
            if kb is not None:
                run_slash_command(session, f"/kb {kb}")
            if question is not None:
                session.ask(question)
            elif interactive:
                _greet(session)
                edit_lines(config, "chat", complete_command)
                converse(session, read_from_terminal)
            else:
                converse(session, read_from_pipe(sys.stdin, partial(print_line, console)))
    finally:
        session.close()
    return ExitCode.OK if interactive else session.worst


def converse(session: ChatSession, read: ReadLine) -> None:
    """Read commands and questions. Ctrl-C stops the current answer, not the chat."""
    while not session.ended:
        try:
            given = read(PROMPT)
            if given is None:
                return
            if not (line := given.strip()):
                continue
            if line.startswith("/") and not line.startswith("//"):
                run_slash_command(session, line)
            else:
                ask_or_report(session, line.removeprefix("/"))
            session.console.print()
        except KeyboardInterrupt:
            session.say("stopped")


def _greet(session: ChatSession) -> None:
    known = len(session.sources)
    about = counted(known, "source") if known else "no sources: /sources FILE adds one"
    session.say(f"{session.generator.name} · {about} · /help")
    if is_local(session.generator):
        session.say(f"a small model, for trying things out; {STRONGER_MODEL_HINT}")
    session.console.print()


def complete_command(prefix: str, number: int) -> str | None:
    """One of the slash commands that begin with the prefix."""
    found = [f"/{name}" for name in COMMANDS if prefix and f"/{name}".startswith(prefix)]
    return found[number] if number < len(found) else None


# ---- the display: tokens as they arrive, the answer with unsupported parts marked, one verdict line

_SCREEN_MARGIN = 3
"""Lines left free below the growing answer, for the prompt and the verdict."""
_TAIL_CHARS = 8000
"""Characters of a growing answer that are wrapped on every refresh: more than a screen holds."""
_LINE_CHARS = 200
"""Length of a claim or a reason on one line."""


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
        data = self._verification.get("report")
        report = report_from(data, self._draft) if data else None
        failed = set(self._verification.get("uncertain", ()))
        self._show(self._draft, report, [c for c in report.claims if c.claim_id in failed] if report else [])

    def show_outcome(self, outcome: AgentResult) -> None:
        """Print the final answer with its verdict."""
        report = outcome.report
        failed = [c for c in report.claims if is_uncertain(c, self._settings)] if report else []
        self._show(outcome.answer or "(no answer)", report, failed)
        if report is not None and report.claims:
            self.console.print(verdict_line(report, len(failed), outcome.retries))
        for words in (outcome.skipped and f"not verified: {outcome.skipped}", outcome.stopped):
            if words:
                self.console.print(Text(words, style="dim"))
        if outcome.error:
            print_line(self.console, f"could not be verified: {outcome.error}", "yellow")
        if outcome.asked:
            print_line(self.console, f"{outcome.asked} (/again)", "yellow")

    def _show(self, answer: str, report: HallucinationReport | None, failed: Sequence[ClaimVerification]) -> None:
        pieces = split_at_spans(sanitize(answer), report.spans if report else ())
        self.console.print(marked_text(pieces, self.console), soft_wrap=not self.console.is_terminal)
        for claim in failed:
            line = Text().append(f"✗ {claim.claim_id} {claim.status.words}  ", style="red")
            line.append(shorten(claim.claim_text, _LINE_CHARS))
            line.append(f"  {shorten(claim.reason, _LINE_CHARS)}", style="dim")
            self.console.print(line, soft_wrap=not self.console.is_terminal)

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


def verdict_line(report: HallucinationReport, failed: int, retries: int = 0) -> Text:
    """How many claims there are, how many were verified and failed, and the risk of the answer."""
    verified = report.total_claims
    total = verified + sum(claim.kind is ClaimKind.ASSERTION for claim in report.skipped)
    checked = "" if verified == total else f", {verified} verified"
    risk = "unknown" if report.risk is None else f"{report.risk:.2f}"
    style = "red" if failed else "yellow" if report.flagged is None else "green"
    retried = f" · after {counted(retries, 'retry', 'retries')}" if retries else ""
    summary = f"{'✗' if failed else '✓'} {counted(total, 'claim')}{checked}, {failed} flagged"
    return Text().append(summary, style=f"bold {style}").append(f" · risk {risk}{retried}", style="dim")


# ---- the session


@dataclass(slots=True)
class ChatSession:
    """The state of a chat.

    `simple` turns verification off, `kb` is the knowledge base of the detectors, `record` receives every
    event, and `worst` is the exit code so far.
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
    last: AgentResult | None = None
    report: HallucinationReport | None = None
    spent: Cost = field(default_factory=Cost)
    record: EventHandler | None = None
    worst: ExitCode = ExitCode.OK
    ended: bool = False

    def ask(self, question: str, config: Config | None = None) -> None:
        """Answer a question and show the answer with its verdict."""
        settings = config or self.config
        view = ChatView(self.console, settings.verification)
        orchestrator = Orchestrator(self.generator, self.engine, settings)

        def on_event(event: Event) -> None:
            view.on_event(event)
            self._record(event)

        # What was wrong with the last answer belongs to the conversation, so that the model can correct itself.
        advice = self.last.output.feedback if self.last and self.last.output else ""
        history = [*self.history, *([Turn(len(self.history) + 1, VERIFIER, advice)] if advice else [])]
        answering = orchestrator.process(
            question, self.files, verify=not self.simple, history=history, on_event=on_event
        )
        with view.live():
            outcome = run(answering)
        view.show_outcome(outcome)
        self._show_output(outcome.output)
        self._detect(outcome.answer)
        self._remember(question, outcome)

    def _show_output(self, check: OutputCheck | None) -> None:
        if check is None:
            return
        if check.flagged:
            self.worst = ExitCode.FLAGGED
            lines = check.feedback.splitlines()[1:-1]
            self.say("\n".join(["✗ not supported by the conversation:", *lines]), "red")
        elif check.flagged is None:
            self.worst = self.worst or ExitCode.COULD_NOT_CHECK
            self.say(f"the output was not verified: {check.reason}", "yellow")
        else:
            self.say("✓ supported by the conversation", "green")

    def _record(self, event: Event) -> None:
        """Record an event. If that fails, stop recording and continue the chat."""
        if self.record is None:
            return
        try:
            self.record(event)
        except GroundwireError as error:
            self.record = None
            self.worst = self.worst or ExitCode.COULD_NOT_CHECK
            self.say(f"groundwire: recording stopped: {error}", "yellow")

    @property
    def before(self) -> list[Turn]:
        """The conversation without the last question and its answer."""
        turns = 0 if self.last is None else 1 + bool(self.last.answer)
        return self.history[: len(self.history) - turns]

    @property
    def files(self) -> dict[str, str]:
        """The sources by file name; by path where two files have the same name."""
        names = [PurePath(source.origin).name or source.id for source in self.sources]
        return {
            name if names.count(name) == 1 else source.origin or source.id: source.text
            for name, source in zip(names, self.sources, strict=True)
        }

    def add_sources(self, sources: Sequence[Source]) -> None:
        """Add sources; an id that is taken is replaced by a free one."""
        taken = {source.id for source in self.sources}
        free = (f"S{n}" for n in count() if f"S{n}" not in taken)
        self.sources += [replace(s, id=next(free)) if s.id in taken else s for s in sources]

    def _remember(self, question: str, outcome: AgentResult) -> None:
        number = len(self.history)
        turns = ((question, "user"), (outcome.answer, "assistant"))
        self.history += [Turn(number + n, role, text) for n, (text, role) in enumerate(turns, 1) if text]
        self.question, self.last = question, outcome
        self.spent += outcome.cost
        self.note_report(outcome.report)
        was_checked = outcome.output is not None and outcome.output.flagged is not None
        if outcome.error or (outcome.skipped and not was_checked and not self.simple):
            self.worst = self.worst or ExitCode.COULD_NOT_CHECK

    def note_report(self, report: HallucinationReport | None) -> None:
        """Make the claims of a report available to /right and /wrong, and to `groundwire feedback`."""
        if report is None or not report.claims:
            return
        self.report = report
        remember_report(report, self.config)
        if report.flagged or report.should_retry:
            self.worst = ExitCode.FLAGGED

    def _detect(self, answer: str) -> None:
        """Run the detectors with the knowledge base and the conversation."""
        if self.kb is None or self.simple or not answer.strip():
            return
        try:
            found = run(self.engine.detect(answer, self.sources, history=self.history, kb=self.kb))
        except GroundwireError as error:
            self.worst = self.worst or ExitCode.COULD_NOT_CHECK
            self.say(f"the detectors failed: {error}", "yellow")
            return
        for flag in found.flags:
            self.worst = ExitCode.FLAGGED
            self.say(f"✗ {flag.type.value}  {flag.content}  {flag.evidence}", "red")
        if not found.flags:
            self.say("✓ no contradiction with the knowledge base or the conversation", "green")

    def verify(self, text: str) -> HallucinationReport:
        """Check every claim of a text, whatever the mode; the last answer against the turns before it."""
        is_last = self.last is not None and text == self.last.answer
        before = self.before if is_last else self.history
        question = self.question if is_last else ""
        return run(self.engine.check(text, self.sources, question=question, history=before, kb=self.kb))

    def say(self, message: str, style: str = "dim") -> None:
        print_line(self.console, message, style)

    def close(self) -> None:
        run(self.engine.aclose())
        run(self.generator.aclose())


def ask_or_report(session: ChatSession, question: str, config: Config | None = None) -> None:
    """Ask, and report an error of the model without ending the chat."""
    try:
        session.ask(question, config)
    except GroundwireError as error:
        session.worst = session.worst or ExitCode.COULD_NOT_CHECK
        session.say(f"groundwire: {error}", "yellow")


# ---- slash commands


@dataclass(frozen=True, slots=True)
class SlashCommand:
    usage: str
    help: str
    run: Callable[[ChatSession, str], None]


def run_slash_command(session: ChatSession, line: str) -> None:
    """Run a command. Errors are reported in one line and do not end the chat."""
    name, _, argument = line[1:].strip().partition(" ")
    found = COMMANDS.get(name.lower())
    if found is None:
        session.say(f"there is no /{name}: see /help; // begins a question with a slash")
        return
    try:
        found.run(session, argument.strip())
    except GroundwireError as error:
        session.say(f"groundwire: {error}", "yellow")


def _verify(session: ChatSession, argument: str) -> None:
    text = argument
    if argument in ("", "last"):
        if session.last is None or not session.last.answer:
            raise InputError("there is no answer yet", hint="ask a question, or give a text: /verify TEXT")
        text = session.last.answer
    if not session.sources and session.kb is None:
        raise InputError("there is nothing to verify against", hint="/sources FILE adds a source")
    report = session.verify(text)
    show_report(report, session.console)
    session.note_report(report)


def _simple(session: ChatSession, _: str) -> None:
    session.simple = not session.simple
    session.say("answers are no longer verified" if session.simple else "answers are verified again")


def _sources(session: ChatSession, argument: str) -> None:
    if argument:
        if not Path(argument).expanduser().exists():  # a typo would be taken for a text, and '-' for stdin
            raise InputError(f"{argument} does not exist")
        session.add_sources(InputReader(session.config).sources([argument], session.say))
    for name, text in session.files.items():
        session.say(f"{name}  {len(text):,} characters", "default")
    if not session.sources:
        session.say("there are no sources: /sources FILE adds one")


def _kb(session: ChatSession, argument: str) -> None:
    if argument == "off":
        session.kb = None
    elif argument:
        run(session.engine.detect("Nothing yet.", kb=argument))  # raises now if it cannot be opened
        session.kb = argument
    session.say(f"answers are checked against {session.kb}" if session.kb else "there is no knowledge base")


def _trace(session: ChatSession, argument: str) -> None:
    if session.last is None:
        raise InputError("there is no answer yet")
    if argument:
        _write(session, argument, "".join(f"{event.to_json()}\n" for event in session.last.trajectory))
        return
    show_trajectory(Trajectory(session.last.trajectory), session.console)


def _cost(session: ChatSession, _: str) -> None:
    if session.last is None:
        raise InputError("nothing was asked yet")
    session.say(f"last: {session.last.cost}", "default")
    session.say(f"all:  {session.spent}", "default")


def _clear(session: ChatSession, _: str) -> None:
    session.history.clear()
    session.last, session.report, session.question = None, None, ""
    session.say("the conversation starts over; the sources stay")


def _save(session: ChatSession, argument: str) -> None:
    """Save the conversation as Markdown, or with its last report as JSON, depending on the file name."""
    if not argument:
        raise InputError("/save needs a file", hint="/save FILE.md or /save FILE.json")
    turns = [{"role": turn.role, "text": turn.text} for turn in session.history]
    if argument.endswith(".json"):
        report = report_object(session.report) if session.report else None
        text = json.dumps({"turns": turns, "report": report}, ensure_ascii=False, indent=2) + "\n"
    else:
        text = "\n".join(f"**{turn['role']}**\n\n{turn['text']}\n" for turn in turns)
    _write(session, argument, text)


def _again(session: ChatSession, _: str) -> None:
    """Ask the last question again, with retries until the answer is supported."""
    if not session.question:
        raise InputError("there is no question yet")
    own = session.config.verification.model_dump(exclude_unset=True)
    stricter = session.config.changed(verification={**own, "on_failure": "retry", "mode": "full"})
    history, last = session.history, session.last
    session.history = session.before
    try:
        ask_or_report(session, session.question, stricter)
    finally:
        if session.last is last:  # no new answer: restore the conversation
            session.history = history


def _mark(session: ChatSession, argument: str, *, right: bool) -> None:
    # Imported here: only feedback needs the database layer.
    from groundwire.reports.feedback import add_feedback, claim_of_report

    claim, _, note = argument.partition(" ")
    if session.report is None or not claim:
        raise InputError("name a claim", hint="as in /wrong c1 WHY; /verify lists them")
    feedback = add_feedback(*claim_of_report(session.report, claim), right, note, session.config)
    session.say(feedback_line(feedback), "cyan")


def _quit(session: ChatSession, _: str) -> None:
    session.ended = True


def _help(session: ChatSession, _: str) -> None:
    for one in COMMANDS.values():
        session.say(f"{one.usage:<24}{one.help}", "default")
    session.say("Ctrl-C stops an answer, Ctrl-D ends the chat; // begins a question with a slash")


def _write(session: ChatSession, name: str, text: str) -> None:
    path = Path(name).expanduser()
    write_atomic(path, text)
    session.say(f"written to {path}")


COMMANDS = {
    "verify": SlashCommand("/verify [last|TEXT]", "check every claim of the last answer, or of a text", _verify),
    "simple": SlashCommand("/simple", "turn verification off or on", _simple),
    "again": SlashCommand("/again", "ask the last question again until the answer is supported", _again),
    "sources": SlashCommand("/sources [FILE]", "list the sources, or add one", _sources),
    "kb": SlashCommand("/kb [STORE|off]", "also check answers against a knowledge base", _kb),
    "trace": SlashCommand("/trace [FILE]", "show the steps of the last answer, or save them as JSON lines", _trace),
    "cost": SlashCommand("/cost", "calls, tokens, time and money, and the share of verification", _cost),
    "right": SlashCommand("/right CLAIM [NOTE]", "the verdict on c1, c2, … was right", partial(_mark, right=True)),
    "wrong": SlashCommand("/wrong CLAIM [NOTE]", "the verdict was wrong", partial(_mark, right=False)),
    "save": SlashCommand("/save FILE", "the conversation as Markdown, or with its report as JSON", _save),
    "clear": SlashCommand("/clear", "forget the conversation", _clear),
    "help": SlashCommand("/help", "list the commands", _help),
    "quit": SlashCommand("/quit", "end the chat", _quit),
}
