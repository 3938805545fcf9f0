"""`groundwire chat`: a conversation whose answers are verified."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from itertools import count
from pathlib import Path, PurePath
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from groundwire._loop import run
from groundwire.agent.orchestrator import AgentResult, Orchestrator
from groundwire.agent.trajectory import Cost, Event, EventHandler, Recorder, Trajectory
from groundwire.cli.chat_view import ChatView
from groundwire.cli.console import ExitCode, open_console, safe_stdout, stdin_bytes, write_atomic
from groundwire.cli.options import Backend, ConfigFile, Files, KnowledgeBase, Model, Provider, command_app, settings
from groundwire.cli.prompt import ReadLine, is_interactive, read_from_pipe, read_from_terminal
from groundwire.cli.trajectory import show_trajectory
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError, InputError
from groundwire.llm import STRONGER_MODEL_HINT, Generator, is_local, open_chat_model
from groundwire.reports.history import remember_report
from groundwire.reports.json import report_object
from groundwire.reports.plaintext import feedback_line
from groundwire.reports.terminal import show_report
from groundwire.retrieval.load import load_sources
from groundwire.streaming.output import VERIFIER
from groundwire.text.controls import sanitize
from groundwire.types import HallucinationReport, OutputCheck, Source, Turn

app = command_app()
PROMPT = "> "


@app.command()
def chat(
    files: Files = None,
    question: Annotated[str | None, typer.Option("-q", "--question", help="Ask this and exit.")] = None,
    provider: Provider = None,
    model: Model = None,
    mode: Annotated[str | None, typer.Option(help="full, sample or critical_only: what is verified.")] = None,
    on_failure: Annotated[str | None, typer.Option(help="flag, retry or ask.")] = None,
    kb: KnowledgeBase = None,
    simple: Annotated[bool, typer.Option("--simple", help="Start without verification.")] = False,
    trajectory: Annotated[Path | None, typer.Option(help="Append the events to this file.")] = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Talk with a language model whose answers are verified against files; /help lists the commands."""
    args = ChatArgs(tuple(files or ()), question, provider, model, kb, simple, trajectory)
    found = with_verification(settings(config, backend), mode, on_failure, backend)
    raise typer.Exit(run_chat(args, found, open_console()))


@dataclass(frozen=True, slots=True)
class ChatArgs:
    files: tuple[str, ...] = ()
    question: str | None = None
    provider: str | None = None
    model: str | None = None
    kb: str | None = None
    simple: bool = False
    trajectory: Path | None = None


def run_chat(args: ChatArgs, config: Config, console: Console, generator: Generator | None = None) -> ExitCode:
    """Chat until the end of input, or answer the one question that is given. `generator` is for tests."""
    if "-" in args.files and args.question is None:
        raise InputError("stdin cannot be both a source and the questions", hint="give -q")
    model = generator or open_chat_model(config, args.provider, args.model)
    session = ChatSession(
        config, Groundwire(config, backend=config.verification.backend), model, console, simple=args.simple
    )
    interactive = args.question is None and is_interactive()
    try:
        with safe_stdout(), Recorder(args.trajectory) if args.trajectory else nullcontext() as session.record:
            _prepare(session, args)
            if args.question is not None:
                session.ask(args.question)
            else:
                _greet(session, interactive)
                converse(session, _reader(config, console, interactive))
    finally:
        session.close()
    return ExitCode.OK if interactive else session.worst


def with_verification(config: Config, mode: str | None, on_failure: str | None, backend: str | None = None) -> Config:
    """The configuration with the verification options of the command line."""
    given = {"mode": mode, "on_failure": on_failure, "verification_model": backend}
    changes = {name: value for name, value in given.items() if value is not None}
    before = config.verification.model_dump(exclude_unset=True)
    return config.changed(verification={**before, **changes}) if changes else config


def converse(session: ChatSession, read: ReadLine) -> None:
    """Read commands and questions. Ctrl-C stops the current answer, not the chat."""
    while not session.ended:
        try:
            line = read(PROMPT)
            if line is None:
                return
            _handle_line(session, line.strip())
        except KeyboardInterrupt:
            session.say("stopped")


def _handle_line(session: ChatSession, line: str) -> None:
    if line.startswith("//"):
        ask_or_report(session, line[1:])
    elif line.startswith("/"):
        run_slash_command(session, line)
    elif line:
        ask_or_report(session, line)
    if line:
        session.console.print()


def _prepare(session: ChatSession, args: ChatArgs) -> None:
    if args.files:
        limit = session.config.limits.max_source_bytes
        session.add_sources(load_sources(args.files, stdin=stdin_bytes(), max_bytes=limit, report=session.say))
    if args.kb is not None:
        run_slash_command(session, f"/kb {args.kb}")


def _greet(session: ChatSession, interactive: bool) -> None:
    if not interactive:
        return
    count = len(session.sources)
    about = f"{count} source{'' if count == 1 else 's'}" if count else "no sources: /sources FILE adds one"
    session.say(f"{session.generator.name} · {about} · /help")
    if is_local(session.generator):
        session.say(f"a small model, for trying things out; {STRONGER_MODEL_HINT}")
    session.console.print()


def _reader(config: Config, console: Console, interactive: bool) -> ReadLine:
    if interactive:
        return read_from_terminal(config, "chat", complete_command)
    return read_from_pipe(sys.stdin, lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True))


def complete_command(prefix: str) -> list[str]:
    """The slash commands that begin with the prefix."""
    return [name for name in (f"/{command}" for command in COMMANDS) if prefix and name.startswith(prefix)]


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

        verify = not self.simple
        with view.live():
            outcome = run(
                orchestrator.process(
                    question, self.files, verify=verify, history=self._history_with_feedback, on_event=on_event
                )
            )
        view.show_outcome(outcome)
        self._show_output(outcome.output)
        self._detect(outcome.answer)
        self._remember(question, outcome)

    @property
    def _history_with_feedback(self) -> list[Turn]:
        """The conversation and what was wrong with the last answer, so that the model can correct itself."""
        check = self.last.output if self.last else None
        advice = check.feedback if check else ""
        return [*self.history, *([Turn(len(self.history) + 1, VERIFIER, advice)] if advice else [])]

    def _show_output(self, check: OutputCheck | None) -> None:
        if check is None:
            return
        if check.flagged:
            self.worst = ExitCode.FLAGGED
            lines = check.feedback.splitlines()[1:-1]
            self.say("\n".join(["✗ not supported by the conversation:", *map(sanitize, lines)]), "red")
        elif check.flagged is None:
            self.worst = self.worst or ExitCode.COULD_NOT_CHECK
            self.say(f"the output was not verified: {sanitize(check.reason)}", "yellow")
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
            self.say(f"groundwire: recording stopped: {sanitize(str(error))}", "yellow")

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
            self.say(f"✗ {flag.type.value}  {sanitize(flag.content)}  {sanitize(flag.evidence)}", "red")
        if not found.flags:
            self.say("✓ no contradiction with the knowledge base or the conversation", "green")

    def verify(self, text: str) -> HallucinationReport:
        """Check every claim of a text, whatever the mode; the last answer against the turns before it."""
        is_last = self.last is not None and text == self.last.answer
        before = self.before if is_last else self.history
        question = self.question if is_last else ""
        return run(self.engine.check(text, self.sources, question=question, history=before, kb=self.kb))

    def say(self, message: str, style: str = "dim") -> None:
        self.console.print(Text(message, style=style), soft_wrap=True)

    def close(self) -> None:
        run(self.engine.aclose())
        run(self.generator.aclose())


def ask_or_report(session: ChatSession, question: str, config: Config | None = None) -> None:
    """Ask, and report an error of the model without ending the chat."""
    try:
        session.ask(question, config)
    except GroundwireError as error:
        session.worst = session.worst or ExitCode.COULD_NOT_CHECK
        session.say(f"groundwire: {sanitize(str(error))}", "yellow")


# ---- slash commands


@dataclass(frozen=True, slots=True)
class SlashCommand:
    usage: str
    help: str
    run: Callable[[ChatSession, str], None]


def run_slash_command(session: ChatSession, line: str) -> None:
    """Run a command. Errors are reported in one line and do not end the chat."""
    name, _, argument = line[1:].strip().partition(" ")
    command = COMMANDS.get(name.lower())
    if command is None:
        session.say(f"there is no /{sanitize(name)}: see /help; // begins a question with a slash")
        return
    try:
        command.run(session, argument.strip())
    except GroundwireError as error:
        session.say(f"groundwire: {sanitize(str(error))}", "yellow")


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
        if not Path(argument).expanduser().exists():  # load_sources would take a typo for a text
            raise InputError(f"{sanitize(argument)} does not exist")
        limit = session.config.limits.max_source_bytes
        session.add_sources(load_sources([argument], stdin=BytesIO(), max_bytes=limit, report=session.say))
    for name, text in session.files.items():
        session.say(f"{sanitize(name)}  {len(text):,} characters", "default")
    if not session.sources:
        session.say("there are no sources: /sources FILE adds one")


def _kb(session: ChatSession, argument: str) -> None:
    if argument == "off":
        session.kb = None
    elif argument:
        run(session.engine.detect("Nothing yet.", kb=argument))  # raises now if it cannot be opened
        session.kb = argument
    session.say(f"answers are checked against {sanitize(session.kb)}" if session.kb else "there is no knowledge base")


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
    settings = session.config.verification.model_copy(update={"on_failure": "retry", "mode": "full"})
    history, last = session.history, session.last
    session.history = session.before
    try:
        ask_or_report(
            session, session.question, session.config.changed(verification=settings.model_dump(exclude_unset=True))
        )
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
    session.say(sanitize(feedback_line(feedback)), "cyan")


def _quit(session: ChatSession, _: str) -> None:
    session.ended = True


def _help(session: ChatSession, _: str) -> None:
    for command in COMMANDS.values():
        session.say(f"{command.usage:<24}{command.help}", "default")
    session.say("Ctrl-C stops an answer, Ctrl-D ends the chat; // begins a question with a slash")


def _write(session: ChatSession, name: str, text: str) -> None:
    path = Path(name).expanduser()
    write_atomic(path, text)
    session.say(f"written to {sanitize(str(path))}")


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
