"""The orchestrator's own traces are audited where that is switched on."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from tests.agent.conftest import Engines

from groundwire.agent import EventKind, Orchestrator
from groundwire.agent.checkpoint import answer_trace
from groundwire.cli.trajectory import _EVENT_LINES
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.llm.base import Message
from groundwire.llm.fake import ScriptedGenerator
from groundwire.types import Derived

ON = {"hallucination": {"enabled": True, "trace_auditing": {"enabled": True}}}
COUNTED = "The letter r stands at positions 3, 8 and 9 of the word strawberry.\nSo there are 3 r's in strawberry."
QUERY = "How many r's are in strawberry?"
FILES = {"word.txt": "The word is strawberry."}


@pytest.mark.spec("SPEC-08.23", "SPEC-08.25", "SPEC-16.25")
@pytest.mark.parametrize(("answer", "outcome"), [("2", Derived.NO), ("3", Derived.YES)])
async def test_steps_to_an_answer_are_audited(answer: str, outcome: Derived) -> None:
    engine = Groundwire(Config.model_validate(ON), operation="trace")
    found = await Orchestrator(ScriptedGenerator([f"{COUNTED}\nFINAL: {answer}"]), engine).process(QUERY, FILES)
    await engine.aclose()
    assert found.audit is not None
    assert found.audit.post_hoc.outcome is outcome
    (event,) = [event for event in found.trajectory if event.kind is EventKind.AUDIT]
    assert event.data["flagged"] is (outcome is Derived.NO)
    console = Console(file=io.StringIO(), width=200)
    console.print(_EVENT_LINES[EventKind.AUDIT](event))
    assert outcome.value in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.spec("SPEC-08.23", "SPEC-08.02")
async def test_trace_audit_is_off_by_default(engines: Engines) -> None:
    said = f"{COUNTED}\nFINAL: 2"
    off = await Orchestrator(ScriptedGenerator([said]), engines()).process(QUERY, FILES)
    engine = engines(**{"hallucination.enabled": True, "hallucination.trace_auditing.enabled": True})
    bypassed = await Orchestrator(ScriptedGenerator([said]), engine).process(QUERY, FILES, verify=False)
    at_once = await Orchestrator(ScriptedGenerator(["2"]), engine).process(QUERY, FILES)
    assert (off.audit, bypassed.audit, at_once.audit) == (None, None, None)


def test_answer_trace_covers_text_and_code_since_the_question() -> None:
    steps, sources = answer_trace(
        [
            Message("user", "An old question"),
            Message("assistant", "An old answer"),
            Message("user", "The question"),
            Message("assistant", "I will look.\n```python\nlen(word)\n```"),
            Message("user", "<output>\n10\n</output>"),
            Message("assistant", "It has 10 letters.\nFINAL: 10"),
        ],
        {"output": "a file of that name"},
    )
    assert steps == ["I will look.", "Let me call Python with len(word)\nIt returned: 10", "It has 10 letters."]
    assert sources == {"output": "a file of that name", "output-2": "10"}
