from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.loopback import do_without

from groundwire._loop import PerLoop
from groundwire._optional import load
from groundwire.config import AnthropicConfig, Config, GeneratorConfig, OpenAIConfig
from groundwire.errors import BackendDown, MissingExtra
from groundwire.llm import Provider, open_generator
from groundwire.llm.base import Generator, Message
from groundwire.llm.fake import ScriptedCall, ScriptedGenerator, tokens

LOCAL = "http://127.0.0.1:9/v1"


def config(generator: GeneratorConfig | None = None) -> Config:
    return Config(
        openai=OpenAIConfig(base_url=LOCAL, model="big"),
        anthropic=AnthropicConfig(base_url=LOCAL, model="claude"),
        generator=generator or GeneratorConfig(),
    )


@pytest.mark.parametrize(
    ("provider", "name"), [("openai", "openai/big@127.0.0.1:9"), ("anthropic", "anthropic/claude@127.0.0.1:9")]
)
def test_a_provider_by_name(provider: Provider, name: str) -> None:
    assert open_generator(config(), provider).name == name


def test_without_a_name_it_is_the_one_that_writes_answers() -> None:
    writer = GeneratorConfig(provider="anthropic", model="writer")
    assert open_generator(config(writer)).name == "anthropic/writer@127.0.0.1:9"
    assert open_generator(config(writer), "openai").name == "openai/big@127.0.0.1:9"
    assert open_generator(config(), model="other").name == "openai/other@127.0.0.1:9"


@pytest.mark.parametrize(("provider", "package"), [("openai", "openai"), ("anthropic", "anthropic")])
def test_a_missing_extra_says_what_to_install(
    provider: Provider, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"groundwire.llm.{package}", raising=False)
    with pytest.raises(MissingExtra, match=rf"pip install 'groundwire\[{package}\]'"):
        open_generator(config(), provider)


def test_a_missing_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.llm.gguf.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"groundwire\[llm\]"):
        open_generator(config(), "llm")


def test_a_module_of_ours_that_is_missing_is_no_missing_extra() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such"):
        load("groundwire.no_such:thing", feature="x", extra="x")


async def test_a_script_in_order_that_runs_out() -> None:
    generator = ScriptedGenerator(["one", BackendDown("gone")])
    assert isinstance(generator, Generator)
    ask = [Message("user", "?")]
    assert [c.text for c in await generator.complete(ask)] == ["one"]
    for _ in range(2):
        with pytest.raises(BackendDown):
            await generator.complete(ask)
    assert [call.prompt for call in generator.calls] == ["?", "?", "?"]
    await generator.aclose()
    assert generator.closed


async def test_a_script_that_is_a_function() -> None:
    def shout(call: ScriptedCall) -> str:
        return call.prompt.upper()

    done = await ScriptedGenerator(shout).complete([Message("user", "hey")], n=2)
    assert [one.text for one in done] == ["HEY", "HEY"]
    assert tokens(YES=1.0)[0].logprob == 0.0


def test_broken_characters_do_not_reach_a_server() -> None:
    assert Message("user", "caf\udce9 é 🙂").content == "caf? é 🙂"


@pytest.mark.parametrize(("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_where_all_must_run_a_missing_model_is_a_failure(
    ci: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="pip install"):
        do_without(MissingExtra("the model", "llm"))


def test_what_belongs_to_a_loop_is_made_anew_in_the_next() -> None:
    made = PerLoop(asyncio.Event)

    async def twice() -> tuple[asyncio.Event, asyncio.Event]:
        return made.get(), made.get()

    first, again = asyncio.run(twice())
    other, _ = asyncio.run(twice())
    assert first is again
    assert other is not first


def test_what_a_loop_holds_is_closed_when_the_loop_ends_or_all_is_closed() -> None:
    closed: list[object] = []

    async def close(one: object) -> None:
        closed.append(one)

    made = PerLoop(object, close)

    async def use(end: bool) -> object:
        held = made.get()
        if end:
            await made.aclose()
            await made.aclose()
        return held

    assert [asyncio.run(use(end)) for end in (False, True)] == closed
    assert len(set(map(id, closed))) == 2


def test_loops_that_run_side_by_side_keep_what_is_theirs() -> None:
    made = PerLoop(object)
    meet = threading.Barrier(2)

    def work() -> tuple[object, object]:
        async def twice() -> tuple[object, object]:
            first = made.get()
            await asyncio.to_thread(meet.wait, 10)
            return first, made.get()

        return asyncio.run(twice())

    with ThreadPoolExecutor(2) as pool:
        (a, again_a), (b, again_b) = (task.result() for task in [pool.submit(work), pool.submit(work)])
    assert a is again_a
    assert b is again_b
    assert a is not b
