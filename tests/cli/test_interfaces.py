"""One report, whichever door it is asked for at: every other door gives what Python's `check` gives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import pytest
from rich.console import Console
from tests.serving import served, serving
from typer.testing import CliRunner

from groundwire import check
from groundwire._loop import run
from groundwire.cli import main
from groundwire.cli.batch import BatchArgs, run_batch
from groundwire.cli.repl import ReplSession
from groundwire.client import Client
from groundwire.config import Config, ProfileName
from groundwire.engine import Groundwire
from groundwire.llm.fake import ScriptedGenerator
from groundwire.mcp.server import LocalToolService, create_server
from groundwire.reports.json import report_object
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import Attribute, Entity, HallucinationReport, Value
from mcp import Client as McpClient

Report = dict[str, Any]
NAME = "response"


@dataclass(frozen=True)
class Asked:
    """What is asked at every door that can take it."""

    answer: str
    sources: Mapping[str, str]
    question: str = ""
    history: Sequence[Mapping[str, str]] = ()
    kb: bool = False
    profile: ProfileName = "default"
    fix: bool = False
    finds: Mapping[str, Any] = field(default_factory=dict)


TOWER = {"S0": "The tower is 330 metres tall. It stands in Paris.", "S1": "The bridge was opened in 1937."}
CASES: dict[str, Asked] = {
    "supported": Asked("The tower is 330 metres tall [S0].", TOWER, finds={"flagged": False}),
    "contradicted": Asked("The tower is 999 metres tall [S0].", TOWER, finds={"flagged": True}),
    "phantom": Asked("The bridge was opened in 1937 [S9].", TOWER, finds={"flagged": True}),
    "hebrew": Asked(
        "המגדל נמצא בפריז [S0]. גובה המגדל הוא 999 מטר [S0].",
        {"S0": "גובה המגדל הוא 330 מטר. המגדל נמצא בפריז."},
        finds={"flagged": True},
    ),
    "mixed": Asked(
        "Great question! The bridge was opened in 1937, e.g. for cars.\n\n- Is it red?\n- It stands in Rome.",
        TOWER,
        finds={"flagged": True},
    ),
    "question": Asked("330 metres.", TOWER, question="How tall is the tower?"),
    "history": Asked(
        "As I mentioned, the meeting is on Friday.",
        {},
        history=({"role": "assistant", "content": "I booked the meeting for Monday."},),
        finds={"flagged": True},
    ),
    "knowledge": Asked("John Smith works in the Marketing department.", TOWER, kb=True, finds={"flagged": True}),
    "repaired": Asked("The tower is 999 metres tall.", TOWER, fix=True, finds={"flagged": True}),
    "nothing": Asked(
        "Great question! Is it red?", TOWER, finds={"flagged": None, "error": "NOTHING_TO_CHECK", "risk": None}
    ),
    "code": Asked("```\nThe tower is 999 metres tall.\n```", TOWER, finds={"flagged": True}),
    "rag": Asked("The tower is 999 metres tall [S0]. It is.", TOWER, profile="rag", finds={"flagged": True}),
}


@pytest.fixture
def store() -> str:
    """The store that every door's configuration names, with something to know in it."""
    url = Config.load().store.url
    kb = Knowledge.open(url)
    kb.put_entity(Entity("j", "John Smith", "person", attributes=(Attribute("department", Value("Engineering")),)))
    kb.put_entity(Entity("e", "Engineering", "department"))
    kb.put_entity(Entity("m", "Marketing", "department"))
    kb.close()
    return url


def by_python(asked: Asked, store: str) -> HallucinationReport:
    return check(
        asked.answer,
        asked.sources,
        question=asked.question,
        response_id=NAME,
        fix=asked.fix,
        profile=asked.profile,
        history=asked.history,
        kb=store if asked.kb else None,
    )


def by_command(cases: Mapping[str, Asked], folder: Path, store: str) -> dict[str, Report]:
    found = {}
    for name, asked in cases.items():
        arguments = ["check", asked.answer, "--json", "--profile", asked.profile, "-q", asked.question]
        for text in asked.sources.values():
            arguments += ["-s", text]
        if asked.history:
            chat = folder / "chat.json"
            chat.write_text(json.dumps(asked.history), encoding="utf-8")
            arguments += ["--history", str(chat)]
        arguments += ["--kb", store] if asked.kb else []
        arguments += ["--fix"] if asked.fix else []
        found[name] = json.loads(CliRunner().invoke(main.app, arguments).stdout)
    return found


def by_repl(cases: Mapping[str, Asked], folder: Path, store: str) -> dict[str, Report]:
    """Its functions take a response and a context; its reports have no id."""
    session = ReplSession(Config.load(), (), lambda: ScriptedGenerator([]))
    try:
        ask = session.functions["detect_hallucinations"].call
        reports = {name: run(_awaited(ask, c.answer, dict(c.sources))) for name, c in cases.items()}
    finally:
        session.close()
    return {name: {**report_object(report), "id": NAME} for name, report in reports.items()}


async def _awaited(ask: Callable[..., Any], *given: object) -> HallucinationReport:
    found = await ask(*given)
    assert isinstance(found, HallucinationReport)
    return found


def body(asked: Asked) -> dict[str, Any]:
    return {
        "sources": asked.sources,
        "question": asked.question,
        "history": asked.history,
        "kb": asked.kb,
        "profile": asked.profile,
        "fix": asked.fix,
    }


def by_http(cases: Mapping[str, Asked], folder: Path, store: str) -> dict[str, Report]:
    with served() as running:
        answers = {
            name: running.client.post("/v1/check", json={"id": NAME, "response": asked.answer, **body(asked)})
            for name, asked in cases.items()
        }
    assert {answer.status_code for answer in answers.values()} == {200}
    return {name: answer.json() for name, answer in answers.items()}


def by_client(cases: Mapping[str, Asked], folder: Path, store: str) -> dict[str, Report]:
    """What came over the wire is made into dataclasses, and those into JSON again."""
    with serving() as url, Client(url) as server:
        return {
            name: report_object(
                server.check(
                    asked.answer,
                    asked.sources,
                    question=asked.question,
                    response_id=NAME,
                    fix=asked.fix,
                    profile=asked.profile,
                    history=asked.history,
                    kb=asked.kb,
                )
            )
            for name, asked in cases.items()
        }


def by_mcp(cases: Mapping[str, Asked], folder: Path, store: str) -> dict[str, Report]:
    async def asking() -> dict[str, Report]:
        async with Groundwire(Config.load()) as engine, McpClient(create_server(LocalToolService(engine))) as client:
            return await _called(client, cases)

    return asyncio.run(asking())


def by_mcp_over_http(cases: Mapping[str, Asked], folder: Path, store: str) -> dict[str, Report]:
    async def asking(url: str) -> dict[str, Report]:
        async with McpClient(f"{url}/mcp") as client:
            return await _called(client, cases)

    with serving() as url:
        return asyncio.run(asking(url))


async def _called(client: McpClient, cases: Mapping[str, Asked]) -> dict[str, Report]:
    found = {}
    for name, asked in cases.items():
        result = await client.call_tool("check", {"answer": asked.answer, **body(asked)})
        assert result.structured_content is not None, result.content
        found[name] = result.structured_content
    return found


def by_batch(cases: Mapping[str, Asked], folder: Path, store: str) -> dict[str, Report]:
    """One profile a run."""
    found: dict[str, Report] = {}
    for profile in get_args(ProfileName):
        chosen = {name: asked for name, asked in cases.items() if asked.profile == profile}
        rows, out = folder / f"{profile}.jsonl", folder / f"{profile}.out"
        lines = (
            {
                "id": NAME, "response": c.answer, "sources": c.sources, "question": c.question,
                "history": c.history,
            }
            for c in chosen.values()
        )  # fmt: skip
        rows.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        run_batch(BatchArgs(rows, out), Config.load(overrides={"profile": profile}), Console(quiet=True))
        reports = map(json.loads, out.read_text(encoding="utf-8").splitlines())
        found.update(zip(chosen, reports, strict=True))
    return found


Door = Callable[[Mapping[str, Asked], Path, str], dict[str, Report]]
DOORS: dict[str, tuple[Door, Callable[[Asked], bool]]] = {
    "command": (by_command, lambda _: True),
    "repl": (by_repl, lambda a: not (a.question or a.history or a.kb or a.fix) and a.profile == "default"),
    "http": (by_http, lambda _: True),
    # What the server knows is not sent along, so the key of a claim that rests on it cannot be made here.
    "client": (by_client, lambda asked: not asked.kb),
    "mcp": (by_mcp, lambda _: True),
    "mcp over http": (by_mcp_over_http, lambda _: True),
    "batch": (by_batch, lambda a: not (a.kb or a.fix)),
}
"""Each door, and what it takes."""


@pytest.mark.parametrize("door", DOORS)
def test_every_door_gives_the_same_report(door: str, tmp_path: Path, store: str) -> None:
    through, takes = DOORS[door]
    cases = {name: asked for name, asked in CASES.items() if takes(asked)}
    expected = {name: report_object(by_python(asked, store)) for name, asked in cases.items()}
    found = through(cases, tmp_path, store)
    assert found.keys() == cases.keys()
    for name, report in found.items():
        report.pop("digest", None)  # only lines of a batch have one, for --resume
        assert report == json.loads(json.dumps(expected[name])), name


def test_the_cases_are_what_they_are_called(store: str) -> None:
    for name, asked in CASES.items():
        found = report_object(by_python(asked, store))
        assert {key: found[key] for key in asked.finds} == asked.finds, name
