"""What a chat does when a line begins with a slash."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path

from groundwire._loop import run
from groundwire.agent.trajectory import Trajectory
from groundwire.cli.streams import write_whole
from groundwire.cli.talk import Talk, attempted
from groundwire.cli.trajectory import show as show_trajectory
from groundwire.errors import GroundwireError, InputError
from groundwire.reports.json import report_object
from groundwire.reports.plaintext import feedback_line, sanitize
from groundwire.reports.terminal import show_report
from groundwire.retrieval.load import load_sources


@dataclass(frozen=True, slots=True)
class Command:
    usage: str
    help: str
    run: Callable[[Talk, str], None]


def obey(talk: Talk, line: str) -> None:
    """Run a command; what is wrong with it is said in a line, and the chat goes on."""
    name, _, argument = line[1:].strip().partition(" ")
    command = COMMANDS.get(name.lower())
    if command is None:
        talk.say(
            f"there is no /{sanitize(name)}: /help lists what there is; // begins a question with a slash"
        )
        return
    try:
        command.run(talk, argument.strip())
    except GroundwireError as error:
        talk.say(f"groundwire: {sanitize(str(error))}", "yellow")


def _verify(talk: Talk, argument: str) -> None:
    text = argument
    if argument in ("", "last"):
        if talk.last is None or not talk.last.answer:
            raise InputError("there is no answer yet", hint="ask something, or give the text: /verify TEXT")
        text = talk.last.answer
    if not talk.sources and talk.kb is None:
        raise InputError("there is nothing to verify against", hint="/sources FILE adds a source")
    report = talk.verify(text)
    show_report(report, talk.console)
    talk.note(report)


def _simple(talk: Talk, _: str) -> None:
    talk.simple = not talk.simple
    talk.say("answers are not verified any more" if talk.simple else "answers are verified again")


def _sources(talk: Talk, argument: str) -> None:
    if argument:
        if not Path(argument).expanduser().exists():  # else a slip of the pen would be a source itself
            raise InputError(f"{sanitize(argument)} does not exist")
        limit = talk.config.limits.max_source_bytes
        talk.add(load_sources([argument], stdin=BytesIO(), max_bytes=limit, report=talk.say))
    for name, text in talk.files.items():
        talk.say(f"{sanitize(name)}  {len(text):,} characters", "default")
    if not talk.sources:
        talk.say("there are no sources: /sources FILE adds one, and answers are then verified against it")


def _kb(talk: Talk, argument: str) -> None:
    if argument == "off":
        talk.kb = None
    elif argument:
        run(talk.engine.detect("Nothing yet.", kb=argument))  # what is wrong with it is said now
        talk.kb = argument
    talk.say(f"answers are held against {sanitize(talk.kb)}" if talk.kb else "there is no knowledge base")


def _trace(talk: Talk, argument: str) -> None:
    if talk.last is None:
        raise InputError("there is no answer yet")
    if argument:
        _write(talk, argument, "".join(f"{event.to_json()}\n" for event in talk.last.trajectory))
        return
    show_trajectory(Trajectory(talk.last.trajectory), talk.console)


def _cost(talk: Talk, _: str) -> None:
    if talk.last is None:
        raise InputError("nothing was asked yet")
    talk.say(f"last: {talk.last.cost}", "default")
    talk.say(f"all:  {talk.spent}", "default")


def _clear(talk: Talk, _: str) -> None:
    talk.history.clear()
    talk.last, talk.report, talk.question = None, None, ""
    talk.say("the conversation begins anew; sources stay")


def _save(talk: Talk, argument: str) -> None:
    """The conversation with its last report, as JSON, or as Markdown by the file's ending."""
    if not argument:
        raise InputError("where to?", hint="/save FILE.md or /save FILE.json")
    turns = [{"role": turn.role, "text": turn.text} for turn in talk.history]
    if argument.endswith(".json"):
        report = report_object(talk.report) if talk.report else None
        text = json.dumps({"turns": turns, "report": report}, ensure_ascii=False, indent=2) + "\n"
    else:
        text = "\n".join(f"**{turn['role']}**\n\n{turn['text']}\n" for turn in turns)
    _write(talk, argument, text)


def _again(talk: Talk, _: str) -> None:
    """The last question once more, and now until it holds or the retries are used up."""
    if not talk.question:
        raise InputError("there is no question yet")
    settings = talk.config.verification.model_copy(update={"on_failure": "retry", "mode": "full"})
    held, last = talk.history, talk.last
    talk.history = talk.before
    try:
        attempted(talk, talk.question, talk.config.changed(verification=settings.model_dump()))
    finally:
        if talk.last is last:  # nothing came of it: what was said before stands
            talk.history = held


def _mark(talk: Talk, argument: str, *, right: bool) -> None:
    from groundwire.cli.feedback import mark
    from groundwire.cli.reported import named

    claim, _, note = argument.partition(" ")
    if talk.report is None or not claim:
        raise InputError("which claim?", hint="as in /wrong c1 WHY; /verify lists them")
    kept = mark(*named(talk.report, claim), right, note, talk.config)
    talk.say(sanitize(feedback_line(kept)), "cyan")


def _quit(talk: Talk, _: str) -> None:
    talk.ended = True


def _help(talk: Talk, _: str) -> None:
    for command in COMMANDS.values():
        talk.say(f"{command.usage:<24}{command.help}", "default")
    talk.say("Ctrl-C stops an answer, Ctrl-D ends the chat; // begins a question with a slash")


def _write(talk: Talk, name: str, text: str) -> None:
    path = Path(name).expanduser()
    write_whole(path, text)
    talk.say(f"written to {sanitize(str(path))}")


COMMANDS = {
    "verify": Command("/verify [last|TEXT]", "judge every claim of the last answer, or of a text", _verify),
    "simple": Command("/simple", "answer without verification, or with it again", _simple),
    "again": Command("/again", "the last question once more, until the answer holds", _again),
    "sources": Command("/sources [FILE]", "what answers are verified against; add one", _sources),
    "kb": Command("/kb [STORE|off]", "hold answers against a knowledge base, too", _kb),
    "trace": Command("/trace [FILE]", "how the last answer came about; save it as JSON lines", _trace),
    "cost": Command("/cost", "calls, tokens, time and money, and what verifying took of them", _cost),
    "right": Command("/right CLAIM [NOTE]", "the verdict on c1, c2, … was right", partial(_mark, right=True)),
    "wrong": Command("/wrong CLAIM [NOTE]", "the verdict was wrong", partial(_mark, right=False)),
    "save": Command("/save FILE", "the conversation as Markdown, or with its report as JSON", _save),
    "clear": Command("/clear", "forget what was said", _clear),
    "help": Command("/help", "this", _help),
    "quit": Command("/quit", "the end", _quit),
}
