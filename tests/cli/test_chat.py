"""A conversation whose answers are verified: by a script, over a pipe, on a terminal, with a real model."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.loopback import Loopback, Reply, Request
from tests.loopback import chat as chat_reply

from groundwire.cli import chat as chat_module
from groundwire.cli import console as console_module
from groundwire.cli.chat import ChatSession, chat, converse
from groundwire.cli.console import edit_lines, read_from_pipe, read_from_terminal
from groundwire.cli.options import settings as load_settings
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, ConfigError, InputError
from groundwire.llm import open_chat_model
from groundwire.llm.fake import ScriptedCall, ScriptedGenerator

TOWER = "The tower is 330 metres tall. It was finished in March 1889 and has three floors for visitors."
GOOD = "The tower is 330 metres tall. It was finished in March 1889, and it has three floors that visitors can see."
BAD = "The tower is 450 metres tall. It was finished in March 1889, and it has three floors that visitors can see."


@pytest.fixture
def tower(tmp_path: Path) -> str:
    path = tmp_path / "tower.md"
    path.write_text(TOWER)
    return str(path)


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDWIRE_STORE__URL", str(tmp_path / "store.db"))


def config(**verification: object) -> Config:
    return Config.load(None, {"verification.mode": "full", **{f"verification.{k}": v for k, v in verification.items()}})


def talked(
    lines: Sequence[str],
    replies: Sequence[str | BackendDown],
    *files: str,
    settings: Config | None = None,
    **options: Any,
) -> tuple[int, str]:
    """What a chat prints when the lines are piped into it."""
    out = io.StringIO()
    console = Console(file=out, width=120)
    generator = ScriptedGenerator(list(replies), name="llm/scripted")
    with pytest.MonkeyPatch.context() as patch:
        typed_in = "".join(f"{line}\n" for line in lines).encode()
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(typed_in), encoding="utf-8"))
        code = chat([*files], **options, config=settings or config(), console=console, generator=generator)
    assert generator.closed
    return code, out.getvalue()


def test_an_answer_is_shown_with_its_verdict_and_its_unsupported_parts_marked(tower: str) -> None:
    code, out = talked(["How tall is it?"], [BAD], tower)
    assert code == 1
    assert "> How tall is it?" in out
    assert re.search(r"⟦[^⟧]*450[^⟧]*⟧", out)
    assert "✗ c1 contradicted" in out
    assert "1 flagged · risk" in out
    code, out = talked(["How tall is it?"], [GOOD], tower)
    assert code == 0
    assert "✓ 2 claims, 0 flagged" in out or "✓ 3 claims, 0 flagged" in out


def test_a_wrong_answer_is_caught_and_asked_for_again(tower: str) -> None:
    settings = config(on_failure="retry")
    code, out = talked(["How tall is it?", "/cost"], [BAD, GOOD], tower, settings=settings)
    assert code == 0
    assert out.index("450") < out.index("↻ asked again with the evidence, 1 of 2") < out.index("✓")
    assert "after 1 retry" in out
    assert "answer 2 calls" in out
    assert "of the time" in out


def test_one_question_alone(tower: str) -> None:
    assert talked([], [GOOD], tower, question="How tall?")[0] == 0
    assert talked([], [BAD], tower, question="How tall?")[0] == 1


def test_an_answer_that_asserts_nothing_is_not_clean(tower: str) -> None:
    nothing = "I cannot answer this question from the given passages. " * 3
    assert talked([], [nothing], tower, question="How tall?")[0] == 3


def test_one_question_whose_answer_is_not_verified_is_not_clean(tower: str) -> None:
    assert talked([], [GOOD], question="How tall?")[0] == 3
    disabled = Config.load(None, {"verification.enabled": False})
    assert talked([], [GOOD], tower, question="How tall?", settings=disabled)[0] == 3
    assert talked([], [GOOD], tower, question="How tall?", simple=True)[0] == 0


def test_one_question_that_cannot_be_asked_fails(tower: str) -> None:
    with pytest.raises(BackendDown):
        talked([], [BackendDown("gone")], tower, question="How tall?")


def test_a_conversation_survives_a_model_that_does_not_answer(tower: str) -> None:
    code, out = talked(["One?", "Two?"], [BackendDown("it went away"), GOOD], tower)
    assert "groundwire: it went away" in out
    assert "330 metres" in out
    assert code == 3


def test_what_was_said_before_goes_along(tower: str) -> None:
    seen: list[ScriptedCall] = []

    def reply(call: ScriptedCall) -> str:
        seen.append(call)
        return GOOD

    generator = ScriptedGenerator(reply, name="llm/scripted")
    talk = ChatSession(config(), Groundwire(config()), generator, Console(file=io.StringIO()))
    lines = iter(["How tall is it?", "And when?", "/clear", "Anew?"])
    converse(talk, lambda _: next(lines, None))
    talk.close()
    assert [("How tall is it?" in call.prompt) for call in seen] == [True, True, False]


@pytest.mark.spec("SPEC-16.35")
def test_verify_judges_the_last_answer_whole(tower: str) -> None:
    code, out = talked(["How tall is it?", "/verify", "/verify last"], [BAD], tower, simple=True)
    assert "not verified" in out
    assert out.count("contradicted") == 2
    assert code == 1


@pytest.mark.spec("SPEC-16.35")
def test_verify_judges_a_text(tower: str) -> None:
    assert "supported" in talked(["/verify The tower is 330 metres tall."], [], tower)[1]
    assert "contradicted" in talked(["/verify The tower is 450 metres tall."], [], tower)[1]


@pytest.mark.spec("SPEC-16.35")
def test_verify_with_nothing_to_verify_says_so(tower: str) -> None:
    assert "there is no answer yet" in talked(["/verify"], [], tower)[1]
    assert "nothing to verify against" in talked(["/verify The sky is blue."], [])[1]


def test_simple_turns_verification_off_and_on(tower: str) -> None:
    out = talked(["/simple", "How tall?", "/simple", "How tall?"], [BAD, BAD], tower)[1]
    first, second = out.split("answers are verified again")
    assert "contradicted" not in first
    assert "contradicted" in second


def test_sources_are_listed_and_added(tower: str, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("The bridge is red.")
    out = talked(
        ["/sources", f"/sources {tmp_path / 'more.txt'}", "/sources no/such.txt", "/sources mistyped"], [], tower
    )[1]
    assert "tower.md  94 characters" in out
    assert "more.txt  18 characters" in out
    assert "no/such.txt does not exist" in out
    assert "mistyped does not exist" in out
    assert "8 characters" not in out.partition("mistyped does")[2]


def test_the_way_to_an_answer_is_shown_and_saved(tower: str, tmp_path: Path) -> None:
    saved = tmp_path / "trace.jsonl"
    out = talked(["How tall?", "/trace", f"/trace {saved}"], [BAD], tower)[1]
    assert "verified, mode full" in out
    assert json.loads(saved.read_text().splitlines()[0])["event"] == "query"


def test_every_answer_is_recorded(tower: str, tmp_path: Path) -> None:
    kept = tmp_path / "all.jsonl"
    talked(["How tall?", "And now?"], [GOOD, BAD], tower, trajectory=kept)
    events = [json.loads(line)["event"] for line in kept.read_text().splitlines()]
    assert events.count("query") == events.count("end") == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_costs_the_record_and_not_the_conversation(tower: str) -> None:
    code, out = talked(["How tall?", "And now?"], [GOOD, GOOD], tower, trajectory=Path("/dev/full"))
    assert out.count("recording stopped: cannot write /dev/full") == 1
    assert out.count("finished in March 1889") == 2
    assert code == 3


def test_a_conversation_is_saved(tower: str, tmp_path: Path) -> None:
    lines = ["How tall?", f"/save {tmp_path / 'talk.md'}", f"/save {tmp_path / 'talk.json'}", "/save"]
    out = talked(lines, [GOOD], tower)[1]
    assert "/save needs a file" in out
    assert GOOD in (tmp_path / "talk.md").read_text()
    saved = json.loads((tmp_path / "talk.json").read_text())
    assert [turn["role"] for turn in saved["turns"]] == ["user", "assistant"]
    assert saved["report"]["claims"]


def test_a_verdict_is_marked_and_shown_from_then_on(tower: str) -> None:
    out = talked(["How tall?", "/wrong c1 it grew", "/wrong c99", "/right"], [BAD], tower)[1]
    assert "a user marked “contradicted” wrong" in out
    assert "it grew" in out
    assert "no claim c99" in out
    assert "name a claim" in out


def test_an_answer_is_held_against_a_knowledge_base_that_exists(tower: str) -> None:
    out = talked(["/kb /no/such/kb.db", "/kb", "/kb off"], [], tower)[1]
    assert "there is no store at" in out
    assert out.count("there is no knowledge base") == 2


def test_asking_again_keeps_at_it_until_it_holds(tower: str) -> None:
    lines = ["/again", "How tall?", "/again"]
    _, out = talked(lines, [BAD, BAD, GOOD], tower, settings=config(on_failure="ask"))
    assert "there is no question yet" in out
    assert "write it again? (/again)" in out
    assert "after 1 retry" in out


def test_asking_again_in_vain_leaves_the_conversation_as_it_was(tower: str, tmp_path: Path) -> None:
    saved = tmp_path / "talk.json"
    lines = ["How tall?", "And then?", "/again", f"/save {saved}"]
    talked(lines, [GOOD, "", BackendDown("gone")], tower)
    turns = [turn["text"] for turn in json.loads(saved.read_text())["turns"]]
    assert turns == ["How tall?", GOOD, "And then?"]


def test_odd_lines_do_no_harm(tower: str) -> None:
    lines = ["", "   ", "/", "/nope", "//etc is a folder?", "\x1b[2J\x00", "/help", "/quit", "never asked"]
    code, out = talked(lines, [GOOD, GOOD], tower)
    assert "there is no /nope" in out
    assert "/verify [last|TEXT]" in out
    assert "never asked" not in out
    assert code == 0


def test_hostile_answers_cannot_steer_the_terminal(tower: str) -> None:
    evil = f"\x1b]0;owned\x07\x1b[2J[bold]{BAD}[/bold]"
    out = talked(["How tall?"], [evil], tower)[1]
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "[bold]" in out


def test_an_empty_answer_is_said_to_be_none(tower: str) -> None:
    assert "(no answer)" in talked(["How tall?"], [""], tower)[1]


def test_without_sources_nothing_is_verified() -> None:
    code, out = talked(["How tall?"], [GOOD])
    assert "not verified: there are no files to verify against" in out
    assert code == 3


def test_questions_and_a_source_cannot_share_standard_input() -> None:
    with pytest.raises(InputError, match="-q"):
        chat(["-"], config=config(), console=Console(file=io.StringIO()), generator=ScriptedGenerator([]))


def test_an_interrupt_stops_the_answer_and_not_the_chat(tower: str) -> None:
    out = io.StringIO()
    lines: Iterator[str] = iter(["first", "second"])

    def reply(call: ScriptedCall) -> str:
        return GOOD

    talk = ChatSession(config(), Groundwire(config()), ScriptedGenerator(reply, name="llm/x"), Console(file=out))
    asked: list[str] = []

    def ask(question: str, settings: Config | None = None) -> None:
        asked.append(question)
        if question == "first":
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChatSession, "ask", lambda self, question, settings=None: ask(question, settings))
        converse(talk, lambda _: next(lines, None))
    talk.close()
    assert asked == ["first", "second"]
    assert "stopped" in out.getvalue()


def test_words_are_shown_as_they_come_on_a_terminal(tower: str) -> None:
    out = io.StringIO()
    console = Console(file=out, width=100, height=30, force_terminal=True, color_system="truecolor")
    generator = ScriptedGenerator([BAD], name="llm/scripted")
    code = chat([tower], "How tall?", config=config(), console=console, generator=generator)
    shown = out.getvalue()
    assert code == 1
    assert "⟦" not in shown  # marked by colour
    assert "\x1b[" in shown
    assert "contradicted" in shown


class Keyboard:
    """Lines that a user types; "^C" is an interrupt, and the end is Ctrl-D."""

    def __init__(self, *lines: str) -> None:
        self._lines = iter(lines)

    def __call__(self, prompt: str) -> str:
        line = next(self._lines, None)
        if line is None:
            raise EOFError
        if line == "^C":
            raise KeyboardInterrupt
        return line


def test_a_terminal_reads_lines_and_ends_with_control_d(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", Keyboard("hallo", "^C"))
    assert read_from_terminal("> ") == "hallo"
    with pytest.raises(KeyboardInterrupt):
        read_from_terminal("> ")
    assert read_from_terminal("> ") is None


def test_what_was_typed_is_kept_for_its_owner_only(tmp_path: Path) -> None:
    edit_lines(Config.load(), "chat", chat_module.complete_command)
    readline = pytest.importorskip("readline")
    readline.add_history("hallo")
    console_module._save_history(tmp_path / "chat.history")
    history = tmp_path / "chat.history"
    assert "hallo" in history.read_text()
    assert history.stat().st_mode & 0o777 == 0o600


def test_a_whole_conversation_on_a_terminal(tower: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_module, "is_interactive", lambda: True)
    monkeypatch.setattr("builtins.input", Keyboard("How tall?", "^C", "/verify", "/nope"))
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=True, color_system=None)
    model = ScriptedGenerator([BAD], name="llm/scripted")
    code = chat([tower], config=config(), console=console, generator=model)
    assert code == 0  # a conversation is no check: it ends well
    shown = out.getvalue()
    assert "1 source · /help" in shown
    assert "OPENAI_API_KEY" in shown
    assert shown.index("contradicted") < shown.index("stopped") < shown.index("there is no /nope")


def test_commands_complete_and_questions_do_not() -> None:
    def offered(text: str) -> list[str | None]:
        return list(iter(map(partial(chat_module.complete_command, text), count()).__next__, None))

    assert offered("/ver") == ["/verify"]
    assert offered("/s") == ["/simple", "/sources", "/save"]
    assert offered("How tall") == []
    assert offered("") == []


def test_a_closed_standard_input_is_the_end() -> None:
    assert read_from_pipe(None, print)("> ") is None


def test_the_command_line_sets_mode_and_failure() -> None:
    given = {"verification.mode": "critical_only", "verification.on_failure": "retry"}
    found = load_settings(None, overrides=given).verification
    assert (found.mode, found.on_failure) == ("critical_only", "retry")
    with pytest.raises(ConfigError):
        load_settings(None, overrides={"verification.mode": "thorough"})


def test_without_any_model_one_line_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.llm.gguf.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"groundwire\[llm\].*--provider openai"):
        open_chat_model(Config.load())
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        open_chat_model(Config.load(), "openai")
    with pytest.raises(InputError, match="unknown provider"):
        open_chat_model(Config.load(), "oracle")
    with pytest.raises(InputError, match="--provider"):
        open_chat_model(Config.load(), None, "gpt-4o")


@pytest.mark.llm
def test_with_the_real_model_on_this_machine(smollm: str, tower: str) -> None:
    settings = Config.load(
        None, {"openai.base_url": smollm, "openai.model": "SmolLM2-135M-Instruct", "verification.mode": "full"}
    )
    out = io.StringIO()
    console = Console(file=out, width=120)
    code = chat([tower], "Tell me all about the tower.", "openai", config=settings, console=console)
    # So small a model seldom answers YES, NO or UNSURE: its claims may all be unchecked.
    assert code in (0, 1, 3)
    assert "tower" in out.getvalue().lower()
    assert "claim" in out.getvalue() or "not verified" in out.getvalue()


def test_a_server_that_ignores_stream_is_shown_and_verified_as_a_whole_answer(loopback: Loopback, tower: str) -> None:
    def reply(request: Request) -> Reply:  # the model judges its own answer, without a stream
        return chat_reply(GOOD) if request.body.get("stream") else chat_reply("YES", top={"YES": 0.99})

    loopback.script(reply)
    out = io.StringIO()
    settings = config().changed(openai={"base_url": f"{loopback.url}/v1"})
    console = Console(file=out, width=120, force_terminal=True, color_system=None)
    code = chat([tower], "How tall is it?", "openai", config=settings, console=console)
    assert (code, GOOD in out.getvalue()) == (0, True)


@pytest.mark.spec("SPEC-08.19", "SPEC-08.21", "SPEC-08.22")
def test_answers_are_checked_on_their_way_to_the_user_where_that_is_on(tower: str) -> None:
    on = {"hallucination.enabled": True, "hallucination.output_verification.enabled": True}
    settings = Config.load(None, {**on, "verification.enabled": False})
    prompts: list[str] = []

    def answer(call: ScriptedCall) -> str:
        prompts.append(call.prompt)
        return BAD if len(prompts) == 1 else GOOD

    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"How tall is it?\nAre you sure?\n")))
        console, model = Console(file=out, width=120), ScriptedGenerator(answer)
        code = chat([tower], config=settings, console=console, generator=model)
    assert code == 1
    assert BAD in out.getvalue()
    assert "✗ not supported by the conversation:" in out.getvalue()
    assert "✓ supported by the conversation" in out.getvalue()
    assert "Your last answer contains statements" not in prompts[0]
    assert "Your last answer contains statements" in prompts[1]
